package work

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"
)

// coalesce is how long a settled row waits for others to share its transaction.
const coalesce = 5 * time.Millisecond

// settling is how many transactions may settle at once: while one waits for the
// disk, the next is prepared. The second is begun for a full batch only, so that
// rows wait for company rather than take a transaction each.
const settling = 2

// settler lands the outcomes of a running poller in batches.
type settler[R, A any] struct {
	r       *runner[R, A]
	pending []settled[R, A]
	weight  int // of pending
	open    int // groups launched and not reported
	busy    int // transactions under way
	landed  chan struct{}
	timer   *clock.Timer
	waited  bool // the first of pending has waited long enough
}

// settler runs until everything that was launched has landed, or nobody waits
// any more.
func (r *runner[R, A]) settler(ctx context.Context, s *session[R, A], launched <-chan int, quiet chan<- struct{}) {
	defer close(quiet)
	w := &settler[R, A]{r: r, landed: make(chan struct{}), timer: r.mono.Timer(coalesce)}
	defer w.timer.Stop()
	for launched != nil || w.open > 0 || w.busy > 0 || len(w.pending) > 0 {
		select {
		case n, ok := <-launched:
			if !ok {
				launched = nil
			}
			w.open += n
		case o := <-s.out:
			if !o.more {
				w.open--
			}
			w.add(o.rows)
		case <-w.timer.C:
			w.waited = true
		case <-w.landed:
			w.busy--
		case <-s.closed:
			return
		}
		for w.full() {
			w.flush(ctx, s.closed)
		}
	}
}

func (w *settler[R, A]) add(rows []settled[R, A]) {
	if len(w.pending) == 0 {
		w.waited = false
		w.timer.Reset(coalesce)
	}
	w.pending = append(w.pending, rows...)
	w.weight += w.r.weigh(rows)
}

// full says whether a batch is worth a transaction now. While claims are full,
// more rows are on their way, so that it is worth the wait.
func (w *settler[R, A]) full() bool {
	switch {
	case len(w.pending) == 0 || w.busy == settling:
		return false
	case w.weight >= maxSettle:
		return true
	}
	return w.busy == 0 && (w.waited || w.open == 0 && !w.r.hot.Load())
}

func (w *settler[R, A]) flush(ctx context.Context, closed <-chan struct{}) {
	n := w.r.fitting(w.pending)
	batch := w.pending[:n:n]
	w.pending = w.pending[n:]
	w.weight -= w.r.weigh(batch)
	w.busy++
	go func() {
		var rep Report
		w.r.settle(ctx, batch, &rep)
		select {
		case w.landed <- struct{}{}:
		case <-closed:
		}
	}()
}
