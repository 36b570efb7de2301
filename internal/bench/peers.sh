#!/usr/bin/env bash
# Measures klogfs beside what people use instead, and prints a Markdown table.
#
#   internal/bench/peers.sh            as root, for passthrough of sealed segments
#
# ROUNDS (5), LINES (2000000), LOOKUPS (20000) and REPEAT (20) may be set.
# KLOGFS is the binary to measure; without it the tree's own is built. Needs
# FUSE, python3, kcat, java, and mvn once, for the jars of a real broker.
#
# Every number is the median of the rounds. In a round both sides of a row run
# one after the other, and the side that goes first changes from round to round.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
rounds=${ROUNDS:-5} lines=${LINES:-2000000} lookups=${LOOKUPS:-20000} repeat=${REPEAT:-20}
kafka_version=4.4.0
kafka=${KLOGFS_KAFKA_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/klogfs-test/kafka-$kafka_version}

work=$(mktemp -d "${TMPDIR:-/tmp}/klogfs-peers.XXXXXX")
mnt=$work/mnt data=$work/data floor=$work/floor input=$work/lines results=$work/results
daemon='' floor_pid='' broker='' seed=0
mkdir "$mnt" "$floor" "$results" "$work/bin"

say() { echo "peers.sh: $*" >&2; }
die() { say "$*"; exit 1; }

