#!/usr/bin/env bash
# The first minutes with klogfs: a store, a topic, records in and out.
#
#   examples/quickstart.sh           runs through and cleans up
#   examples/quickstart.sh --stay    stays mounted until Ctrl-C, to try more
set -euo pipefail

# --- a klogfs, a store and a mount, which go again when the script ends ------
work=$(mktemp -d "${TMPDIR:-/tmp}/klogfs-example.XXXXXX")
mnt=$work/mnt
daemon=''
cleanup() {
	local status=$?
	trap '' INT TERM
	trap - EXIT
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
	if mountpoint -q "$mnt"; then
		echo "$mnt is still mounted, and left" >&2
	else
		rm -rf "$work"
	fi
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

klogfs=$(command -v klogfs || true)
if [ -z "$klogfs" ]; then
	klogfs=$work/klogfs
	(cd "$(dirname "$0")/.." && CGO_ENABLED=0 go build -o "$klogfs" .)
fi

mkdir "$mnt"
# With job control the daemon is a process group of its own, so that a Ctrl-C
# reaches this script first, which then ends it in order.
set -m
"$klogfs" mount --log-level warn "$work/data" "$mnt" 2>"$work/log" &
daemon=$!
set +m
until mountpoint -q "$mnt"; do
	kill -0 "$daemon" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
	sleep 0.05
done

# --- the example -------------------------------------------------------------
run() { echo "\$ $*"; (cd "$mnt" && bash -c "$*"); echo; }

echo "A store in $work/data, mounted on $mnt."
echo

echo "# A topic is made by making its directory. It gets a partition, demo-0."
run mkdir topics/demo
echo "# A line that is written is a record."
run 'echo "the first record" > demo-0/write'
run 'printf "record %d\n" 1 2 3 4 5 > demo-0/write'
echo "# All values, in order:"
run cat demo-0/values
echo "# One record by its offset, its value or all of it:"
run cat demo-0/offset/2
run cat demo-0/offset/2.json
echo "# The newest, and the first record that is not older than a minute:"
run readlink demo-0/offset/latest
run readlink demo-0/time/-1m
echo "# What the broker's disk would look like:"
run ls -l raw/demo-0/

if [ "${1:-}" = --stay ]; then
	cat <<END
To try, in another terminal:

  cd $mnt
  cat README
  echo hello > demo-0/write
  tail -f demo-0/values
  grep -c record demo-0/values
  cat demo-0/offset/latest
  cat demo-0/time/-10s
  mkdir topics/orders && seq 100000 > orders-0/write && tail -n 1 orders-0/values

Ctrl-C here unmounts and removes it all.
END
	wait "$daemon" || true
fi
