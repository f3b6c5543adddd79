package work

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxSettle is how many rows one settling transaction writes at most, what a single
// row has decided aside.
const maxSettle = 1000

// sizeOf counts the rows that settling a batch writes.
func (r *runner[R, A]) sizeOf(batch []settled[R, A]) int {
	n := len(batch)
	if r.spec.Weight != nil {
		for _, s := range batch {
			n += r.spec.Weight(s.result)
		}
	}
	return n
}

// fitting is how many of a batch's first rows go into one transaction: one at
// least.
func (r *runner[R, A]) fitting(batch []settled[R, A]) int {
	if r.spec.Weight == nil {
		return min(len(batch), maxSettle)
	}
	for i, sum := 0, 0; i < len(batch); i++ {
		if sum += r.sizeOf(batch[i : i+1]); sum > maxSettle {
			return max(i, 1)
		}
	}
	return len(batch)
}

// settle writes handled rows back and dispatches what they decided. A batch that
// the store refuses is halved until the row that cannot be stored stands alone;
// while the database is away it is tried again for as long as a lease, and for
// keepResults at least, since the result of a finished call must not be dropped. A
// database that is behind counts as away for a lease.
func (r *runner[R, A]) settle(ctx context.Context, batch []settled[R, A], rep *Report) {
	for n := r.fitting(batch); n < len(batch); n = r.fitting(batch) {
		r.settle(ctx, batch[:n], rep)
		batch = batch[n:]
	}
	deadline, patient := r.mono.Now().Add(max(r.o.Lease, keepResults)), r.mono.Now().Add(r.o.Lease)
	for wait := 10 * time.Millisecond; len(batch) > 0; wait = min(2*wait, time.Second) {
		stale, err := r.settleOnce(ctx, batch, r.mono.Now().Before(patient))
		if err == nil {
			r.land(ctx, batch, stale, rep)
			return
		}
		if !passing(err, len(batch)) {
			r.divide(ctx, batch, err, rep)
			return
		}
		if r.mono.Now().Add(wait).After(deadline) || !r.pause(ctx, wait) {
			r.giveUp(ctx, batch, err, rep)
			return
		}
	}
}

