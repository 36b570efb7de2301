# What the examples share, to be sourced: a klogfs in $klogfs, a store in
# $work/data mounted on $mnt, and an end that takes all of it away.

work=$(mktemp -d "${TMPDIR:-/tmp}/klogfs-example.XXXXXX")
mnt=$work/mnt
daemon='' follower=''
cleanup() {
	local status=$?
	trap '' INT TERM
	trap - EXIT
	for pid in $follower $daemon; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
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
# reaches the script first, which then ends it in order.
set -m
"$klogfs" mount --log-level warn "$work/data" "$mnt" 2>"$work/log" &
daemon=$!
set +m
until mountpoint -q "$mnt"; do
	kill -0 "$daemon" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
	sleep 0.05
done