cleanup() {
	local status=$?
	trap - EXIT INT TERM
	# A file system goes with its server; what does not go in time is detached.
	for pid in $daemon $floor_pid $broker; do kill "$pid" 2>/dev/null || true; done
	for pid in $daemon $floor_pid $broker; do wait "$pid" 2>/dev/null || true; done
	for dir in "$mnt" "$floor"; do
		if mountpoint -q "$dir"; then umount -l "$dir" || true; fi
	done
	if mountpoint -q "$mnt" || mountpoint -q "$floor"; then
		say "still mounted below $work, which is left"
	else
		rm -rf "$work"
	fi
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for tool in go python3 kcat java cmp mountpoint; do
	command -v "$tool" >/dev/null || die "$tool is missing"
done
[ -e /dev/fuse ] || die "there is no FUSE here"
[ "$(id -u)" = 0 ] || say "not root: sealed segments are read without passthrough"

# --- the pieces -------------------------------------------------------------

# The jars, at the place that internal/kafkatest uses, in its way: a directory
# that has its name is complete.
fetch_kafka() {
	[ -e "$kafka/kafka_2.13-$kafka_version.jar" ] && return
	command -v mvn >/dev/null || die "mvn is missing, and so are Kafka's jars in $kafka"
	mkdir -p "$(dirname "$kafka")"
	local tmp dep
	tmp=$(mktemp -d "$(dirname "$kafka")/.kafka-XXXXXX")
	{
		echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
		echo '<groupId>klogfs</groupId><artifactId>peers</artifactId><version>1</version><dependencies>'
		for dep in org.apache.kafka:kafka_2.13:$kafka_version org.apache.kafka:kafka-tools:$kafka_version org.slf4j:slf4j-simple:1.7.36; do
			IFS=: read -r g a v <<<"$dep"
			echo "<dependency><groupId>$g</groupId><artifactId>$a</artifactId><version>$v</version></dependency>"
		done
		echo '</dependencies></project>'
	} >"$tmp/pom.xml"
	(
		flock 9
		if [ ! -e "$kafka/kafka_2.13-$kafka_version.jar" ]; then
			mvn -B -q -f "$tmp/pom.xml" dependency:copy-dependencies -DoutputDirectory="$tmp/jars"
			mv -T "$tmp/jars" "$kafka"
		fi
	) 9>>"$kafka.lock"
	rm -rf "$tmp"
}

java_main() { java -XX:TieredStopAtLevel=1 -Xmx256m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$kafka/*" "$@"; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A broker with its defaults but for how soon deleted files go, and the heap of
# kafka-server-start.sh.
start_broker() {
	local port controller
	port=$(free_port) controller=$(free_port)
	addr=127.0.0.1:$port
	cat >"$work/server.properties" <<-END
		process.roles=broker,controller
		node.id=1
		listeners=PLAINTEXT://$addr,CONTROLLER://127.0.0.1:$controller
		advertised.listeners=PLAINTEXT://$addr,CONTROLLER://127.0.0.1:$controller
		controller.listener.names=CONTROLLER
		controller.quorum.bootstrap.servers=127.0.0.1:$controller
		log.dirs=$work/kafka
		offsets.topic.replication.factor=1
		log.segment.delete.delay.ms=100
	END
	java_main kafka.tools.StorageTool format --standalone -t "$(java_main kafka.tools.StorageTool random-uuid)" \
		-c "$work/server.properties" >"$work/broker.log" 2>&1 || die "$(tail -20 "$work/broker.log")"
	java -Xms1g -Xmx1g -XX:+UseG1GC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$kafka/*" \
		kafka.Kafka "$work/server.properties" >>"$work/broker.log" 2>&1 &
	broker=$!
	until kcat -L -m 2 -b "$addr" >/dev/null 2>&1; do
		kill -0 "$broker" 2>/dev/null || die "the broker ended: $(tail -20 "$work/broker.log")"
		sleep 0.2
	done
}

broker_topics() {
	java_main org.apache.kafka.tools.TopicCommand --bootstrap-server "$addr" "$@" >>"$work/broker.log" 2>&1
}

# wait_mounted DIR PID LOG
wait_mounted() {
	until grep -q 'mounted on' "$3" 2>/dev/null; do
		kill -0 "$2" 2>/dev/null || die "no mount: $(cat "$3")"
		sleep 0.05
	done
}

start_klogfs() {
	"$klogfs" mount --allow-delete -c log.segment.bytes=67108864 "$data" "$mnt" 2>"$work/klogfs.log" &
	daemon=$!
	wait_mounted "$mnt" "$daemon" "$work/klogfs.log"
}

klogfs_topic() { "$klogfs" topic create --mount "$mnt" --topic "$1" --partitions 1 "${@:2}" >/dev/null; }

# On a virtual machine, page cache that was never touched before is several
# times slower to write than pages that come back (200 MB: 0.5 s against
# 0.07 s), because the host has to find memory first. So before each write,
# of either side alike, as much as it will take is written and deleted again.
# What is dirty is flushed, so that nobody pays for who was before.
warm() {
	for i in 1 2 3; do cat "$input" >"$work/warm.$i"; done
	rm -f "$work"/warm.*
	sync
}

# timed NAME COMMAND...: its seconds are one more result of NAME.
timed() {
	local name=$1 from to
	shift
	from=${EPOCHREALTIME/[.,]/}
	"$@"
	to=${EPOCHREALTIME/[.,]/}
	echo $(((to - from) / 1000)) >>"$results/$name"
}

median() { sort -n "$results/$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# --- the work ---------------------------------------------------------------

append() { cat "$input" >"$mnt/$1-0/write"; }
read_values() { cat "$mnt/$1-0/values" >/dev/null; }
produce() { kcat -P -b "$addr" -t "$1" -p 0 "${@:2}" -l "$input"; }
consume() { kcat -C -b "$addr" -t "$1" -p 0 -o beginning -e -q >/dev/null; }
cat_often() { for ((i = 0; i < repeat; i++)); do cat "$1" >/dev/null; done; }

# look NAME ARGS...: median and 99th percentile of look-ups, warm: after some
# that are not measured. Each run has other random numbers than all before.
look() {
	local name=$1 p50 p99
	"$work/bin/lookup" -n $((lookups / 10 + 1)) -seed $((seed += 1)) "${@:2}" >/dev/null
	read -r p50 p99 < <("$work/bin/lookup" -n "$lookups" -seed $((seed += 1)) "${@:2}")
	echo "$p50" >>"$results/$name"
	echo "$p99" >>"$results/$name.p99"
}

# both FIRST SECOND: in turns, who goes first.
both() {
	if ((round % 2)); then $1; $2; else $2; $1; fi
}

stream_klogfs() {
	warm
	timed k_write append plain
	timed k_values read_values plain
	warm
	timed k_zwrite append zstd
	timed k_zvalues read_values zstd
}

stream_broker() {
	warm
	timed b_write produce "plain$round"
	timed b_values consume "plain$round"
	warm
	timed b_zwrite produce "zstd$round" -z zstd
	timed b_zvalues consume "zstd$round"
}

# Every round makes its files new. The timestamps of a topic that cat filled
# in a second are few, and each is the time of many records.
look_offset() { look k_offset -max "$lines" "$mnt/plain-0/offset/%d"; }
look_floor() { look floor -max "$lines" "$floor/d/o/%d"; }
look_time() {
	local first last
	first=$(stamp 0) last=$(stamp $((lines - 1)))
	look k_time -base "$first" -max $((last - first + 1)) "$mnt/plain-0/time/%d"
}
stamp() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["timestamp"])' "$mnt/plain-0/offset/$1.json"; }

segment_mount() { timed k_raw cat_often "$mnt/raw/plain-0/$segment"; }
segment_native() { timed n_raw cat_often "$data/plain-0/$segment"; }

check() {
	cmp "$input" "$mnt/plain-0/values" || die "klogfs: values are not what was written"
	cmp "$input" "$mnt/zstd-0/values" || die "klogfs: zstd: values are not what was written"
	kcat -C -b "$addr" -t "plain$round" -p 0 -o beginning -e -q | cmp - "$input" || die "the broker's records are not what was written"
	cmp "$mnt/raw/plain-0/$segment" "$data/plain-0/$segment" || die "the raw segment is not the file"
}

run_round() {
	klogfs_topic plain
	klogfs_topic zstd --config compression.type=zstd
	broker_topics --create --topic "plain$round" --partitions 1 --config segment.bytes=67108864
	broker_topics --create --topic "zstd$round" --partitions 1 --config segment.bytes=67108864
	both stream_klogfs stream_broker
	segment=$(basename "$(find "$data/plain-0" -name '*.log' | sort | head -n 1)")
	[ "$(find "$data/plain-0" -name '*.log' | wc -l)" -gt 1 ] || die "no segment is sealed: more LINES are needed"
	cat_often "$data/plain-0/$segment"
	both segment_mount segment_native
	both look_offset look_floor
	both look_offset_again look_time
	grep VmHWM "/proc/$daemon/status" | awk '{ print int($2 / 1024) }' >>"$results/hwm"
	grep VmHWM "/proc/$broker/status" | awk '{ print int($2 / 1024) }' >>"$results/b_hwm"
	if [ "$round" = 1 ]; then check; fi
	rmdir "$mnt/topics/plain" "$mnt/topics/zstd"
	broker_topics --delete --topic "plain$round"
	broker_topics --delete --topic "zstd$round"
}

# By offset once more, beside by time.
look_offset_again() { look k_offset2 -max "$lines" "$mnt/plain-0/offset/%d"; }

# --- the table --------------------------------------------------------------

# speed WORK OURS THEIRS BYTES PEER TARGET: milliseconds as MB/s; the ratio is that of speeds.
speed() {
	awk -v w="$1" -v k="$(median "$2")" -v p="$(median "$3")" -v n="$4" -v peer="$5" -v t="$6" 'BEGIN {
		printf "| %s | %.0f MB/s (%.2f s) | %s: %.0f MB/s (%.2f s) | %.1f × as fast | %s |\n",
			w, n / 1000 / k, k / 1000, peer, n / 1000 / p, p / 1000, p / k, t }'
}

# latency WORK OURS THEIRS PEER TARGET: the ratio is that of the medians.
latency() {
	awk -v w="$1" -v k="$(median "$2")" -v k9="$(median "$2.p99")" -v p="$(median "$3")" -v p9="$(median "$3.p99")" -v peer="$4" -v t="$5" 'BEGIN {
		printf "| %s | %.0f µs (p99 %.0f) | %s: %.0f µs (p99 %.0f) | %.2f × the time | %s |\n", w, k, k9, peer, p, p9, k / p, t }'
}

table() {
	local bytes
	bytes=$(stat -c %s "$input")
	echo "| work | klogfs | peer | ratio | target |"
	echo "| --- | --- | --- | --- | --- |"
	speed "\`cat lines > write\`" k_write b_write "$bytes" "\`kcat -P -l\`" "≥ 6 × as fast, ≤ 0.55 s"
	speed "\`cat values\`" k_values b_values "$bytes" "\`kcat -C -e\`" "≥ 8 × as fast, ≤ 0.30 s"
	speed "\`cat lines > write\`, zstd" k_zwrite b_zwrite "$bytes" "\`kcat -P -l -z zstd\`" ""
	speed "\`cat values\`, zstd" k_zvalues b_zvalues "$bytes" "\`kcat -C -e\`" "≥ 5 × as fast, ≤ 0.55 s"
	latency "\`offset/<n>\`" k_offset floor "a bare go-fuse file" "≤ 1.2 × the time"
	latency "\`time/<t>\`" k_time k_offset2 "\`offset/<n>\`" "≤ 1.5 × the time"
	awk -v k="$(median k_raw)" -v p="$(median n_raw)" -v n="$repeat" 'BEGIN {
		printf "| `cat` of a sealed segment of 64 MiB, %d times | %.3f s | the file itself: %.3f s | %.2f × the time | ≤ 1.05 × the time |\n",
			n, k / 1000, p / 1000, k / p }'
	printf '| VmHWM of the daemon | %s MiB | broker: %s MiB | | |\n' "$(sort -n "$results/hwm" | tail -n 1)" "$(sort -n "$results/b_hwm" | tail -n 1)"
}

# --- go ---------------------------------------------------------------------

cd "$repo"
klogfs=${KLOGFS:-$work/bin/klogfs}
[ -n "${KLOGFS:-}" ] || CGO_ENABLED=0 go build -o "$klogfs" .
go build -o "$work/bin/" ./internal/bench/lookup ./internal/bench/barefs
fetch_kafka
say "$lines lines, $rounds rounds"
"$here/lines.py" "$lines" >"$input"
start_broker
start_klogfs
"$work/bin/barefs" "$floor" 2>"$work/floor.log" &
floor_pid=$!
wait_mounted "$floor" "$floor_pid" "$work/floor.log"
for ((round = 1; round <= rounds; round++)); do
	say "round $round"
	run_round
done
table
# What the daemon warned of belongs to the result.
sed -n '/level=WARN\|level=ERROR/s/^/klogfs: /p' "$work/klogfs.log" >&2
