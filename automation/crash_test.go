package automation_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// faultyStore spoils one transaction: it does not happen, or it happens and the
// answer is lost.
type faultyStore struct {
	storage.Store
	mu    sync.Mutex
	calls int
	at    int
	lost  bool // the answer, after the commit
}

// arm spoils the transaction of that number from now on; zero: none.
func (s *faultyStore) arm(at int, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.at, s.lost = 0, at, lost
}

func (s *faultyStore) InTx(ctx context.Context, f func(storage.Tx) error) error {
	s.mu.Lock()
	s.calls++
	spoil := s.calls == s.at
	s.mu.Unlock()
	if spoil && !s.lost {
		return fmt.Errorf("crash before: %w", storage.ErrUnavailable)
	}
	err := s.Store.InTx(ctx, func(tx storage.Tx) error { return f(faultyTx{tx, s}) })
	if spoil && err == nil {
		return fmt.Errorf("crash after: %w", storage.ErrOutcomeUnknown)
	}
	return err
}

type faultyTx struct {
	storage.Tx
	s *faultyStore
}

func (t faultyTx) Store() storage.Store { return t.s }

// The story of a renewed certificate, with a fault in any one transaction: the
// caller repeats what it was not sure of, pollers go on, and the end is the same.
func TestAFaultInAnyOneTransactionChangesNothingInTheEnd(t *testing.T) {
	t.Parallel()
	want := renewal(t, &faultyStore{})
	for at := 1; ; at++ {
		reached := false
		for _, lost := range []bool{false, true} {
			faulty := &faultyStore{at: at, lost: lost}
			if diff := cmp.Diff(want, renewal(t, faulty)); diff != "" {
				t.Errorf("fault %d, answer lost %v: %s", at, lost, diff)
			}
			reached = faulty.calls >= at
		}
		if !reached {
			return
		}
	}
}

func renewal(t *testing.T, store *faultyStore) map[string]string {
	clk := clock.NewMock()
	clk.Set(start)
	store.Store = memory.New(&memory.Options{Clock: clk})
	w := newWorld(t, store, clk, nil)
	p := w.withTriggers(nil)
	tell := func(e automation.Event) {
		for range 2 {
			if _, err := w.s.HandleEvent(w.ctx, e); err == nil {
				return
			}
		}
		t.Fatal("an event fails twice")
	}
	pollUntil := func(on time.Time) {
		for clk.Set(on); clk.Now().Before(on.Add(3 * time.Hour)); clk.Add(10 * time.Minute) {
			_, _ = w.runner().Poll(w.ctx, 100) // the next one goes on
		}
	}
	p.set(offsets(date(2026, 5, 1), 30, 7)...)
	tell(changed(1))
	pollUntil(day(2026, 4, 1, 9))
	p.set(offsets(date(2029, 5, 1), 30)...)
	tell(changed(2))
	pollUntil(day(2026, 5, 1, 9))
	w.store = store.Store // the story is over, and so are its faults
	out := w.statuses()
	jobs := map[string]bool{}
	for _, j := range w.out.jobs {
		jobs[j.PartitionKey+j.RowKey] = true
	}
	out["jobs"] = fmt.Sprint(len(jobs))
	return out
}
