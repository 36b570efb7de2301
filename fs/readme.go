package fs

// readmeText is the README of every mount.
const readmeText = `This is a klogfs mount: topic-partitions in Kafka's format, as files.

  mkdir topics/orders                    make a topic
  echo hello >> orders-0/write           produce: each line is a record's value
  cat orders-0/values                    read all values, a line each
  tail -f orders-0/values                wait for more
  cat orders-0/offset/0                  one record's value, byte for byte
  cat orders-0/offset/0.json             the whole record as JSON
  cat orders-0/time/-15m                 the first record of the last 15 minutes
  head -1 orders-0/records.jsonl         every record as JSON, a line each
  ls -l orders-0/segments/               the segments, as they are on disk
  cat groups/<group>/orders-0/lag        how far behind a consumer group is
  rsync -a raw/ backup/                  a backup that klogfs and a broker open
  cat orders-0/status.json               offsets, sizes, state

A record of an offset is offset/<n>, offset/<n>.json, offset/<n>.key; the first
and the last are offset/earliest and offset/latest. A time is milliseconds since
1970, RFC 3339 (time/2026-01-01T00:00:00Z) or a negative duration.
`

func (m *Mount) readme() (content, error) {
	return content{[]byte(readmeText), m.started}, nil
}
