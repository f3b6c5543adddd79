package notify_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// method is one Ensure method: how to call it for the artifact n, and for one
// under the same key that stands for something else.
type method struct {
	name   notify.Artifact
	ensure func(h *host, ctx context.Context, tx storage.Tx, different bool, n ...int) ([]notify.Ensured, error)
	count  func(h *host) int
}

func methodOf[P, R any](name notify.Artifact, table *driver.Table[R], call func(*host) func(context.Context, storage.Tx, ...P) ([]notify.Ensured, error), make func(id string, different bool) P) method {
	return method{name,
		func(h *host, ctx context.Context, tx storage.Tx, different bool, ns ...int) ([]notify.Ensured, error) {
			var want []P
			for _, n := range ns {
				want = append(want, make(fmt.Sprint(n), different))
			}
			return call(h)(ctx, tx, want...)
		},
		func(h *host) int { return len(all(h, table)) },
	}
}

func hash(different bool) string {
	if different {
		return "another hash"
	}
	return "hash"
}

var methods = []method{
	methodOf(notify.ArtifactAutomationJob, notify.AutomationJobs,
		func(h *host) func(context.Context, storage.Tx, ...notify.AutomationJob) ([]notify.Ensured, error) {
			return h.EnsureAutomationJob
		},
		func(id string, different bool) notify.AutomationJob {
			return notify.AutomationJob{Scope: "tenant", Type: "Reminder", PartitionKey: "car", RowKey: id, SchedulerKey: id, InputHash: hash(different)}
		}),
	methodOf(notify.ArtifactNotificationJob, notify.Jobs,
		func(h *host) func(context.Context, storage.Tx, ...notify.Job) ([]notify.Ensured, error) {
			return h.EnsureNotificationJob
		},
		func(id string, different bool) notify.Job {
			j := visit(id, person("sam"))
			j.InputHash = hash(different)
			return j
		}),
	methodOf(notify.ArtifactMessagingJob, notify.MessagingJobs,
		func(h *host) func(context.Context, storage.Tx, ...notify.MessagingJob) ([]notify.Ensured, error) {
			return h.EnsureMessagingJob
		},
		func(id string, different bool) notify.MessagingJob {
			return notify.MessagingJob{Scope: "tenant", Type: "visit", GUID: id, ContentHash: hash(different)}
		}),
	methodOf(notify.ArtifactNotificationScheduler, notify.Schedules,
		func(h *host) func(context.Context, storage.Tx, ...notify.Schedule) ([]notify.Ensured, error) {
			return h.EnsureNotificationScheduler
		},
		func(id string, different bool) notify.Schedule {
			s := notify.ScheduleFor(visit(id), time.Time{})
			s.InputHash = hash(different)
			return s
		}),
	methodOf(notify.ArtifactUserMessage, notify.UserMessages,
		func(h *host) func(context.Context, storage.Tx, ...notify.UserMessage) ([]notify.Ensured, error) {
			return h.EnsureUserMessage
		},
		func(id string, different bool) notify.UserMessage {
			return notify.UserMessage{Scope: "tenant", Type: "visit", PartitionKey: "user:sam", JobPartitionKey: "car", JobRowKey: id,
				SourceOn: storetest.Start, InputHash: hash(different)}
		}),
	methodOf(notify.ArtifactOutgoingMessage, notify.Messages,
		func(h *host) func(context.Context, storage.Tx, ...notify.OutgoingMessage) ([]notify.Ensured, error) {
			return h.EnsureOutgoingMessage
		},
		func(id string, different bool) notify.OutgoingMessage {
			return notify.OutgoingMessage{Scope: "tenant", Channel: channelKey, PartitionKey: id, NotificationType: "visit",
				RecipientRef: "sam", Address: "sam@example.com", InputHash: hash(different)}
		}),
}

// eachMethod runs a test for every Ensure method on every adapter.
func eachMethod(t *testing.T, test func(h *host, m method)) {
	t.Helper()
	visits(t, func(t *testing.T, h *host) {
		for _, m := range methods {
			test(h, m)
		}
	})
}

