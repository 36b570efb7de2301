package logstore

import "testing"

// Case 5: a timestamp of the future keeps its segment for ever; the status says
// which one.
func TestStatusNamesFutureSegments(t *testing.T) {
	const future = 4102444800000
	dir := writeBroker(t, map[int64][]byte{
		0: builtBatch(t, 0, future, -1, "a"), 1: builtBatch(t, 1, 1000, -1, "b"), 2: builtBatch(t, 2, 2000, -1, "c"),
	})
	st := partition(t, openStore(t, dir, Options{ReadOnly: true}), "p-0").Status()
	if len(st.Future) != 1 || st.Future[0] != (FutureSegment{0, future}) {
		t.Errorf("%+v", st.Future)
	}
}
