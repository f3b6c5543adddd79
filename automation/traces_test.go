package automation_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// eachTraced runs a story with traces on every adapter.
func eachTraced(t *testing.T, story func(w *world)) {
	t.Helper()
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		story(newWorld(t, store, clk, &automation.Options{Traces: &automation.Traces{Keep: 7 * days, HashKey: []byte("key")}}))
	})
}

func (w *world) trace(key string) automation.Trace {
	w.t.Helper()
	trace, err := w.s.Support().Trace(w.ctx, "", key)
	if err != nil {
		w.t.Fatal(err)
	}
	return trace
}

func TestThereAreNoTracesUnlessAskedFor(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		for _, key := range []string{certificateKey, "unknown"} {
			if _, err := w.s.Support().Trace(w.ctx, "", key); !errors.Is(err, storage.ErrNotFound) || w.row(certificateKey).TraceBlobName != "" {
				w.t.Error(err)
			}
		}
	})
}

func TestATraceTellsWhatWasSeenAndDecided(t *testing.T) {
	eachTraced(t, func(w *world) {
		eve := notify.Recipient{Ref: "eve", Channel: "email:print", Address: "eve@example.com"}
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) {
				return automation.StillValid(), nil
			})
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{sam, eve}, nil
			})
			t.Policy = automation.DeliveryPolicyFunc(func(_ context.Context, _ automation.Due, to []notify.Recipient) ([]notify.Recipient, error) {
				w.clk.Add(time.Second)
				return to[:1], nil
			})
		}))
		w.ensure(candidate(func(c *automation.Candidate) { c.BusinessUnit = "cork" }))
		w.pollAt(day(2026, 4, 1, 9))
		nine := day(2026, 4, 1, 9)
		want := automation.Trace{
			Key: certificateKey, AutomationType: automation.TypeReminder, Type: "certificate", TriggerType: automation.DateBased, BusinessUnit: "cork",
			Source: automation.Source{"employee", "7"}, TriggerKey: "default", TargetDate: "2026-05-01", DaysBefore: 30,
			InputHash: w.row(certificateKey).InputHash, ScheduledOn: nine, Attempt: 1, Setting: "certificate", SettingActive: true,
			Validity: "StillValid", Resolved: 2, Recipients: 1,
			RecipientHashes: []string{keys.RecipientHash([]byte("key"), "sam", "email:print", "")},
			Artifacts:       map[string]int{"AutomationJob": 1, "NotificationJob": 1, "NotificationScheduler": 1},
			BeganOn:         nine, EndedAt: "artifacts", Status: automation.StatusCompleted,
		}
		for _, step := range []string{"decode", "rollout", "settings", "readings", "current", "lateness", "overtaken", "revalidate", "recipients", "policy", "artifacts"} {
			on := nine
			if step == "policy" || step == "artifacts" { // the policy takes a second
				on = nine.Add(time.Second)
			}
			want.Steps = append(want.Steps, automation.TraceStep{step, on})
		}
		if diff := cmp.Diff(want, w.trace(certificateKey)); diff != "" {
			w.t.Error(diff)
		}
	})
}

// I-29: what is kept for support holds nobody's address.
func TestI29_ATraceHoldsNoAddress(t *testing.T) {
	eachTraced(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{{Ref: "canary-ref", Channel: "email:print", Address: "canary@example.com", Name: "Canary"}}, nil
			})
		}))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		r, err := w.store.Blobs().Open(w.ctx, storage.Ref{Name: w.row(certificateKey).TraceBlobName}, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || len(text) == 0 || strings.Contains(strings.ToLower(string(text)), "canary") {
			w.t.Errorf("%s %v", text, err)
		}
	})
}

func TestEveryTryHasATrace(t *testing.T) {
	eachTraced(t, func(w *world) {
		err := errBoom
		valid := automation.NoLongerValid("CourseCancelled")
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return valid, err })
		}))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		got := w.trace(certificateKey)
		want := []string{"1", "revalidate", automation.StatusPending, string(reasons.HandlerFailed), "boom", ""}
		if diff := cmp.Diff(want, story(got)); diff != "" || !got.NextRetryOn.Equal(w.row(certificateKey).NextRetryOn) {
			w.t.Error(diff)
		}
		err = nil
		w.pollAt(w.row(certificateKey).NextRetryOn)
		want = []string{"2", "revalidate", automation.StatusDeactivated, "CourseCancelled", "", "CourseCancelled"}
		if diff := cmp.Diff(want, story(w.trace(certificateKey))); diff != "" {
			w.t.Error(diff)
		}
	})
}

