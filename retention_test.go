package belfry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/once"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const days = 24 * time.Hour

// forgetter is a host that forgets what ended a month ago.
type forgetter struct {
	t      *testing.T
	store  storage.Store
	clk    *clock.Mock
	out    *notify.Notifier
	mails  *notifytest.Recorder
	poller *belfry.Poller
	log    bytes.Buffer
}

func newForgetter(t *testing.T, store storage.Store, clk *clock.Mock, opts belfry.Options) *forgetter {
	f := &forgetter{t: t, store: store, clk: clk, mails: notifytest.NewRecorder()}
	f.out = notify.New(store, nil, f.mails)
	f.out.Register(notify.Type{Name: "welcome", Renderer: notify.Template{Subject: "Welcome"}})
	f.out.Register(notify.Type{Name: "trial", Renderer: notify.Template{Subject: "Try it"}, ForgetAfter: 60 * days})
	opts.Logger = slog.New(slog.NewTextHandler(&f.log, nil))
	f.poller = belfry.NewPoller(store, &opts, f.out)
	return f
}

// pass lets so many days pass, each with its polls.
func (f *forgetter) pass(n int) {
	f.t.Helper()
	for range n {
		f.clk.Add(days)
		if err := f.poller.Drain(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

// notify asks for the job of one entity, which says something.
func (f *forgetter) notify(typ, entity, says string) (notify.Ensured, error) {
	f.t.Helper()
	out, err := f.out.Notify(f.t.Context(), notify.Job{
		Type: typ, PartitionKey: entity, RowKey: typ + "-" + entity, EntityType: "person", Entity: entity, EventData: json.RawMessage(`"` + says + `"`),
		Recipients: []notify.Recipient{{Ref: entity, Channel: "email:test", Address: entity + "@example.com", Inbox: "user:" + entity}},
	})
	if conflict := (*notify.ConflictError)(nil); err != nil && !errors.As(err, &conflict) {
		f.t.Fatal(err)
	}
	return out, err
}

// rows counts those of a table, stubs apart.
func (f *forgetter) rows(table string) (whole, stubs int) {
	f.t.Helper()
	for _, s := range notify.Schemas() {
		if s.Name != table {
			continue
		}
		err := f.store.View(f.t.Context(), func(from driver.Reader) error {
			all, err := from.Select(f.t.Context(), s, driver.Within(""), driver.Query{Limit: 10_000})
			whole, stubs = 0, 0
			for _, r := range all {
				if stub, ok := r.(interface{ IsTombstone() bool }); ok && stub.IsTombstone() {
					stubs++
				} else {
					whole++
				}
			}
			return err
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return whole, stubs
}

// A job is done, and forgotten with all that it led to, but for its key: asked for again
// it is Unchanged, another wish under its key is a conflict, and nothing is sent.
func TestWhatIsForgottenIsNotSentAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days, Inbox: 30 * days}})
		first, _ := f.notify("welcome", "sam", "hello")
		f.pass(1)
		f.mails.Sent(t, 1)
		f.pass(50) // 30 until the job is old, seven of notice, and as many for what it led to
		for table, want := range map[string][2]int{
			"notification_job": {0, 1}, "notification_scheduler": {0, 0}, "outgoing_message": {0, 0}, "user_message": {0, 0},
		} {
			if whole, stubs := f.rows(table); whole != want[0] || stubs != want[1] {
				t.Errorf("%s: %d rows and %d stubs are left", table, whole, stubs)
			}
		}
		again, err := f.notify("welcome", "sam", "hello")
		if err != nil || again.Outcome != storage.Unchanged || again.Coordinates != first.Coordinates || again.Key != first.Key || len(again.Left) != 0 {
			t.Errorf("%+v, %v; at first %+v", again, err, first)
		}
		other, err := f.notify("welcome", "sam", "good-bye")
		if err == nil || other.Outcome != storage.Conflict {
			t.Errorf("%+v, %v", other, err)
		}
		_, err = f.out.AddRecipients(t.Context(), nil, "", first.Coordinates, notify.By{Actor: "sam", Reason: "a test"},
			notify.Recipient{Ref: "kim", Channel: "email:test", Address: "kim@example.com"})
		if !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("AddRecipients: %v", err)
		}
		f.pass(2)
		f.mails.Sent(t, 1)
	})
}

