package work

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Run polls until ctx ends. Handlers and settling go on beside the next claim.
// At the end it claims nothing more, waits Grace for what runs, ends the
// contexts of what still does, and releases the rest. It returns ctx's error, or
// one that says that handlers ignored the end of theirs.
func (r *runner[R, A]) Run(ctx context.Context) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go r.heartbeat(base)
	s := r.session(base, ctx.Done())
	quiet := make(chan struct{}) // the settler has landed everything
	launched := make(chan int, 64)
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go r.settler(writing, s, launched, quiet)
	r.loop(ctx, s, launched)
	close(launched)
	return r.finish(ctx, s, end, quiet)
}

// finish waits for the settler, longer for handlers that behave.
func (r *runner[R, A]) finish(ctx context.Context, s *session[R, A], end context.CancelFunc, quiet <-chan struct{}) error {
	grace := r.mono.Timer(r.o.Grace)
	defer grace.Stop()
	select {
	case <-quiet:
		return ctx.Err()
	case <-grace.C:
		end()
	}
	last := r.mono.Timer(slack)
	defer last.Stop()
	select {
	case <-quiet:
		return ctx.Err()
	case <-last.C:
		close(s.closed)
		return fmt.Errorf("work: %s: %d rows are still with handlers that ignore the end of their context: %w", r.spec.Name, r.flights.len(), ctx.Err())
	}
}

// loop claims and launches until ctx ends.
func (r *runner[R, A]) loop(ctx context.Context, s *session[R, A], launched chan<- int) {
	signal := r.store.Waker().Listen(r.spec.Table.Name)
	defer signal.Close()
	for ctx.Err() == nil {
		n := r.room()
		if n == 0 {
			r.waitFreed(ctx)
			continue
		}
		r.heed(signal)
		claimedAt := r.mono.Now()
		rows, next, err := r.find(ctx, n, false)
		if err != nil && ctx.Err() == nil {
			r.tel.pollFailed(ctx)
			r.o.Logger.WarnContext(ctx, "belfry: poll failed", "pass", r.spec.Name, "error", err)
		}
		if len(rows) == 0 {
			r.sleep(ctx, signal, next)
			continue
		}
		r.tel.claimed(ctx, len(rows), r.lag(rows))
		r.launchAll(s, rows, claimedAt, launched)
	}
}

func (r *runner[R, A]) launchAll(s *session[R, A], rows []*R, claimedAt time.Time, launched chan<- int) {
	var rep Report
	abandoned, groups := r.split(rows, &rep)
	if len(abandoned) > 0 {
		launched <- 1
		r.boardAbandoned(s, abandoned, claimedAt)
		go s.report(outcome[R, A]{rows: abandoned})
	}
	launched <- len(groups)
	for _, group := range groups {
		s.launch(group, claimedAt)
	}
}

func (r *runner[R, A]) boardAbandoned(s *session[R, A], abandoned []settled[R, A], claimedAt time.Time) {
	rows := make([]*R, len(abandoned))
	for i, a := range abandoned {
		rows[i] = a.row
	}
	r.board(s.base, rows, claimedAt)
}

// room is how many rows the next claim may take: a whole batch or nothing, so
// that a full pipeline does not claim in dribbles.
func (r *runner[R, A]) room() int {
	if r.flights.len()+r.o.Batch > r.o.InFlight {
		return 0
	}
	return r.o.Batch
}

func (r *runner[R, A]) waitFreed(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-r.flights.freed:
	}
}

// heed notes whether a row was saved at or before the cursor since the last poll.
func (r *runner[R, A]) heed(signal *storage.Signal) {
	first := signal.Take()
	if first.IsZero() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !first.After(r.lanes.furthest().DueOn) {
		r.look.hinted = true
	}
}

// sleep waits for the next due moment, a hint, or the polling interval.
func (r *runner[R, A]) sleep(ctx context.Context, signal *storage.Signal, next time.Time) {
	d := r.o.Interval
	if !next.IsZero() {
		d = min(d, max(next.Sub(r.now()), time.Millisecond))
	}
	t := r.store.Clock().Timer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-signal.C():
	case <-t.C:
	}
}