func TestI1_AtMostOneArtifactPerTypeAndKey(t *testing.T) {
	eachMethod(t, func(h *host, m method) {
		first, err := m.ensure(h, h.t.Context(), nil, false, 1, 2, 1)
		if err != nil {
			h.t.Fatal(err)
		}
		h.same("outcomes", []storage.Outcome{storage.Created, storage.Created, storage.Unchanged}, outcomes(first))
		second, err := m.ensure(h, h.t.Context(), nil, false, 2, 1)
		if err != nil {
			h.t.Fatal(err)
		}
		h.same("answers of a repeat", []notify.Ensured{first[1], first[0]}, second, cmpopts.IgnoreFields(notify.Ensured{}, "Outcome"))
		if n := m.count(h); n != 2 {
			h.t.Errorf("%d artifacts", n)
		}
	})
}

func outcomes(all []notify.Ensured) []storage.Outcome {
	var out []storage.Outcome
	for _, e := range all {
		out = append(out, e.Outcome)
	}
	return out
}

func TestI2_ConcurrentEnsuresAgreeAndOneCreates(t *testing.T) {
	eachMethod(t, func(h *host, m method) {
		type answer struct {
			got []notify.Ensured
			err error
		}
		answers := make(chan answer)
		const callers = 8
		for range callers {
			go func() {
				got, err := m.ensure(h, h.t.Context(), nil, false, 1, 2, 3)
				answers <- answer{got, err}
			}()
		}
		created, keys := 0, map[string]bool{}
		for range callers {
			a := <-answers
			if a.err != nil {
				h.t.Fatal(a.err)
			}
			for _, e := range a.got {
				keys[e.Key+" "+e.MessageID] = true
				if e.Outcome == storage.Created {
					created++
				}
			}
		}
		if created != 3 || len(keys) != 3 {
			h.t.Errorf("%d created, %d different coordinates", created, len(keys))
		}
	})
}

func TestI3_AnotherHashIsAConflictAndChangesNothing(t *testing.T) {
	eachMethod(t, func(h *host, m method) {
		before, err := m.ensure(h, h.t.Context(), nil, false, 1)
		if err != nil {
			h.t.Fatal(err)
		}
		got, err := m.ensure(h, h.t.Context(), nil, true, 1, 2)
		var conflict *notify.ConflictError
		if !errors.As(err, &conflict) {
			h.t.Fatalf("error is %v", err)
		}
		h.same("outcomes", []storage.Outcome{storage.Conflict, storage.Created}, outcomes(got))
		h.same("conflict", &notify.ConflictError{
			Artifact: m.name, Scope: "tenant", Coordinates: before[0].Coordinates,
			Field: conflict.Field, Stored: "hash", Wanted: "another hash",
		}, conflict)
		after, err := m.ensure(h, h.t.Context(), nil, false, 1)
		if err != nil {
			h.t.Fatal(err)
		}
		if m.name == notify.ArtifactMessagingJob { // which waits for a person
			before[0].Status = notify.StatusStopped
		}
		h.same("stored artifact", before[0], after[0], cmpopts.IgnoreFields(notify.Ensured{}, "Outcome"))
	})
}

func TestAConflictIsRecordedOnceForSupport(t *testing.T) {
	eachMethod(t, func(h *host, m method) {
		for _, different := range []bool{false, true, true} {
			_, _ = m.ensure(h, h.t.Context(), nil, different, 1)
		}
		var recorded [][2]string
		for _, c := range all(h, notify.Conflicts) {
			if c.Artifact == m.name {
				recorded = append(recorded, [2]string{c.Stored, c.Wanted})
			}
		}
		h.same(string(m.name), [][2]string{{"hash", "another hash"}}, recorded)
	})
}

// jobOf is appointment("7") whose identity is its EventData.
func jobOf(data string) notify.Job {
	j := appointment("7")
	j.InputHash, j.EventData = "", json.RawMessage(data)
	return j
}