// Where a host says how old a wish can be, even its stub goes.
func TestAStubGoesAtTheHorizonOfItsType(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days, Inbox: 30 * days}})
		_, _ = f.notify("welcome", "sam", "hello")
		_, _ = f.notify("trial", "sam", "hello")
		f.pass(58)
		if whole, stubs := f.rows("notification_job"); whole != 0 || stubs != 2 {
			t.Errorf("%d and %d stubs", whole, stubs)
		}
		f.pass(4)
		if whole, stubs := f.rows("notification_job"); whole != 0 || stubs != 1 {
			t.Errorf("%d and %d stubs", whole, stubs)
		}
		f.mails.Sent(t, 2)
	})
}

// A message that a host asks for by itself is a wish of its own: its stub stays, without
// its address, and answers with the id of the first.
func TestAMessageOfNoJobLeavesAStub(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		ask := func(subject string) (notify.Ensured, error) {
			out, err := f.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
				Channel: "email:test", NotificationType: "welcome", PartitionKey: "by hand", RecipientRef: "sam", Address: "sam@example.com",
				RecipientName: "Sam", Content: notify.Content{Subject: subject},
			})
			return out[0], err
		}
		first, err := ask("Hello")
		if err != nil {
			t.Fatal(err)
		}
		f.pass(40)
		f.mails.Sent(t, 1)
		if whole, stubs := f.rows("outgoing_message"); whole != 0 || stubs != 1 {
			t.Errorf("%d and %d stubs", whole, stubs)
		}
		again, err := ask("Hello")
		if err != nil || again.Outcome != storage.Unchanged || again.MessageID != first.MessageID || again.Coordinates != first.Coordinates {
			t.Errorf("%+v, %v; at first %+v", again, err, first)
		}
		if other, err := ask("Good-bye"); err == nil || other.Outcome != storage.Conflict {
			t.Errorf("%+v, %v", other, err)
		}
		f.pass(1)
		f.mails.Sent(t, 1)
		f.holdNothing("sam@example.com", "Sam", "Hello")
	})
}

// A host may ask for a message beside those of a job, and say nothing in it: the stub of
// the job does not answer for it.
func TestAMessageBesideAJobLeavesAStub(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		if _, err := f.notify("welcome", "sam", "hello"); err != nil {
			t.Fatal(err)
		}
		ask := func() notify.Ensured {
			out, err := f.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
				Channel: "email:test", NotificationType: "welcome", PartitionKey: "welcome-sam", JobPartitionKey: "sam", RecipientRef: "kim", Address: "kim@example.com",
			})
			if err != nil {
				t.Fatal(err)
			}
			return out[0]
		}
		first := ask()
		f.pass(80)
		if whole, stubs := f.rows("outgoing_message"); whole != 0 || stubs != 1 {
			t.Errorf("%d and %d stubs", whole, stubs)
		}
		if again := ask(); again.Outcome != storage.Unchanged || again.MessageID != first.MessageID {
			t.Errorf("%+v; at first %+v", again, first)
		}
		f.pass(1)
		f.mails.Sent(t, 2)
	})
}

// The same in an inbox.
func TestAnInboxMessageBesideAJobLeavesAStub(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days, Inbox: 30 * days}})
		if _, err := f.notify("welcome", "sam", "hello"); err != nil {
			t.Fatal(err)
		}
		occasion := clk.Now()
		ask := func() notify.Ensured {
			out, err := f.out.EnsureUserMessage(t.Context(), nil, notify.UserMessage{
				Type: "welcome", PartitionKey: "user:kim", JobPartitionKey: "sam", JobRowKey: "welcome-sam", SourceOn: occasion,
			})
			if err != nil {
				t.Fatal(err)
			}
			return out[0]
		}
		ask()
		f.pass(80)
		if whole, stubs := f.rows("user_message"); whole != 0 || stubs != 1 {
			t.Errorf("%d and %d stubs", whole, stubs)
		}
		if again := ask(); again.Outcome != storage.Unchanged {
			t.Errorf("%+v", again)
		}
	})
}

