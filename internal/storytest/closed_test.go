package storytest

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// awake is a store on whose mock clock a poller runs.
type awake struct {
	storage.Store
	clk *clock.Mock
}

func (a awake) Clock() driver.Clock { return storetest.Awake(a.clk) }

// A host that closes its database, and goes on, hears of it once: the poller ends.
func TestAPollerEndsWhenItsDatabaseIsClosed(t *testing.T) {
	each(t, func(w *world) {
		var polls atomic.Int32
		store := &storetest.Spy{Store: awake{w.store, w.clk}, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Next && polls.Add(1) == 30 {
				return w.store.(interface{ Close() error }).Close()
			}
			return nil
		}}
		p := belfry.NewPoller(store, &belfry.Options{Logger: quiet}, w.program(store).services()...)
		err := p.Run(w.Context())
		if !errors.Is(err, storage.ErrClosed) || !strings.Contains(err.Error(), "the database handle was closed while the poller ran") {
			w.Error(err)
		}
		if err := p.Drain(w.Context()); !errors.Is(err, storage.ErrClosed) {
			w.Errorf("Drain: %v", err)
		}
	})
}
