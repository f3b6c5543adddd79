package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/belfry-go/belfry/storage/driver"
)

// unreplicated says that the primary may show a commit that no standby has: one that was
// cut off while it waited. A request that is repeated finds its rows, writes nothing, and
// would be acknowledged without a wait.
type unreplicated struct {
	may  atomic.Bool
	turn *semaphore.Weighted // of the one who waits
}

// replicated waits until the synchronous standbys have what an unknown commit of this store
// may have left. It comes before each transaction that may acknowledge something.
func (s *Store) replicated(ctx context.Context) error {
	u := &s.unreplicated
	if s.cfg.Dialect.replicated == "" || !u.may.Load() {
		return nil
	}
	if err := u.turn.Acquire(ctx, 1); err != nil {
		return s.failed(ctx, "wait for a standby", err)
	}
	defer u.turn.Release(1)
	if !u.may.Swap(false) {
		return nil
	}
	err := s.replicate(ctx)
	if err != nil {
		u.may.Store(true)
	}
	return err
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
