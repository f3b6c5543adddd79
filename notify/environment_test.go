package notify

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// A message whose claim ends between the moment when the store finds a loss and the next
// reading of the identity may have been sent, too.
func TestALossIsKnownBeforeItIsRead(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	found := driver.Loss{From: noon, Until: noon, NoticedOn: noon.Add(time.Minute)}
	store.Losses().Note(found)
	for _, stop := range []bool{true, false} {
		n := &core{environment: &environment{store: store, id: storage.Identity{StopOnLoss: stop}}}
		m := &messageRow{}
		m.Status, m.DueOn = StatusSending, noon
		if n.abandon(found.NoticedOn.Add(time.Millisecond), m); (m.Status == StatusOutcomeUnknown) != stop {
			t.Errorf("StopOnLoss %t: %s", stop, m.Status)
		}
	}
}
