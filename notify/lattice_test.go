package notify

import (
	"testing"

	"pgregory.net/rapid"
)

var kinds = []StatusKind{KindAccepted, KindFailed, KindDelivered, KindOpened, KindBounced, KindComplained, KindUnsubscribed}

// highest is the model: what remains of reports in whatever order.
func highest(kinds []StatusKind) string {
	for _, k := range []StatusKind{KindOpened, KindDelivered, KindFailed} {
		for _, got := range kinds {
			if got == k {
				return statusOf[k]
			}
		}
	}
	return StatusSentToProvider
}

//spec:f-024 n-050
func TestI27_CallbacksInAnyOrderAndMultiplicityGiveTheSameStatus(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(outgoingStates.States()).Draw(t, "from")
		some := rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 6).Draw(t, "reports")
		other := rapid.Permutation(append(some, rapid.SliceOf(rapid.SampledFrom(some)).Draw(t, "again")...)).Draw(t, "other order")
		one, two := message(from), message(from)
		for _, k := range some {
			before := heights[one.Status]
			one.reported(now, &deliveryEvent{Kind: k, On: now})
			if heights[one.Status] < before || !one.DueOn.IsZero() {
				t.Fatalf("%s went down to %s", from, one.Status)
			}
		}
		for _, k := range other {
			two.reported(now, &deliveryEvent{Kind: k, On: now})
		}
		if one.Status != two.Status {
			t.Errorf("from %s: %v give %s, %v give %s", from, some, one.Status, other, two.Status)
		}
		if heights[from] == 0 && one.Status != highest(some) {
			t.Errorf("from %s: %v give %s", from, some, one.Status)
		}
	})
}