func story(t automation.Trace) []string {
	return []string{string(rune('0' + t.Attempt)), t.EndedAt, t.Status, string(t.Reason), t.Error, t.Validity}
}

func TestATraceGoesWhenItsTimeIsOverAndItsRowStays(t *testing.T) {
	eachTraced(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		before := w.row(certificateKey)
		for n, on := range []time.Time{day(2026, 4, 8, 9).Add(-time.Microsecond), day(2026, 4, 8, 9)} {
			w.clk.Set(on)
			if got, err := w.store.Blobs().Collect(w.ctx, 10); got != n || err != nil {
				w.t.Errorf("%s: %d traces went, %v", on, got, err)
			}
		}
		if _, err := w.s.Support().Trace(w.ctx, "", certificateKey); !errors.Is(err, storage.ErrNotFound) {
			w.t.Error(err)
		}
		if diff := cmp.Diff(before, w.row(certificateKey)); diff != "" {
			w.t.Error(diff)
		}
	})
}

func TestATraceOfAHostsTypeCountsWhatItsHandlerWants(t *testing.T) {
	eachTraced(t, func(w *world) {
		w.s.Handle(automation.WorkType{Name: "export", Handler: automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) {
			return []automation.Outcome{{Artifacts: automation.Artifacts{Candidates: []automation.Candidate{candidate(nil)}}}}, nil
		})})
		key := w.ensure(automation.Candidate{AutomationType: "export", Source: automation.Source{"file", "1"}, ScheduledOn: start})[0].Key
		w.poll()
		got := w.trace(key)
		if diff := cmp.Diff(map[string]int{"Candidate": 1}, got.Artifacts); diff != "" || got.EndedAt != "handler" {
			w.t.Error(diff, got.EndedAt)
		}
	})
}

// brokenBlobs is a store whose blobs do not work.
type brokenBlobs struct {
	storage.Store
	storage.Blobs
	put, keep func() error
}

func (s *brokenBlobs) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(&brokenTx{tx, s}) })
}

type brokenTx struct {
	storage.Tx
	s *brokenBlobs
}

func (t *brokenTx) Store() storage.Store { return t.s.store() }

func (s *brokenBlobs) store() storage.Store { return brokenStore{s.Store, s} }

// brokenStore is the store with brokenBlobs in place of its own.
type brokenStore struct {
	storage.Store
	b *brokenBlobs
}

func (s brokenStore) Blobs() storage.Blobs { return s.b }

func (s brokenStore) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return s.b.InTx(ctx, f)
}

func (s *brokenBlobs) Put(ctx context.Context, r io.Reader) (storage.Ref, error) {
	if s.put != nil {
		return storage.Ref{}, s.put()
	}
	return s.Blobs.Put(ctx, r)
}

func (s *brokenBlobs) KeepUntil(context.Context, storage.Tx, time.Time, ...storage.Ref) error {
	return s.keep()
}

func TestATraceThatCannotBeWrittenDoesNotStopTheWork(t *testing.T) {
	for name, b := range map[string]brokenBlobs{
		"put fails":   {put: func() error { return errBoom }},
		"put panics":  {put: func() error { panic("boom") }},
		"keep fails":  {keep: func() error { return errBoom }},
		"keep panics": {keep: func() error { panic("boom") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				broken := b
				if broken.keep == nil {
					broken.keep = func() error { return nil }
				}
				broken.Store, broken.Blobs = store, store.Blobs()
				w := newWorld(t, broken.store(), clk, &automation.Options{Traces: &automation.Traces{}})
				w.s.Register(certificates(nil))
				w.ensure(candidate(nil))
				w.pollAt(day(2026, 4, 1, 9))
				if row := w.row(certificateKey); row.Status != automation.StatusCompleted || row.TraceBlobName != "" || len(w.out.dispatched()) != 1 {
					t.Errorf("%+v", row)
				}
			})
		})
	}
}

func TestTracesAreReadOutsideTransactions(t *testing.T) {
	eachTraced(t, func(w *world) {
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			_, err := w.s.WithTx(tx).Support().Trace(w.ctx, "", certificateKey)
			return err
		})
		if !errors.Is(err, automation.ErrBound) {
			w.t.Error(err)
		}
	})
}
