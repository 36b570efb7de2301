#!/usr/bin/env bash
# What a partition looks like on disk, and what segment.bytes and
# index.interval.bytes do to it.
#
#   examples/storage-demo.sh
set -euo pipefail

. "$(dirname "$0")/common.sh"

# --- how a file is looked at -------------------------------------------------
# number FILE POSITION BYTES: a big-endian number, as all of Kafka's are.
number() { echo $((16#$(od -An -v -t x1 -j "$2" -N "$3" "$1" | tr -d ' \n'))); }

# batch FILE POSITION: the header of the record batch there, field by field.
batch() {
	local at=$2
	printf '  %5d  baseOffset            %d\n' "$at" "$(number "$1" "$at" 8)"
	printf '  %5d  batchLength           %d\n' $((at + 8)) "$(number "$1" $((at + 8)) 4)"
	printf '  %5d  partitionLeaderEpoch  %d\n' $((at + 12)) "$(number "$1" $((at + 12)) 4)"
	printf '  %5d  magic                 %d\n' $((at + 16)) "$(number "$1" $((at + 16)) 1)"
	printf '  %5d  crc                   %08x\n' $((at + 17)) "$(number "$1" $((at + 17)) 4)"
	printf '  %5d  attributes            %d\n' $((at + 21)) "$(number "$1" $((at + 21)) 2)"
	printf '  %5d  lastOffsetDelta       %d\n' $((at + 23)) "$(number "$1" $((at + 23)) 4)"
	printf '  %5d  baseTimestamp         %d\n' $((at + 27)) "$(number "$1" $((at + 27)) 8)"
	printf '  %5d  maxTimestamp          %d\n' $((at + 35)) "$(number "$1" $((at + 35)) 8)"
	printf '  %5d  records               %d\n' $((at + 57)) "$(number "$1" $((at + 57)) 4)"
}

# batches FILE: how many record batches a segment has, by going from one
# batchLength to the next.
batches() {
	local at=0 size n=0
	size=$(stat -c %s "$1")
	while ((at < size)); do
		at=$((at + 12 + $(number "$1" $((at + 8)) 4)))
		n=$((n + 1))
	done
	echo "$n"
}

# entries FILE: the first five entries of an offset index.
entries() {
	local base size i
	base=$((10#$(basename "$1" .index)))
	size=$(stat -c %s "$1")
	for ((i = 0; i < 5 && i * 8 < size; i++)); do
		printf '  %5d  offset %d is at position %d of the segment\n' \
			$((i * 8)) $((base + $(number "$1" $((i * 8)) 4))) "$(number "$1" $((i * 8 + 4)) 4)"
	done
}

# produce TOPIC CONFIG...: 100,000 numbers, in 100 writes. What a write brings
# becomes a record batch or more, and an index has at most an entry a batch.
produce() {
	local topic=$1 args=() config i
	shift
	for config; do args+=(--config "$config"); done
	"$klogfs" topic create --mount "$mnt" --topic "$topic" --partitions 1 "${args[@]}" >/dev/null
	for ((i = 0; i < 100; i++)); do
		seq $((i * 1000 + 1)) $((i * 1000 + 1000)) >"$mnt/$topic-0/write"
	done
	[ "$(tail -n 1 "$mnt/$topic-0/values")" = 100000 ]
}

# sizes TOPIC: what it takes on disk, in a line.
segments() { find "$mnt/raw/$1-0/" -name '*.log' | wc -l; }
index_entries() { find "$mnt/raw/$1-0/" -name '*.index' -printf '%s\n' | awk '{ n += $1 / 8 } END { print n + 0 }'; }
sizes() {
	printf '  %-10s %3d segments, %4d entries in the offset indexes\n' "$1" "$(segments "$1")" "$(index_entries "$1")"
}

# --- 1 MiB segments ----------------------------------------------------------
echo "== 100,000 numbers into a topic of 1 MiB segments"
produce numbers segment.bytes=1048576
ls -l "$mnt/raw/numbers-0/"
echo
echo "A segment is named after its base offset, the offset of its first record."
echo "Beside each .log lie its offset index and its time index. When the next"
echo "batch would make the .log larger than segment.bytes, it rolls: a new one"
echo "begins. The sealed ones do not change any more."
echo

mapfile -t logs < <(find "$mnt/raw/numbers-0/" -name '*.log' | sort)
first=${logs[0]} second=${logs[1]:-${logs[0]}}
echo "== The first bytes of the first segment"
od -A d -t x1z -N 112 "$first"
echo
echo "It begins with the header of a record batch, 61 bytes, then its records:"
batch "$first" 0
echo
echo "The next batch begins 12 + batchLength bytes on:"
batch "$first" $((12 + $(number "$first" 8 4)))
echo
echo "The second segment's first batch has the offset that is the file's name:"
echo "  $(basename "$second")"
batch "$second" 0 | sed -n 1p
echo
echo "The first segment has $(batches "$first") batches."
echo

echo "== The offset index of the first segment"
index=${first%.log}.index
od -A d -t x1 -N 40 "$index"
echo "An entry is 8 bytes: an offset less the base offset, and a position."
entries "$index"
echo
echo "It is sparse: an entry follows when index.interval.bytes (4096) have been"
echo "written since the last one. To find a record, the entry at or before it"
echo "is searched, and from that position on the batches are walked."
echo

# --- others ------------------------------------------------------------------
echo "== The same numbers with other sizes"
produce small segment.bytes=262144
produce large segment.bytes=16777216
produce sparse segment.bytes=1048576 index.interval.bytes=65536
produce dense segment.bytes=1048576 index.interval.bytes=1
echo "  topic      segment.bytes  index.interval.bytes"
echo "  numbers          1048576                  4096"
echo "  small             262144                  4096"
echo "  large           16777216                  4096"
echo "  sparse           1048576                 65536"
echo "  dense            1048576                     1"
echo
for topic in numbers small large sparse dense; do sizes "$topic"; done
echo
echo "segment.bytes decides into how many files the log is cut: small has more"
echo "segments, large has one. Retention and compaction work on whole segments,"
echo "so small ones let old records go sooner, and cost more files."
echo "index.interval.bytes decides how many entries an index has: dense has one"
echo "for each batch but the first of a segment, sparse one for each 64 KiB. More"
echo "entries make less to walk after the search; the index is larger for it."
echo
echo "Whatever the files look like, the records are the same:"
for topic in numbers small large sparse dense; do
	cmp <(seq 100000) "$mnt/$topic-0/values"
	echo "  $topic-0: $(wc -l <"$mnt/$topic-0/values") records, offset 77777 is $(cat "$mnt/$topic-0/offset/77777")"
done
