package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// slack is how long after its context a call may go on to write down what it did.
const slack = 900 * time.Millisecond

// Poll claims at most batch rows, handles and settles them, and returns. A zero
// Claimed means that nothing that this process serves was due and free. It
// returns within ctx and a second; a handler that goes on regardless is settled
// when it ends. Results are saved while other handlers go on, as in Run.
func (r *runner[R, A]) Poll(ctx context.Context, batch int) (Report, error) {
	rows, err := r.pollOnce(ctx, batch)
	if len(rows) == 0 {
		return Report{}, err
	}
	r.tel.claimed(ctx, len(rows), r.lag(rows))
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go r.heartbeat(beating)

	after, cancel := afterward(ctx, slack)
	defer cancel()
	s := r.session(ctx, ctx.Done())
	s.single = true
	launched := make(chan int, 1)
	rep := r.launchAll(s, rows, launched)
	close(launched)
	w := r.newSettler(s)
	quiet := make(chan struct{})
	go w.run(after, launched, quiet)
	select {
	case <-quiet:
		close(s.closed)
	case <-after.Done():
		close(s.closed)
		<-quiet
		err = ctx.Err()
	}
	return rep.Add(w.rep), err
}

// lag is how late the latest of the rows was claimed.
func (r *runner[R, A]) lag(rows []*R) time.Duration {
	now, late := r.now(), time.Duration(0)
	for _, row := range rows {
		late = max(late, now.Sub(r.rec(row).DueOn))
	}
	return late
}

// Run polls until ctx ends. Handlers and settling go on beside the next claim.
// At the end it claims nothing more, waits Grace for what runs, ends the
// contexts of what still does, and releases the rest. It returns ctx's error, or
// one that says that handlers ignored the end of theirs. Where the store was closed it
// does the same at once, and returns an [driver.ErrClosed].
func (r *runner[R, A]) Run(ctx context.Context) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go r.heartbeat(base)
	s := r.session(base, ctx.Done())
	quiet := make(chan struct{}) // the settler has landed everything
	launched := make(chan int, 64)
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go r.newSettler(s).run(writing, launched, quiet)
	closed := r.loop(ctx, s, launched)
	close(launched)
	return cmp.Or(closed, r.finish(ctx, s, end, quiet))
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

// loop claims and launches until ctx ends, or the store was closed.
func (r *runner[R, A]) loop(ctx context.Context, s *session[R, A], launched chan<- int) (closed error) {
	signal := r.store.Waker().Listen(r.spec.Table.Name, r.spec.Claimable...)
	defer signal.Close()
	launch := func(rows []*R) {
		r.tel.claimed(ctx, len(rows), r.lag(rows))
		r.launchAll(s, rows, launched)
	}
	looking, end := context.WithCancel(ctx)
	defer r.besides.Wait()
	defer end()
	for ctx.Err() == nil {
		r.liveness.turn()
		r.heed(signal)
		n, next, err := r.turn(looking, launch)
		r.liveness.poll(err)
		if errors.Is(err, driver.ErrClosed) && ctx.Err() == nil {
			return err
		}
		if err != nil && ctx.Err() == nil {
			r.tel.pollFailed(ctx)
			r.o.Logger.WarnContext(ctx, "belfry: poll failed", "pass", r.spec.Name, "error", err)
		}
		if n == 0 {
			r.sleep(ctx, signal, next)
		}
	}
	return nil
}

// launchAll hands the rows of a claim to their handlers, and tells how many outcomes will
// be reported.
func (r *runner[R, A]) launchAll(s *session[R, A], rows []*R, launched chan<- int) (rep Report) {
	abandoned, groups := s.split(rows, &rep)
	outcomes := len(groups)
	if len(abandoned) > 0 {
		outcomes++
		r.trackAbandoned(s, abandoned)
		go s.report(outcome[R, A]{rows: abandoned})
	}
	launched <- outcomes
	for _, group := range groups {
		s.launch(group)
	}
	return rep
}

