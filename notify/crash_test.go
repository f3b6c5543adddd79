package notify_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// crash is a way in which a process is lost at a transaction.
type crash struct {
	after bool // the commit happens, and its reply is lost; else the commit does not
	dies  bool // and the process with it: it writes nothing more, and calls nobody
}

// flakyStore loses one transaction.
type flakyStore struct {
	storage.Store
	armed  bool
	failAt int
	crash

	mu   sync.Mutex
	seen int
	dead bool
}

var errLost = errors.New("disk full")

func (f *flakyStore) InTx(ctx context.Context, work func(storage.Tx) error) error {
	lost, dead := f.next()
	if dead && !lost {
		return errLost
	}
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

// Blobs are on the flaky store too.
func (f *flakyStore) Blobs() storage.Blobs {
	b, err := driver.NewBlobs(f, "")
	if err != nil {
		panic(err) // there is no folder that could be unusable
	}
	return b
}

// next counts a transaction.
func (f *flakyStore) next() (lost, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.armed && !f.dead {
		f.seen++
		lost = f.seen == f.failAt
		f.dead = lost && f.dies
	}
	return lost, f.dead
}

// revive starts a process again, or says that it need not be.
func (f *flakyStore) revive() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.dead
	f.dead = false
	return was
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
		stale := only(h, notify.Jobs)
		edit(h, notify.Jobs, func(*notify.Job) {})
		h.inOne(func(tx storage.Tx) error {
			return h.WakeJob(t.Context(), tx, stale)
		})
		if j := only(h, notify.Jobs); j.Status != notify.StatusReady || !j.DueOn.Equal(storetest.Start) {
			t.Fatalf("job is %s", j.Status)
		}
		h.inOne(func(tx storage.Tx) error {
			return h.WakeJob(t.Context(), tx, stale)
		})
		if j := only(h, notify.Jobs); j.Version != 3 {
			t.Errorf("a ready job was written again: version %d", j.Version)
		}
	})
}

// A generator that is shut down while it renders gives the job back uncounted.
func TestARenderingThatWasInterruptedIsNotCounted(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.Register(notify.Type{Name: "slow", Renderer: notify.RendererFunc(func(ctx context.Context, _ notify.Job, _ notify.Recipient) (notify.Content, error) {
			return notify.Content{}, ctx.Err()
		})})
		job := visit("7", person("sam"))
		job.Type = "slow"
		h.dispatch(job)
		h.run("notify.scheduler")
		j := only(h, notify.Jobs)
		j.Status = notify.StatusGenerating
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.GenerateAll(t.Context(), work.Item[notify.Job]{Row: j, Ctx: ended}); err != nil {
			t.Fatal(err)
		}
		if j.Status != notify.StatusReady || j.RetryCount != 0 {
			t.Errorf("job is %s after %d failures", j.Status, j.RetryCount)
		}
	})
}
