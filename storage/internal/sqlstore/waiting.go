package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// lockedError says that a database could not be written for as long as its store waits.
// Fewer rows would wait as long, so it is an [driver.ErrUnavailable] too.
type lockedError struct{ waited time.Duration }

func (e *lockedError) Error() string {
	return fmt.Sprintf("the database was locked for %s (Options.BusyTimeout): another process has a transaction open, or this one has (inside InHostTx every call has to be bound, by WithTx)", e.waited)
}

// Is reports that a lockedError is an [driver.ErrBusy].
func (e *lockedError) Is(target error) bool {
	return target == driver.ErrBusy || target == driver.ErrUnavailable
}

// waiting gives the context to wait with for a connection and for a lock. It may end
// before ctx, with a [*lockedError] as its cause; what was begun goes on with ctx.
func (s *Store) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.cfg.BusyTimeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.cfg.BusyTimeout, &lockedError{s.cfg.BusyTimeout})
}

// ended is why ctx has ended: as ctx says it, unless it was one to wait with.
func ended(ctx context.Context) error {
	if locked := (*lockedError)(nil); errors.As(context.Cause(ctx), &locked) {
		return locked
	}
	return ctx.Err()
}