// passing errors say nothing against the rows: the same batch may do later. A
// lock that is not granted is one only for a single row, since fewer rows need
// fewer locks.
func passing(err error, rows int) bool {
	return errors.Is(err, storage.ErrBusy) && rows == 1 || errors.Is(err, storage.ErrUnavailable) || errors.Is(err, storage.ErrOutcomeUnknown) ||
		errors.Is(err, storage.ErrStale) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func (r *runner[R, A]) pause(ctx context.Context, d time.Duration) bool {
	t := r.mono.Timer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// divide isolates what the store refuses. A single row fails without its
// artifacts; if not even that can be stored, its lease runs out.
func (r *runner[R, A]) divide(ctx context.Context, batch []settled[R, A], err error, rep *Report) {
	if half := len(batch) / 2; half > 0 {
		r.settle(ctx, batch[:half], rep)
		r.settle(ctx, batch[half:], rep)
		return
	}
	if !batch[0].dispatch {
		r.giveUp(ctx, batch, err, rep)
		return
	}
	r.o.Logger.ErrorContext(ctx, "belfry: a row could not be settled", "pass", r.spec.Name, "id", r.rec(batch[0].row).ID, "error", err)
	r.spec.Fail(r.now(), batch[0].row, err)
	rep.Failed++
	r.settle(ctx, []settled[R, A]{{row: batch[0].row}}, rep)
}

func (r *runner[R, A]) giveUp(ctx context.Context, batch []settled[R, A], err error, rep *Report) {
	r.o.Logger.ErrorContext(ctx, "belfry: rows are left to their leases", "pass", r.spec.Name, "rows", len(batch), "error", err)
	rep.Failed += len(batch)
	r.flights.remove(r.recs(batch))
}

// land counts a committed batch and ends its flights.
func (r *runner[R, A]) land(ctx context.Context, batch []settled[R, A], stale map[int]bool, rep *Report) {
	rep.Settled += len(batch) - len(stale)
	rep.Stale += len(stale)
	statuses := map[string]int{}
	for i, s := range batch {
		if !stale[i] {
			statuses[r.rec(s.row).Status]++
		}
	}
	r.flights.remove(r.recs(batch))
	r.tel.settled(ctx, statuses, len(stale))
}

func (r *runner[R, A]) recs(rows []settled[R, A]) []*driver.Due {
	recs := make([]*driver.Due, len(rows))
	for i, s := range rows {
		recs[i] = r.rec(s.row)
	}
	return recs
}

// settleOnce is one transaction: save the rows, apply late results to what others wrote
// meanwhile, dispatch the rest. It tells which were stale. A patient one fails on a
// database that is behind.
func (r *runner[R, A]) settleOnce(ctx context.Context, batch []settled[R, A], patient bool) (stale map[int]bool, err error) {
	ctx, end := r.tel.settling(ctx, len(batch))
	defer func() { end(err) }()
	rows, before := make([]*R, len(batch)), r.scratch(len(batch))
	defer r.scratches.Put(before)
	for i, s := range batch {
		rec := r.rec(s.row)
		rec.LeaseExpiresOn, rec.Abandoned = time.Time{}, false
		rows[i], before.rows[i] = s.row, *s.row
	}
	err = r.store.InTx(ctx, func(tx storage.Tx) error {
		for i := range rows {
			*rows[i] = before.rows[i] // the transaction may run again
		}
		var applied []*R
		if stale, applied, err = r.save(ctx, tx, rows, patient); err != nil {
			return err
		}
		if err := r.settled(ctx, tx, rows, stale, applied); err != nil {
			return err
		}
		return r.dispatch(ctx, tx, batch, stale)
	})
	if err != nil {
		for i := range rows {
			*rows[i] = before.rows[i]
		}
	}
	return stale, err
}

// copies are rows as they were before a transaction or a handler, kept to be used again.
type copies[R any] struct{ rows []R }

// of are the copies of some of the rows that they were made of, in the same order.
func (c *copies[R]) of(rows, some []*R) []R {
	var out []R
	for i, row := range rows {
		if len(out) < len(some) && row == some[len(out)] {
			out = append(out, c.rows[i])
		}
	}
	return out
}

func (r *runner[R, A]) scratch(n int) *copies[R] {
	c, ok := r.scratches.Get().(*copies[R])
	if !ok || cap(c.rows) < n {
		c = &copies[R]{make([]R, 1<<bits.Len(uint(max(n-1, 0))))}
	}
	c.rows = c.rows[:n]
	return c
}

// save writes the rows and returns the places of the stale ones, and the rows
// into which it brought what those knew.
func (r *runner[R, A]) save(ctx context.Context, tx storage.Tx, rows []*R, patient bool) (map[int]bool, []*R, error) {
	err := r.spec.Table.Settle(ctx, tx, rows...)
	var stale *storage.StaleError
	if !errors.As(err, &stale) {
		return nil, nil, err
	}
	found := make([]*R, len(stale.Rows))
	for i, n := range stale.Rows {
		found[i] = rows[n]
	}
	stored, err := load(ctx, tx, r.spec.Table, found)
	if err != nil {
		return nil, nil, err
	}
	mine, lost, err := r.remind(ctx, tx, rows, stale.Rows, stored, patient)
	if err != nil {
		return nil, nil, err
	}
	applied, err := r.applyLate(ctx, tx, mine, stored)
	return lost, applied, err
}

// remind writes again what the database has forgotten: it has a lower version of the row
// than was claimed, so no other process has written it since. It returns the other stale rows, and
// their places.
func (r *runner[R, A]) remind(ctx context.Context, tx storage.Tx, rows []*R, stale []int, stored map[int64]*R, patient bool) (mine []*R, lost map[int]bool, err error) {
	var forgotten []*R
	lost = make(map[int]bool, len(stale))
	for _, n := range stale {
		s, m := stored[r.rec(rows[n]).ID], r.rec(rows[n])
		if s == nil || r.rec(s).Version >= m.Version {
			lost[n], mine = true, append(mine, rows[n])
			continue
		}
		m.Version = r.rec(s).Version
		forgotten = append(forgotten, rows[n])
	}
	switch {
	case len(forgotten) == 0:
		return mine, lost, nil
	case patient:
		return nil, nil, errBehind
	}
	r.o.Logger.ErrorContext(ctx, "belfry: the database has forgotten what was committed: results of finished calls are written again", "pass", r.spec.Name, "rows", len(forgotten))
	return mine, lost, r.spec.Table.Settle(ctx, tx, forgotten...)
}

// errBehind is what a database comes to whose row has a lower version than was seen: a
// primary that another has replaced, and that does not know it yet; or it has forgotten
// what was committed.
var errBehind = fmt.Errorf("work: the database is behind what this process has seen committed: %w", storage.ErrUnavailable)

// applyLate brings the facts of stale rows into what others wrote. A claim that is
// still ours ends here: its lease is cleared, and a row that is still busy is
// given back.
func (r *runner[R, A]) applyLate(ctx context.Context, tx storage.Tx, mine []*R, stored map[int64]*R) ([]*R, error) {
	var save []*R
	for _, m := range mine {
		s := stored[r.rec(m).ID]
		if s == nil {
			continue
		}
		rec := r.rec(s)
		held := rec.ClaimToken == r.rec(m).ClaimToken && !rec.LeaseExpiresOn.IsZero()
		changed := r.spec.ApplyLate != nil && r.spec.ApplyLate(s, m, held)
		if held {
			rec.LeaseExpiresOn, rec.Abandoned = time.Time{}, false
			if !changed && r.spec.Busy != "" && rec.Status == r.spec.Busy {
				r.spec.Release(r.now(), s)
			}
		}
		if held || changed {
			save = append(save, s)
		}
	}
	return save, r.spec.Table.Save(ctx, tx, save...)
}

// settled tells the owner of what was written.
func (r *runner[R, A]) settled(ctx context.Context, tx storage.Tx, rows []*R, lost map[int]bool, written []*R) error {
	if r.spec.Settled == nil {
		return nil
	}
	for i, row := range rows {
		if !lost[i] {
			written = append(written, row)
		}
	}
	if len(written) == 0 {
		return nil
	}
	return r.spec.Settled(ctx, tx, written)
}

func (r *runner[R, A]) dispatch(ctx context.Context, tx storage.Tx, batch []settled[R, A], lost map[int]bool) error {
	if r.spec.Dispatch == nil {
		return nil
	}
	done := make([]Done[R, A], 0, len(batch))
	for i, s := range batch {
		if s.dispatch && !lost[i] {
			done = append(done, Done[R, A]{s.row, s.result})
		}
	}
	if len(done) == 0 {
		return nil
	}
	return r.spec.Dispatch(ctx, tx, done)
}

// coalesce is how long a settled row waits for others to share its transaction.
const coalesce = 5 * time.Millisecond

// settling is how many transactions may settle at once: while one waits for the
// disk, the next is prepared. The second is begun for a full batch only, so that
// rows wait for company rather than take a transaction each.
const settling = 2

// settler lands the outcomes of a session in batches.
type settler[R, A any] struct {
	r       *runner[R, A]
	s       *session[R, A]
	pending []settled[R, A]
	weight  int // of pending
	open    int // groups launched and not reported
	busy    int // transactions under way
	landed  chan Report
	rep     Report // of what was reported and has landed
	timer   *clock.Timer
	waited  bool // the first of pending has waited long enough
}

func (r *runner[R, A]) newSettler(s *session[R, A]) *settler[R, A] {
	return &settler[R, A]{r: r, s: s, landed: make(chan Report)}
}

// run goes on until everything that was launched has landed, or the waiting has ended.
func (w *settler[R, A]) run(ctx context.Context, launched <-chan int, quiet chan<- struct{}) {
	defer close(quiet)
	w.timer = w.r.mono.Timer(coalesce)
	defer w.timer.Stop()
	for launched != nil || w.open > 0 || w.busy > 0 || len(w.pending) > 0 {
		select {
		case n, ok := <-launched:
			if !ok {
				launched = nil
			}
			w.open += n
		case o := <-w.s.out:
			if !o.more {
				w.open--
			}
			w.rep = w.rep.Add(o.rep)
			w.add(o.rows)
		case <-w.timer.C:
			w.waited = true
		case <-w.s.soon:
			w.waited = true
		case rep := <-w.landed:
			w.busy--
			w.rep = w.rep.Add(rep)
		case <-w.s.closed:
			return
		}
		for w.full() {
			w.flush(ctx)
		}
	}
}

func (w *settler[R, A]) add(rows []settled[R, A]) {
	if len(w.pending) == 0 {
		w.waited = false
		w.timer.Reset(coalesce)
	}
	w.pending = append(w.pending, rows...)
	w.weight += w.r.sizeOf(rows)
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
	return w.busy == 0 && (w.waited || w.open == 0 && !w.r.full.Load())
}

func (w *settler[R, A]) flush(ctx context.Context) {
	n := w.r.fitting(w.pending)
	batch := w.pending[:n:n]
	w.pending = w.pending[n:]
	w.weight -= w.r.sizeOf(batch)
	w.busy++
	go func() {
		var rep Report
		w.r.settle(ctx, batch, &rep)
		select {
		case w.landed <- rep:
		case <-w.s.closed:
		}
	}()
}
