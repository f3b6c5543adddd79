package sqlstore

import "testing"

func TestAnOptimistIsConvincedSlowlyAndDisappointedForLong(t *testing.T) {
	t.Parallel()
	var o optimism
	after := func(n int, none bool) bool {
		for range n {
			o.learn(none)
		}
		return o.expects()
	}
	if o.expects() || after(convinced-1, true) || !after(1, true) {
		t.Errorf("not convinced after exactly %d", convinced)
	}
	if after(1, false) || after(convinced-1, true) || !after(1, true) {
		t.Error("a taken key does not begin the count again")
	}
	o.fail()
	if after(1, false) || after(63, true) || !after(1, true) {
		t.Error("not convinced again after exactly 64")
	}
}
