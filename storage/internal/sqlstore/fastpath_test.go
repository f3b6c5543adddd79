package sqlstore

import "testing"

func TestTheFastPathIsTakenAfterFourAndLeftForLong(t *testing.T) {
	t.Parallel()
	var o fastPath
	after := func(n int, none bool) bool {
		for range n {
			o.observe(none)
		}
		return o.worthwhile()
	}
	if o.worthwhile() || after(enoughFresh-1, true) || !after(1, true) {
		t.Errorf("not taken after exactly %d", enoughFresh)
	}
	if after(1, false) || after(enoughFresh-1, true) || !after(1, true) {
		t.Error("a taken key does not begin the count again")
	}
	o.failed()
	if after(1, false) || after(63, true) || !after(1, true) {
		t.Error("not taken again after exactly 64")
	}
}
