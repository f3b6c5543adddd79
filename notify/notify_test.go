package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

func TestOneCallAsksForAMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7", person("sam"))
		on := h.clk.Now().Add(time.Hour)
		for i, outcome := range []storage.Outcome{storage.Created, storage.Unchanged} {
			got, err := h.NotifyAt(t.Context(), job, on.Add(time.Duration(i)*time.Hour))
			if err != nil || got.Outcome != outcome || got.Coordinates != job.Coordinates() {
				t.Fatal(got, err)
			}
		}
		h.drain()
		h.same("too early", 0, len(h.sent()))
		h.clk.Set(on)
		h.drain()
		h.same("sent", 1, len(h.sent()))
	})
}

// Its partition is the entity, or else the job itself; a repeat finds it.
func TestAJobNeedsARowKeyAlone(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		bare := notify.Job{Scope: "tenant", Type: "visit", RowKey: "receipt:7", EventData: visit("7").EventData, Recipients: []notify.Recipient{person("sam")}}
		about := bare
		about.RowKey, about.EntityType, about.Entity = "receipt:8", "order", "8"
		for _, outcome := range []storage.Outcome{storage.Created, storage.Unchanged} {
			for job, partition := range map[*notify.Job]string{&bare: "receipt:7", &about: "8"} {
				got, err := h.Notify(t.Context(), *job)
				if err != nil || got.Outcome != outcome || got.PartitionKey != partition || got.RowKey != job.RowKey {
					t.Error(got, err)
				}
			}
			h.drain()
		}
		h.same("sent", 2, len(h.sent()))
	})
}

func TestOneCallBelongsToTheHostsTransaction(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		err := h.store.InTx(t.Context(), func(tx storage.Tx) error {
			if _, err := h.WithTx(tx).Notify(t.Context(), visit("7", person("sam"))); err != nil {
				return err
			}
			return errLost
		})
		if !errors.Is(err, errLost) || len(all(h, notify.Jobs))+len(all(h, notify.Schedules)) != 0 {
			t.Error(err)
		}
	})
}

// What stands for something else is not scheduled, and the conflict is recorded.
func TestI3_AConflictAsksForNoSecondMessage(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.inOne(func(tx storage.Tx) error { // a job that nobody has scheduled
			_, err := h.EnsureNotificationJob(t.Context(), tx, visit("7", person("sam")))
			return err
		})
		other := visit("7", person("kim"))
		other.BusinessUnit = "south"
		var conflict *notify.ConflictError
		got, err := h.Notify(t.Context(), other)
		if !errors.As(err, &conflict) || conflict.Field != "BusinessUnit" || got.Outcome != storage.Conflict {
			t.Fatal(got, err)
		}
		h.drain()
		h.same("schedules, messages, conflicts", [3]int{0, 0, 1}, [3]int{len(all(h, notify.Schedules)), len(all(h, notify.Messages)), len(all(h, notify.Conflicts))})
		if _, err := h.Notify(t.Context(), visit("7", person("sam"))); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
		bad := visit("8")
		bad.Type = ""
		if _, err := h.Notify(t.Context(), bad); !errors.Is(err, notify.ErrNoType) {
			t.Error(err)
		}
	})
}

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

// A job's messages are named before they exist, as they are found afterwards.
func TestPlannedMessagesAreThoseThatAJobMakes(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		both, inbox := person("sam"), person("kim")
		both.Inbox, inbox.Inbox, inbox.Channel, inbox.Address = "user:sam", "user:kim", "", ""
		job := visit("7", both, inbox, person("eve"))
		users, outgoing := h.PlannedMessages(job.Type, job.RowKey, job.SourceOn, job.Recipients)
		h.dispatch(job)
		h.drain()
		var madeUsers, madeOutgoing []notify.Coordinates
		for _, m := range all(h, notify.UserMessages) {
			madeUsers = append(madeUsers, notify.Coordinates{PartitionKey: m.PartitionKey, RowKey: m.RowKey})
		}
		for _, m := range all(h, notify.Messages) {
			madeOutgoing = append(madeOutgoing, m.Coordinates())
		}
		byKey := cmpopts.SortSlices(func(a, b notify.Coordinates) bool { return a.PartitionKey+a.RowKey < b.PartitionKey+b.RowKey })
		h.same("user messages", madeUsers, users, byKey)
		h.same("outgoing messages", madeOutgoing, outgoing, byKey)
		if len(users) != 2 || len(outgoing) != 2 {
			t.Errorf("%d and %d", len(users), len(outgoing))
		}
	})
}

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
