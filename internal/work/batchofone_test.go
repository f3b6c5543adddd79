package work_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfry-go/belfry/internal/work"
)

// A poller that claims one row at a time claims all of them, restarts or not.
func TestI14_APollerThatClaimsOneRowAtATimeGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.handle = func(context.Context, work.Item[task]) error {
			pass(300 * time.Millisecond) // so that it starts again before the last row
			return nil
		}
		for i := range 10 {
			b.insert(b.ready(fmt.Sprint("row", i), b.store.Clock().Now()))
		}
		stop := b.run(work.Options{Batch: 1, InFlight: 1})
		pass(10 * time.Second)
		synctest.Wait()
		for i := range 10 {
			b.must(fmt.Sprint("row", i), "Done")
		}
		_ = stop()
	})
}
