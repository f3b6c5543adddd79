package postgres

import (
	"context"
	"testing"
	"time"
)

// Trap 2: a context does not bound a call in a network black hole.

// patience is how long a call of a test may take before it is given up for dead.
const patience = 3 * time.Second

// short is the time that the calls of a test have.
const short = 200 * time.Millisecond

func TestTrap2DriverHangsInABlackHole(t *testing.T) {
	t.Parallel()
	dsn, proxy := viaProxy(t, emptyDSN(t))
	db := rawPool(t, dsn)
	exec(t, db, "SELECT 1")
	proxy.Blackhole()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	returned := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(ctx, "SELECT 1")
		returned <- err
	}()
	dead, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case err := <-returned:
		t.Errorf("the driver returned (%v); the trap is gone", err)
	case <-dead.Done():
	}
	proxy.Resume()
	t.Log(<-returned)
}