// holdNothing fails the test if a table has one of the words.
func (f *forgetter) holdNothing(words ...string) {
	f.t.Helper()
	for _, s := range notify.Schemas() {
		err := f.store.View(f.t.Context(), func(from driver.Reader) error {
			all, err := from.Select(f.t.Context(), s, driver.Within(""), driver.Query{Limit: 10_000})
			for _, r := range all {
				for i := range s.Columns {
					v, _ := s.Columns[i].Value(r)
					for _, w := range words {
						if strings.Contains(fmt.Sprint(v), w) {
							f.t.Errorf("%s.%s has %q", s.Name, s.Columns[i].Name, w)
						}
					}
				}
			}
			return err
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// Nobody is taken by surprise: a week before the first row goes the log and Health say
// so, and a preview says how many.
func TestTheFirstDeletionIsAnnouncedForAWeek(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		_, _ = f.notify("welcome", "sam", "hello")
		f.pass(30)
		if got := f.retention("notification_job"); !got.AnnouncedOn.IsZero() || f.log.Len() > 0 {
			t.Errorf("%+v %s", got, f.log.String())
		}
		f.pass(2)
		announced := f.retention("notification_job")
		if announced.From.Sub(announced.AnnouncedOn) != 7*days || !strings.Contains(f.log.String(), "table=notification_job") {
			t.Errorf("%+v %s", announced, f.log.String())
		}
		preview, err := f.poller.PreviewRetention(t.Context())
		for _, p := range preview {
			if p.Table == "notification_job" && (p.Tombstones != 1 || p.Deleted != 0) {
				t.Errorf("%+v", p)
			}
		}
		if err != nil || len(preview) == 0 {
			t.Error(preview, err)
		}
		for clk.Now().Add(days).Before(announced.From) {
			f.pass(1)
			if whole, _ := f.rows("notification_job"); whole != 1 {
				t.Fatalf("it goes on %s, before %s", clk.Now(), announced.From)
			}
		}
		f.pass(2)
		if got := f.retention("notification_job"); got.Tombstones+got.Deleted > 1 || got.FinishedOn.IsZero() || got.Running {
			t.Errorf("%+v", got)
		}
		if _, stubs := f.rows("notification_job"); stubs != 1 {
			t.Error("it does not go")
		}
	})
}

func (f *forgetter) retention(table string) health.Retention {
	f.t.Helper()
	got, err := f.poller.Health(f.t.Context(), storage.Everywhere())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range got.Retention {
		if r.Table == table {
			return r
		}
	}
	return health.Retention{}
}

// A host whose processes live for a moment each, as a timer starts them, forgets too.
func TestAProcessOfAMomentForgets(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		opts := belfry.Options{Retention: belfry.Retention{Messages: 30 * days, Inbox: 30 * days}}
		if _, err := newForgetter(t, store, clk, opts).notify("welcome", "sam", "hello"); err != nil {
			t.Fatal(err)
		}
		var last *forgetter
		for range 40 {
			last = newForgetter(t, store, clk, opts)
			if err := last.poller.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			clk.Add(days)
		}
		if whole, stubs := last.rows("notification_job"); whole != 0 || stubs != 1 {
			t.Errorf("%d jobs and %d stubs", whole, stubs)
		}
	})
}

// A database that was there before the pass keeps all until its host says otherwise; a
// new one forgets by the stated defaults, but never the audit.
func TestExistingDatabasesForgetNothingByDefault(t *testing.T) {
	t.Parallel()
	for name, existing := range map[string]bool{"new": false, "existing": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				f := newForgetter(t, store, clk, belfry.Options{})
				_, _ = f.notify("welcome", "sam", "hello")
				if existing {
					clk.Add(3 * days)
				}
				f.pass(2)
				clk.Add(400 * days)
				f.pass(10)
				whole, stubs := f.rows("notification_job")
				if existing && (whole != 1 || stubs != 0) || !existing && (whole != 0 || stubs != 1) {
					t.Errorf("%d and %d stubs", whole, stubs)
				}
				if got := f.retention("audit_entry"); got.KeptFor != 0 {
					t.Errorf("the audit goes by default: %+v", got)
				}
			})
		})
	}
}

// What waits for a person, and the job that it is of, stays whole.
func TestWhatIsHeldIsNotForgotten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		clk.Set(storetest.Start)
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		lost := notifytest.Failing(&channel.Error{Class: channel.ClassUnknown, Code: "lost"})
		out := notify.New(store, nil, lost)
		out.Register(notify.Type{Name: "welcome", Renderer: notify.Template{Subject: "Welcome"}})
		poller := belfry.NewPoller(store, &belfry.Options{Retention: belfry.Retention{Messages: 30 * days}}, out)
		_, _ = f.notify("welcome", "sam", "hello")
		for range 60 {
			if err := poller.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			clk.Add(days)
		}
		for _, table := range []string{"notification_job", "outgoing_message"} {
			if whole, stubs := f.rows(table); whole != 1 || stubs != 0 {
				t.Errorf("%s: %d and %d stubs", table, whole, stubs)
			}
		}
	})
}

