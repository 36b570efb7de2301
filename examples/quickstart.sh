#!/usr/bin/env bash
# The first minutes with klogfs: a store, a topic, records in and out.
#
#   examples/quickstart.sh           runs through and cleans up
#   examples/quickstart.sh --stay    stays mounted until Ctrl-C, to try more
set -euo pipefail

. "$(dirname "$0")/common.sh"

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
