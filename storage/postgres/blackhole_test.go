package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/testlevel"
)

// Trap 2: a context does not bound a call in a network black hole.

func TestTrap2DriverHangsInABlackHole(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly) // it shows that nothing comes in three seconds
	dsn, proxy := viaProxy(t, emptyDSN(t))
	db := rawPool(t, dsn)
	exec(t, db, "SELECT 1")
	proxy.Blackhole()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	returned := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(ctx, "SELECT 1")
		returned <- err
	}()
	dead, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	select {
	case err := <-returned:
		t.Errorf("the driver returned (%v); the trap is gone", err)
	case <-dead.Done():
	}
	proxy.Resume()
	t.Log(<-returned)
}
