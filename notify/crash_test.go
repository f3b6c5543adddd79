package notify

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// At each point where the transaction of a pass can be lost, the next run
// finishes the work once.
func TestEveryPassMayLoseItsCommit(t *testing.T) {
	for point := range 12 {
		t.Run(string(rune('a'+point)), func(t *testing.T) {
			visitsInMemory(t, func(h *host) {
				flaky := &flakyStore{Store: h.store, failAt: point}
				h.Notifier = New(flaky, &Options{Logger: quiet}, h.provider)
				h.Register(Type{Name: "visit", Renderer: visitTemplate, InDoubt: Resend})
				h.dispatch(visit("7", person("sam"), inbox("sam")))
				flaky.armed = true
				for range 4 {
					for _, p := range h.Passes() {
						_, _ = p.Runner(work.Options{Logger: quiet, Lease: time.Second}).Poll(t.Context(), 10)
					}
					h.clk.Add(2 * time.Hour)
				}
				flaky.armed = false
				h.drain()
				only(h, jobs)
				only(h, userMessages)
				if m := h.status(StatusSentToProvider); len(h.sent()) != 1 {
					t.Errorf("%d calls: %+v", len(h.sent()), m)
				}
			})
		})
	}
}

// flakyStore refuses one commit.
type flakyStore struct {
	storage.Store
	armed  bool
	failAt int
	seen   int
	after  bool // the commit happens, and its reply is lost
}

var errLost = errors.New("disk full")

func (f *flakyStore) InTx(ctx context.Context, work func(storage.Tx) error) error {
	if !f.armed {
		return f.Store.InTx(ctx, func(tx storage.Tx) error { return work(flakyTx{tx, f}) })
	}
	f.seen++
	lost := f.seen == f.failAt
	if lost && f.after {
		err := f.Store.InTx(ctx, func(tx storage.Tx) error { return work(flakyTx{tx, f}) })
		return errors.Join(err, storage.ErrOutcomeUnknown)
	}
	return f.Store.InTx(ctx, func(tx storage.Tx) error {
		err := work(flakyTx{tx, f})
		if err == nil && lost {
			return errLost
		}
		return err
	})
}

// flakyTx belongs to the flaky store.
type flakyTx struct {
	storage.Tx
	f *flakyStore
}

func (t flakyTx) Store() storage.Store { return t.f }

// The job is written by somebody else between the scheduler's look and its
// commit: it is looked at again, in the same transaction.
func TestAJobThatChangesUnderTheSchedulerIsLoadedAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		stale := only(h, jobs)
		edit(h, jobs, func(*Job) {})
		h.inOne(func(tx storage.Tx) error {
			return wakeAll(t.Context(), tx, jobs, func(j *Job, now time.Time) bool { return j.wake(now, "") }, []*Job{stale})
		})
		if j := only(h, jobs); j.Status != StatusReady || !j.DueOn.Equal(storetest.Start) {
			t.Fatalf("job is %s", j.Status)
		}
		h.inOne(func(tx storage.Tx) error {
			return wakeAll(t.Context(), tx, jobs, func(j *Job, now time.Time) bool { return j.wake(now, "") }, []*Job{stale})
		})
		if j := only(h, jobs); j.Version != 3 {
			t.Errorf("a ready job was written again: version %d", j.Version)
		}
	})
}

// A generator that is shut down while it renders gives the job back uncounted.
func TestARenderingThatWasInterruptedIsNotCounted(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.Register(Type{Name: "slow", Renderer: RendererFunc(func(ctx context.Context, _ Job, _ Recipient) (Content, error) { return Content{}, ctx.Err() })})
		job := visit("7", person("sam"))
		job.Type = "slow"
		h.dispatch(job)
		h.run("notify.scheduler")
		j := only(h, jobs)
		j.Status = StatusGenerating
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.generateAll(t.Context(), []work.Item[Job]{{Row: j, Ctx: ended}}); err != nil {
			t.Fatal(err)
		}
		if j.Status != StatusReady || j.RetryCount != 0 {
			t.Errorf("job is %s after %d failures", j.Status, j.RetryCount)
		}
	})
}
