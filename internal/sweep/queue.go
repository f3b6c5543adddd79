package sweep

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

const (
	look  = time.Minute      // how often a process asks whether something is due
	again = 15 * time.Minute // how soon a step that failed is tried again
	// pace is the pause after a page, by the machine's clock, in which the database tidies
	// up behind it.
	pace = 50 * time.Millisecond
)

// realClock paces what a mock clock must not stop.
var realClock = clock.New()

// queue are rows each of which says how far one walk has come, and by DueOn when to go on.
// Any number of processes may go on with one: a page is written in one transaction with
// the row, which only one of them can write.
type queue[P any] struct {
	name  string
	store storage.Store
	rows  *driver.Table[P]
	// prepare makes the rows; nil: others do.
	prepare func(context.Context) error
	// mine reports whether this process can go on with a walk.
	mine func(*P) bool
	// step takes a page of a walk; an ErrStale if another process has continued it.
	step   func(context.Context, *P) error
	logger *slog.Logger
	lookOn atomic.Pointer[time.Time] // it asks for nothing before; nil: it has not asked yet
}

// Poll takes one step in each walk that is due. Once there is none it asks for nothing for
// a minute.
func (q *queue[P]) Poll(ctx context.Context) (report work.Report, err error) {
	now := q.store.Clock().Now()
	if on := q.lookOn.Load(); on != nil && now.Before(*on) {
		return report, nil
	}
	due, err := q.due(ctx)
	if err != nil {
		return report, err
	}
	var errs []error
	for _, p := range due {
		if !q.mine(p) {
			continue
		}
		report.Claimed++
		switch err := q.step(ctx, p); {
		case err == nil:
			report.Settled++
		case overtaken(err):
			report.Stale++
		default:
			report.Failed++
			q.postpone(ctx, p)
			errs = append(errs, err)
		}
	}
	if report.Settled == 0 {
		on := now.Add(look)
		q.lookOn.Store(&on)
	}
	return report, errors.Join(errs...)
}

// overtaken reports whether another process has continued a walk.
func overtaken(err error) bool { return errors.Is(err, storage.ErrStale) }

// due are the walks to go on with, the longest waiting first.
func (q *queue[P]) due(ctx context.Context) (out []*P, err error) {
	if q.prepare != nil {
		if err := q.prepare(ctx); err != nil {
			return nil, err
		}
	}
	err = q.store.View(ctx, func(from driver.Reader) (err error) {
		out, err = q.rows.Everywhere().Find(ctx, from, driver.Query{
			Where: []driver.Cond{driver.Eq("lane", storage.LaneNormal), driver.AtMost("due_on", driver.Now(q.store))}, OrderBy: "due_on", Limit: 1000,
		})
		return err
	})
	return out, err
}

// postpone tries a step that failed later, if the database lets it.
func (q *queue[P]) postpone(ctx context.Context, p *P) {
	_ = q.store.InTx(ctx, func(tx storage.Tx) error {
		later := *p // the transaction may run again
		q.rows.DueOf(&later).DueOn = driver.Now(q.store).Add(again)
		return q.rows.Save(ctx, tx, &later)
	})
}

// commit writes what a step found, and the place behind it, as behind makes it of what was
// done: an ErrStale, and nothing, if another process has been here.
func (q *queue[P]) commit(ctx context.Context, step planned, behind func(applied) P) error {
	return q.store.InTx(ctx, func(tx storage.Tx) (err error) {
		var got applied
		if step.write != nil {
			if got, err = step.write(ctx, tx); err != nil {
				return err
			}
		}
		row := behind(got)
		return q.rows.Save(ctx, tx, &row)
	})
}

// Drain goes on for as long as there is something to do now.
func (q *queue[P]) Drain(ctx context.Context) error {
	for {
		report, err := q.Poll(ctx)
		if err != nil || report.Settled == 0 {
			return err
		}
	}
}

// Run looks at once, and then once a minute, and goes on for as long as there is something
// to do.
func (q *queue[P]) Run(ctx context.Context) error {
	for {
		report, err := q.Poll(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			q.logger.WarnContext(ctx, "belfry: poll failed", "pass", q.name, "error", err)
		}
		by, wait := q.store.Clock(), look
		if report.Settled > 0 {
			by, wait = realClock, pace
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-by.After(wait):
		}
	}
}
