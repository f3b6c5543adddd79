package work

import (
	"context"
	"time"
)

// slack is how long after its context a call may go on to write down what it did.
const slack = 900 * time.Millisecond

// Poll claims at most batch rows, handles and settles them, and returns. A zero
// Claimed means that nothing that this process serves was due and free. It
// returns within ctx and a second; a handler that goes on regardless is settled
// when it ends.
func (r *runner[R, A]) Poll(ctx context.Context, batch int) (Report, error) {
	var rep Report
	claimedAt := r.mono.Now()
	rows, _, err := r.find(ctx, batch, true)
	if len(rows) == 0 {
		return rep, err
	}
	r.tel.claimed(ctx, len(rows), r.lag(rows))
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go r.heartbeat(beating)

	after, cancel := afterward(ctx, slack)
	defer cancel()
	done, groups := r.split(rows, &rep)
	s := r.session(ctx, ctx.Done())
	defer close(s.closed)
	for _, group := range groups {
		s.launch(group, claimedAt)
	}
	ended := ctx.Done()
	for open := len(groups); open > 0; {
		select {
		case o := <-s.out:
			done, rep = append(done, o.rows...), rep.Add(o.rep)
			if !o.more {
				open--
			}
		case <-ended: // what is done waits for no handler that goes on regardless
			r.settle(after, done, &rep)
			ended, done = nil, nil
		case <-after.Done():
			return rep, ctx.Err()
		}
	}
	r.settle(after, done, &rep)
	return rep, err
}

// lag is how late the latest of the rows was claimed.
func (r *runner[R, A]) lag(rows []*R) time.Duration {
	now, late := r.now(), time.Duration(0)
	for _, row := range rows {
		late = max(late, now.Sub(r.rec(row).DueOn))
	}
	return late
}
