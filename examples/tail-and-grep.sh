#!/usr/bin/env bash
# Tools that know nothing of Kafka as consumers: tail -f, grep, wc, sort, dd.
#
#   examples/tail-and-grep.sh
set -euo pipefail

. "$(dirname "$0")/common.sh"

# --- the example -------------------------------------------------------------
cd "$mnt"
mkdir topics/web

echo "# tail -f follows a partition; every line that it prints is a record."
tail -n +1 -f web-0/values >"$work/followed" &
follower=$!

echo "# A web server writes its log into the topic:"
log() {
	local i
	for ((i = $1; i <= $2; i++)); do
		if ((i % 10 == 0)); then status=500; elif ((i % 3 == 0)); then status=404; else status=200; fi
		echo "GET /page/$((i % 7)) $status ${i}ms"
	done
}
log 1 500 >web-0/write
log 501 1000 >>web-0/write

for ((i = 0; i < 200; i++)); do
	if [ "$(wc -l <"$work/followed")" = 1000 ]; then break; fi
	sleep 0.1
done
echo "tail -f has seen $(wc -l <"$work/followed") records; the last are:"
tail -n 2 "$work/followed"
cmp "$work/followed" web-0/values && echo "... the same bytes as web-0/values"
echo

echo "# How many failed?           grep -c ' 500 ' web-0/values"
grep -c ' 500 ' web-0/values
echo
echo "# The newest three of them:  grep ' 500 ' web-0/values | tail -n 3"
grep ' 500 ' web-0/values | tail -n 3
echo
echo "# Which pages are asked for: cut, sort, uniq"
cut -d ' ' -f 2 web-0/values | sort | uniq -c | sort -k1,1rn -k2
echo
echo "# A line of grep -n is an offset more than the record's: record 9 is"
grep -n -m 1 ' 500 ' web-0/values
echo "  ... and offset/9 is"
cat web-0/offset/9
echo
echo
echo "# The size is the true one, so dd can take the last 64 bytes:"
size=$(stat -c %s web-0/values)
dd if=web-0/values bs=1 skip=$((size - 64)) status=none
echo
echo "# The newest record:         cat web-0/offset/latest"
cat web-0/offset/latest
echo
