package fs

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	now := time.UnixMilli(1796108196321)
	for name, want := range map[string]int64{
		"0": 0, "1750000000000": 1750000000000,
		"2026-01-01T00:00:00Z": 1767225600000, "2026-01-01T01:00:00+01:00": 1767225600000,
		"2026-01-01T00:00:00.001Z": 1767225600001, "2026-01-01T00:00:00.0001Z": 1767225600001,
		"-15m": 1796108196321 - 900000, "-1h30m": 1796108196321 - 5400000, "-1ms": 1796108196320,
	} {
		if got, ok := parseTime(name, now); !ok || got != want {
			t.Errorf("%s: %d, %v, want %d", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "-", "x", "-5", "--1h", "1h", "15m", "2026-01-01", "1.5", "99999999999999999999", "latest"} {
		if got, ok := parseTime(name, now); ok {
			t.Errorf("%q was taken as %d", name, got)
		}
	}
}
