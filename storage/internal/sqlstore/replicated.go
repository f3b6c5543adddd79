package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-go/belfry/storage/driver"
)

// doubt is a question that something raises, and that one transaction answers while the
// others wait.
type doubt struct {
	raised, answered atomic.Int64
	turn             *semaphore.Weighted // of the one who asks
}

func newDoubt() doubt { return doubt{turn: semaphore.NewWeighted(1)} }

func (d *doubt) raise() { d.raised.Add(1) }

// answer asks if there is a doubt. What is raised meanwhile is the next one.
func (d *doubt) answer(ctx context.Context, ask func() error) error {
	if d.raised.Load() == d.answered.Load() {
		return nil
	}
	if err := d.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer d.turn.Release(1)
	raised := d.raised.Load()
	if raised == d.answered.Load() {
		return nil
	}
	err := ask()
	if err == nil {
		d.answered.Store(raised)
	}
	return err
}

// replicated waits until the synchronous standbys have what an unknown commit of this store
// may have left. It comes before each transaction that may acknowledge something: a commit
// that was cut off while it waited for a standby is visible on the primary. A request that
// is repeated finds its rows, writes nothing, and would be acknowledged without a wait.
func (s *Store) replicated(ctx context.Context) error {
	if s.cfg.Dialect.replicated == "" {
		return nil
	}
	if err := s.unreplicated.answer(ctx, func() error { return s.replicate(ctx) }); err != nil {
		return s.failed(ctx, "wait for a standby", err)
	}
	return nil
}

// replicate commits something of no use, and waits for the standbys as each commit does.
func (s *Store) replicate(ctx context.Context) error {
	x, err := s.begun(ctx, s.cfg.Writer, func(c Conn) error {
		_, err := c.Exec(ctx, s.cfg.Dialect.replicated)
		return err
	})
	switch f := (*failure)(nil); {
	case errors.As(err, &f) && f.class == Unknown && ctx.Err() == nil:
		return nil // this role, or this engine, cannot, and never will
	case err != nil:
		return err
	}
	if err = x.Release(false); err != nil {
		return &failure{op: "wait for a standby", class: Connection, means: cmp.Or(ended(ctx), driver.ErrUnavailable), cause: err}
	}
	return nil
}