// A deployment that re-orders a struct, or writes its JSON in another way, asks for the same.
func TestI3_AJobIsTheSameInAnotherSpelling(t *testing.T) {
	const said = `{"order":{"id":9007199254740993,"total":1.5,"note":"é3"},"lines":[1,2]}`
	eachClinic(t, notify.Options{}, func(c *clinic) {
		first, err := c.Notify(c.Context(), jobOf(said))
		c.must(err)
		c.same("outcome", storage.Created, first.Outcome)
		for _, again := range []string{
			said, " " + said,
			`{"lines":[1,2.0],"order":{"total":15e-1,"note":"\u00e93","id":9007199254740993}}`,
		} {
			got, err := c.Notify(c.Context(), jobOf(again))
			c.must(err)
			c.same(again, storage.Unchanged, got.Outcome)
		}
		for other, field := range map[string]string{
			`{"order":{"id":9007199254740992,"total":1.5,"note":"é3"},"lines":[1,2]}`: "EventData.order.id",
			`{"order":{"id":9007199254740993,"total":1.5,"note":"é3"},"lines":[2,1]}`: "EventData.lines[0]",
			`{"order":{"id":9007199254740993,"total":1.5},"lines":[1,2]}`:             "EventData.order.note",
			`7`: "EventData",
		} {
			var conflict *notify.ConflictError
			if _, err := c.Notify(c.Context(), jobOf(other)); !errors.As(err, &conflict) {
				c.Fatalf("%s: %v", other, err)
			}
			c.same(other, field, conflict.Field)
		}
		stored, err := c.Trace(c.Context(), "tenant", first.Coordinates)
		c.must(err)
		c.same("what the renderer works on", said, string(stored.Job.EventData))
		c.same("hash", "ccdc83132b48a8e0e4180731defaf1968c241d3b486b2b6894fa7eb649829375", stored.Job.InputHash)
	})
}

// The hash of an earlier version was of the EventData as it was written.
func TestI3_AJobOfTheFirstFormatIsComparedByItsEventData(t *testing.T) {
	eachClinic(t, notify.Options{}, func(c *clinic) {
		stored := jobOf(`{"b":1,"a":2}`)
		sum := keys.Sum("belfry-job-1", stored.Type, stored.BusinessUnit, stored.EntityType, stored.Entity, string(stored.EventData))
		stored.InputHash = hex.EncodeToString(sum[:])
		_, err := c.Notify(c.Context(), stored)
		c.must(err)
		got, err := c.Notify(c.Context(), jobOf(`{"a":2,"b":1}`))
		c.must(err)
		c.same("outcome", storage.Unchanged, got.Outcome)
		var conflict *notify.ConflictError
		if _, err := c.Notify(c.Context(), jobOf(`{"a":3,"b":1}`)); !errors.As(err, &conflict) || conflict.Field != "EventData.a" {
			c.Errorf("the conflict is %v", err)
		}
	})
}

// A conflict is an outcome: what else the transaction does stays.
func TestAConflictLeavesTheTransactionUsable(t *testing.T) {
	eachMethod(t, func(h *host, m method) {
		if _, err := m.ensure(h, h.t.Context(), nil, false, 1); err != nil {
			h.t.Fatal(err)
		}
		h.inOne(func(tx storage.Tx) error {
			var conflict *notify.ConflictError
			if _, err := m.ensure(h, h.t.Context(), tx, true, 1); !errors.As(err, &conflict) {
				h.t.Errorf("error is %v", err)
			}
			_, err := m.ensure(h, h.t.Context(), tx, false, 3)
			return err
		})
		if n := m.count(h); n != 2 {
			h.t.Errorf("%d artifacts", n)
		}
	})
}

func TestARolledBackTransactionLeavesNothing(t *testing.T) {
	eachMethod(t, func(h *host, m method) {
		changedMind := errors.New("changed my mind")
		err := h.store.InTx(h.t.Context(), func(tx storage.Tx) error {
			bound := *h
			bound.Notifier = h.WithTx(tx)
			if _, err := m.ensure(&bound, h.t.Context(), nil, false, 1); err != nil {
				h.t.Error(err)
			}
			return changedMind
		})
		if !errors.Is(err, changedMind) || m.count(h) != 0 {
			h.t.Errorf("%d artifacts, %v", m.count(h), err)
		}
	})
}