func (r *runner[R, A]) trackAbandoned(s *session[R, A], abandoned []settled[R, A]) {
	rows := make([]*R, len(abandoned))
	for i, a := range abandoned {
		rows[i] = a.row
	}
	r.track(s.base, rows)
}

// sleep waits for the next due time, a hint, room for a queue that had none, a restart for
// a row behind a place, or the polling interval.
func (r *runner[R, A]) sleep(ctx context.Context, signal *driver.Signal, next time.Time) {
	d := r.o.Interval
	if !next.IsZero() {
		d = min(d, max(next.Sub(r.now()), time.Millisecond))
	}
	over := r.store.Clock().After(d)
	again := r.mono.Timer(r.untilRestart())
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signal.C():
			return
		case <-over:
			r.awaken()
			return
		case <-again.C:
			return
		case <-r.flights.freed:
			if r.ready() {
				return
			}
		}
	}
}

// stream runs a streaming handler, passes on what it lands, and returns the rows
// that it has not landed, with the error that they fail with.
func (r *runner[R, A]) stream(ctx context.Context, items []Item[R], early func(settled[R, A])) (left []*R, err error) {
	var mu sync.Mutex
	open := make(map[*R]bool, len(items))
	for _, it := range items {
		open[it.Row] = true
	}
	take := func(row *R) bool {
		mu.Lock()
		defer mu.Unlock()
		ours := open[row]
		delete(open, row)
		return ours
	}
	err = Guard(func() error {
		return r.spec.Stream(ctx, items, func(row *R, result A) {
			if take(row) {
				early(settled[R, A]{row: row, result: result, dispatch: true})
			}
		})
	})
	for _, it := range items { // a goroutine of a handler that panicked may still be at it
		if take(it.Row) {
			left = append(left, it.Row)
		}
	}
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("work: the handler of %s left out %d of %d rows", r.spec.Name, len(left), len(items))
	}
	return left, err
}

// Logged is err for a prepare that has logged it, and says it once: it is not logged again.
func Logged(err error) error { return logged{err} }

type logged struct{ error }

func (l logged) Unwrap() error { return l.error }

// Prepared is p with something to be done once in each poller before the first
// claim: rows that the pass works on have to exist. prepare may be called again
// until it succeeds, and from several processes at once.
func Prepared(p Pass, prepare func(ctx context.Context) error) Pass {
	return prepared{p, prepare}
}

type prepared struct {
	Pass
	prepare func(ctx context.Context) error
}

func (p prepared) Runner(o Options) Runner {
	return &preparedRunner{inner: p.Pass.Runner(o), prepare: p.prepare, name: p.Name(), o: o.withDefaults(), liveness: newLiveness(p.Name())}
}

type preparedRunner struct {
	inner    Runner
	prepare  func(ctx context.Context) error
	name     string
	o        Options
	liveness *liveness
	ready    atomic.Bool // inner runs

	mu   sync.Mutex
	done bool
}

func (r *preparedRunner) once(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return nil
	}
	err := r.prepare(ctx)
	r.done = err == nil
	return err
}

func (r *preparedRunner) Poll(ctx context.Context, batch int) (Report, error) {
	if err := r.once(ctx); err != nil {
		return Report{}, err
	}
	return r.inner.Poll(ctx, batch)
}

// Run does not end because the database is away when it begins.
func (r *preparedRunner) Run(ctx context.Context) error {
	for {
		r.liveness.turn()
		err := r.once(ctx)
		if r.liveness.poll(err); err == nil {
			r.ready.Store(true)
			return r.inner.Run(ctx)
		}
		if ctx.Err() != nil || errors.Is(err, driver.ErrClosed) {
			return cmp.Or(ctx.Err(), err)
		}
		if !errors.As(err, new(logged)) {
			r.o.Logger.WarnContext(ctx, "belfry: a pass could not be prepared", slog.String("pass", r.name), slog.Any("error", err))
		}
		if !sleepFor(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// sleepFor waits in real time, and reports whether it came to the end.
func sleepFor(ctx context.Context, d time.Duration) bool {
	t := realClock.Timer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