// Whoever adds to a job has all its messages looked for, so none of them goes before it.
func TestAJobThatIsAddedToSendsNothingAgain(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		made, _ := f.notify("welcome", "sam", "hello")
		add := func(who string) {
			_, err := f.out.AddRecipients(t.Context(), nil, "", made.Coordinates, notify.By{Actor: "sam", Reason: "a test"},
				notify.Recipient{Ref: who, Channel: "email:test", Address: who + "@example.com"})
			if err != nil {
				t.Fatal(err)
			}
		}
		f.pass(20)
		add("kim")
		f.pass(29) // the first message is old, its job is not
		add("ali")
		f.pass(5)
		f.mails.Sent(t, 3)
	})
}

// A job stays while its digest waits, and then as long as that.
func TestAJobIsForgottenAfterItsDigest(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 2 * days, Inbox: 2 * days}})
		f.out.Register(notify.Type{Name: "monthly", Digest: notify.Digest{Window: 28 * days, At: "08:00"}, Renderer: notify.Template{Subject: "News"}})
		_, _ = f.notify("monthly", "sam", "hello")
		f.pass(1)
		digest, err := f.out.Digests(t.Context(), nil, "", notify.Coordinates{PartitionKey: "sam", RowKey: "monthly-sam"})
		if err != nil || len(digest) != 1 {
			t.Fatal(digest, err)
		}
		wait := int(digest[0].On.Sub(clk.Now()) / days)
		if wait < 10 {
			t.Fatalf("the digest goes in %d days, before anything is forgotten", wait)
		}
		for _, step := range []struct{ days, jobs, stubs, entries, sent int }{{wait - 1, 2, 0, 1, 0}, {2, 2, 0, 1, 1}, {30, 0, 2, 0, 1}} {
			f.pass(step.days)
			jobs, stubs := f.rows("notification_job")
			entries, _ := f.rows("digest_entry")
			if jobs != step.jobs || stubs != step.stubs || entries != step.entries {
				t.Errorf("after %d days: %d jobs, %d stubs, %d entries", step.days, jobs, stubs, entries)
			}
			f.mails.Sent(t, step.sent)
		}
	})
}

// A message of a job that says nothing, since its recipient has no address that could be,
// is the job's like any other.
func TestAMessageThatWasNeverRenderedGoesWithItsJob(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		f := newForgetter(t, store, clk, belfry.Options{Retention: belfry.Retention{Messages: 30 * days}})
		_, err := f.out.Notify(t.Context(), notify.Job{
			Type: "welcome", PartitionKey: "1", RowKey: "1", Recipients: []notify.Recipient{{Ref: "sam", Channel: "email:test", Address: "nowhere"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		f.pass(1)
		if whole, _ := f.rows("outgoing_message"); whole != 1 {
			t.Fatalf("%d messages", whole)
		}
		f.pass(50)
		if whole, stubs := f.rows("outgoing_message"); whole != 0 || stubs != 0 {
			t.Errorf("%d messages and %d stubs are left", whole, stubs)
		}
	})
}

// A host's archive that hangs holds up nothing that goes without it.
func TestAnArchiveThatHangsHoldsUpNoAnswers(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := storetest.Memory(t, clk)
	archiving, gone := make(chan struct{}), make(chan struct{})
	typ := reminder("visit")
	typ.Retention = automation.Retention{After: 30 * days, Archive: func(ctx context.Context, _ []automation.Schedule) error {
		close(archiving)
		<-ctx.Done()
		return ctx.Err()
	}}
	h := newHost(t, store, typ)
	h.ensure(today("visit", 1)...)
	h.drain()
	clk.Add(31 * days)
	h.drain() // it is announced
	err := store.InTx(t.Context(), func(tx storage.Tx) error {
		return once.Request{Actor: "kim", ID: "r-1"}.At(0).Keep(t.Context(), tx, "done")
	})
	if err != nil {
		t.Fatal(err)
	}
	clk.Add(8 * days)
	answers := sweep.Retention[once.Row]{
		Table: once.Table, Silent: true,
		Created: func(r *once.Row) time.Time { return r.On },
		After:   func(time.Duration) time.Duration { return once.KeptFor },
		Old:     func(before time.Time) []driver.Cond { return []driver.Cond{driver.AtMost("answered_on", before)} },
		Archive: func(context.Context, []*once.Row) (map[*once.Row]bool, error) {
			<-archiving
			close(gone)
			return nil, nil
		},
	}
	rules := append([]sweep.Rules{{Domain: "answers", Old: []sweep.Rule{answers.Rule()}}}, h.reminders.SweepRules()...)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- sweep.New(store, sweep.Options{}, rules).Run(ctx) }()
	<-archiving
	<-gone
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
