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
)

// crash is a way in which a process is lost at a transaction.
type crash struct {
	after bool // the commit happens, and its reply is lost; else the commit does not
	dies  bool // and the process with it: it writes nothing more, and calls nobody
}

// flaky is a process whose store loses one transaction.
type flaky struct {
	*storetest.Spy
	armed  bool
	failAt int
	crash

	mu   sync.Mutex
	seen int
	lost int // the number of the transaction that is lost
	dead bool
}

var errLost = errors.New("disk full")

func newFlaky(store storage.Store, failAt int, how crash) *flaky {
	f := &flaky{failAt: failAt, crash: how}
	f.Spy = &storetest.Spy{Store: store, Hook: f.hook}
	return f
}

func (f *flaky) hook(c storetest.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.Verb == storetest.Begin {
		f.count(c.Number)
	}
	switch lost := f.lost == c.Number; {
	case c.Verb == storetest.Begin && f.dead && !lost, c.Verb == storetest.Commit && lost && !f.after:
		return errLost
	case c.Verb == storetest.Committed && lost: // since it is lost after its commit
		return storage.ErrOutcomeUnknown
	}
	return nil
}

// count counts a transaction.
func (f *flaky) count(number int) {
	if !f.armed || f.dead {
		return
	}
	if f.seen++; f.seen == f.failAt {
		f.lost, f.dead = number, f.dies
	}
}

// revive starts a process again, or says that it need not be.
func (f *flaky) revive() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.dead
	f.dead = false
	return was
}

// The job is written by somebody else between the scheduler's look and its
// commit: it is looked at again, in the same transaction.
//
//spec:f-004
func TestAJobThatChangesUnderTheSchedulerIsLoadedAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		stale := only(h, notify.Jobs)
		edit(h, notify.Jobs, func(*notify.JobRow) {})
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
		if err := h.GenerateAll(t.Context(), work.Item[notify.JobRow]{Row: j, Ctx: ended}); err != nil {
			t.Fatal(err)
		}
		if j.Status != notify.StatusReady || j.RetryCount != 0 {
			t.Errorf("job is %s after %d failures", j.Status, j.RetryCount)
		}
	})
}
