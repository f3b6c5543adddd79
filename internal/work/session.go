package work

import (
	"context"
	"time"
)

// session is one call of Poll or Run: where its handlers run and report to.
type session[R, A any] struct {
	r      *runner[R, A]
	base   context.Context // of the handlers
	stop   <-chan struct{} // closed: groups that have not begun are released
	room   chan struct{}
	out    chan outcome[R, A]
	closed chan struct{} // nobody reads out any more
}

// outcome is what became of one group, or of some of its rows.
type outcome[R, A any] struct {
	rows []settled[R, A]
	rep  Report
	more bool // the group goes on
}

func (r *runner[R, A]) session(base context.Context, stop <-chan struct{}) *session[R, A] {
	return &session[R, A]{
		r: r, base: base, stop: stop, room: make(chan struct{}, r.o.Concurrency),
		out: make(chan outcome[R, A]), closed: make(chan struct{}),
	}
}

// launch handles a group as soon as there is room, and reports it once.
func (s *session[R, A]) launch(group []*R, claimedAt time.Time) {
	flights := s.r.board(s.base, group, claimedAt)
	go func() {
		var o outcome[R, A]
		select {
		case <-s.stop:
			o.rows = s.r.release(group, &o.rep)
		case s.room <- struct{}{}:
			o.rows = s.attempt(group, flights, &o.rep)
			<-s.room
		}
		s.report(o)
	}()
}

func (s *session[R, A]) attempt(group []*R, flights []*flight, rep *Report) []settled[R, A] {
	select {
	case <-s.stop:
		return s.r.release(group, rep)
	default:
		return s.r.handle(s.base, group, flights, rep, s.early)
	}
}

// early reports a row whose group is still handled.
func (s *session[R, A]) early(row settled[R, A]) {
	s.report(outcome[R, A]{rows: []settled[R, A]{row}, more: true})
}

// report passes an outcome on. One that comes after everybody has left (its
// handler ignored the end of its context) is settled here and now.
func (s *session[R, A]) report(o outcome[R, A]) {
	select {
	case s.out <- o:
	case <-s.closed:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.base), s.r.o.Lease)
		defer cancel()
		s.r.settle(ctx, o.rows, &o.rep)
	}
}

// afterward is a context that ends d after ctx, for writing down what was done.
func afterward(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	after, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(d, cancel)
		context.AfterFunc(after, func() { timer.Stop() })
	})
	return after, func() { stop(); cancel() }
}
