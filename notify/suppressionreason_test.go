package notify

import "testing"

func TestMandatoryMessagesPassAComplaintButNoHardBounce(t *testing.T) {
	t.Parallel()
	for reason, want := range map[SuppressionReason][2]bool{"": {}, HardBounce: {true, true}, Complaint: {true, false}, Unsubscribe: {true, false}} {
		if got := [2]bool{reason.stops(false), reason.stops(true)}; got != want {
			t.Errorf("%q stops %v, want %v", reason, got, want)
		}
	}
}
