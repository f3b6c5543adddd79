package notify_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

//spec:a-029 f-043 f-046
func TestADispatchResultIsMergedAndNothingOfItIsLost(t *testing.T) {
	t.Parallel()
	first := notify.DispatchResult{
		Path: notify.PathDirectReminder, Notification: notify.Coordinates{"car", "1"}, Scheduler: "guard",
		OutgoingMessages: []notify.Coordinates{{"1", "sam_email"}}, Summary: "1 recipients",
	}
	later := notify.DispatchResult{ConflictReason: "Conflict", OutgoingMessages: []notify.Coordinates{{"1", "kim_email"}, {"1", "sam_email"}}, Summary: "2 recipients"}
	want := notify.DispatchResult{
		Path: notify.PathDirectReminder, Notification: notify.Coordinates{"car", "1"}, Scheduler: "guard", ConflictReason: "Conflict",
		OutgoingMessages: []notify.Coordinates{{"1", "sam_email"}, {"1", "kim_email"}}, Summary: "2 recipients",
	}
	got := first.Merge(later)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got.Merge(later).Merge(notify.DispatchResult{})); diff != "" {
		t.Errorf("merged again (-want +got):\n%s", diff)
	}
}

//spec:f-045
func TestADispatchResultStaysCompact(t *testing.T) {
	t.Parallel()
	var r notify.DispatchResult
	for i := range 1000 {
		r = r.Merge(notify.DispatchResult{OutgoingMessages: []notify.Coordinates{{"job", fmt.Sprint(i)}}})
	}
	if len(r.OutgoingMessages) != 10 || r.OutgoingMessages[0].RowKey != "0" {
		t.Errorf("%d messages, first %v", len(r.OutgoingMessages), r.OutgoingMessages[0])
	}
	if empty, err := json.Marshal(notify.DispatchResult{}); err != nil || string(empty) != "{}" {
		t.Errorf("the zero value is stored as %s, %v", empty, err)
	}
}