// What belongs to the pipeline is never taken from a caller.
func TestACallerCannotSayHowFarAnArtifactIs(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		m := notify.OutgoingMessage{
			Channel: channelKey, Key: "mine", Status: notify.StatusSentToProvider, DueOn: storetest.Start.Add(time.Hour),
			PartitionKey: "job", NotificationType: "visit", Address: "sam@example.com", Progress: notify.Progress{Calls: 3, SentOn: storetest.Start},
			SupportHold: driver.SupportHold{IsOnSupportHold: true, HoldReason: reasons.Conflict}, Tries: driver.Tries{RetryCount: 3},
		}
		if _, err := h.EnsureOutgoingMessage(t.Context(), nil, m); err != nil {
			t.Fatal(err)
		}
		got := h.status(notify.StatusCreated)
		h.same("progress", notify.Progress{}, got.Progress)
		h.same("hold", driver.SupportHold{}, got.SupportHold)
		if got.Version != 1 || got.ClaimToken != "" || !got.LeaseExpiresOn.IsZero() || got.RetryCount != 0 || got.Key == "mine" || !got.DueOn.Equal(storetest.Start) {
			t.Errorf("message is %+v", got)
		}
	})
}

// Communication - Codebase flow, "Important tests".
func TestStorageAdaptersPreserveKeysSuppliedByTheCaller(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := visit("7")
		job.PartitionKey, job.RowKey = "Zürich/ÄÖ 北京 'quoted\" \\ %", "  2518_A:b c"
		got, err := h.EnsureNotificationJob(t.Context(), nil, job)
		if err != nil {
			t.Fatal(err)
		}
		h.same("coordinates", job.Coordinates(), got[0].Coordinates)
		stored := only(h, notify.Jobs)
		h.same("stored coordinates", job.Coordinates(), notify.Coordinates{PartitionKey: stored.PartitionKey, RowKey: stored.RowKey})
		h.same("key", job.PartitionKey+"\x1f"+job.RowKey, stored.Key)
	})
}

// Communication - Codebase flow, "Important tests".
func TestCampaignRetryReusesACompatibleMessagingJobAndItsBlob(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		put := func(text string) notify.MessagingJob {
			ref, err := h.store.Blobs().Put(t.Context(), strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			return notify.MessagingJob{Scope: "tenant", Type: "visit", GUID: "campaign", Blob: ref}
		}
		first := put("audience")
		for _, job := range []notify.MessagingJob{first, put("audience")} {
			if _, err := h.EnsureMessagingJob(t.Context(), nil, job); err != nil {
				t.Fatal(err)
			}
		}
		_, err := h.EnsureMessagingJob(t.Context(), nil, put("another audience"))
		var conflict *notify.ConflictError
		if !errors.As(err, &conflict) || conflict.Field != "ContentHash" {
			t.Errorf("error is %v", err)
		}
		h.same("blob", first.Blob, only(h, notify.MessagingJobs).Blob)
		h.clk.Add(48 * time.Hour)
		if _, err := h.store.Blobs().Collect(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		kept, err := h.store.Blobs().Open(t.Context(), first.Blob, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = kept.Close()
	})
}

func TestAScheduleOfAMessagingJobMakesItReady(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		if _, err := h.EnsureMessagingJob(t.Context(), nil, notify.MessagingJob{Scope: "tenant", Type: "visit", GUID: "campaign"}); err != nil {
			t.Fatal(err)
		}
		plan := notify.Schedule{Scope: "tenant", Type: "visit", ArtifactType: notify.ArtifactMessagingJob, ArtifactPartitionKey: "campaign", ArtifactRowKey: "campaign"}
		if _, err := h.EnsureNotificationScheduler(t.Context(), nil, plan); err != nil {
			t.Fatal(err)
		}
		h.run("notify.scheduler")
		if j := only(h, notify.MessagingJobs); j.Status != notify.StatusReady || !j.DueOn.Equal(storetest.Start) {
			t.Errorf("messaging job is %s, due %v", j.Status, j.DueOn)
		}
	})
}
