package report_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

var errCrash = errors.New("the process is gone")

// crashing is the store of a process that ends at a transaction, before or behind
// its commit.
type crashing struct {
	*storetest.Spy
	left   int // transactions until then
	behind bool
}

func newCrashing(inner storage.Store, left int, behind bool) *crashing {
	c := &crashing{left: left, behind: behind}
	c.Spy = &storetest.Spy{Store: inner, Hook: c.hook}
	return c
}

func (c *crashing) hook(call storetest.Call) error {
	if call.Verb == storetest.Begin {
		c.left--
	}
	switch gone := c.left < 0 || c.left == 0 && !c.behind; {
	case call.Verb == storetest.Begin && gone, call.Verb == storetest.Committed && c.left == 0, call.Verb == storetest.Next && c.left <= 0:
		return errCrash
	}
	return nil
}

// I-10: wherever the process ends that runs a report, another one finishes it: one
// run, one message, or one that is in doubt and held.
func TestI10_AReportSurvivesEveryCrash(t *testing.T) {
	t.Parallel()
	for _, bulk := range []bool{false, true} {
		for _, behind := range []bool{false, true} {
			t.Run(fmt.Sprintf("bulk %v behind %v", bulk, behind), func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					if crashAt(t, n, behind, bulk) {
						t.Logf("%d points", n-1)
						return
					}
				}
			})
		}
	}
}

// crashAt reports whether the process got through before the crash.
func crashAt(t *testing.T, n int, behind, bulk bool) (through bool) {
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	inner := memory.New(&memory.Options{Clock: clk})
	other := newWorld(t, inner, clk, nil)
	other.create(weekly(func(s *report.Subscription) { s.Delivery.Bulk = bulk }))
	store := newCrashing(inner, n, behind)
	w := newWorld(t, store.Spy, clk, nil)
	clk.Set(at(3, 2, 9, 0))
	err := w.newPoller(50 * time.Millisecond).Drain(w.ctx)
	for range 12 {
		other.pollAt(clk.Now().Add(20 * time.Minute))
	}
	if runs := other.runs("g-1"); len(runs) != 2 || runs[1][:len("scheduled:2026-03-02T09:00:00Z Completed")] != "scheduled:2026-03-02T09:00:00Z Completed" {
		t.Fatalf("crash %d: %v", n, runs)
	}
	messages, _, found := other.reports.Messages(other.ctx, "", monday, storage.Page{})
	if found != nil || len(messages) != 1 {
		t.Fatalf("crash %d: %+v %v", n, messages, found)
	}
	sent := len(w.sent) + len(other.sent)
	if doubt := messages[0].Status == notify.StatusOutcomeUnknown; sent != 1 && !doubt || sent > 1 {
		t.Fatalf("crash %d: sent %d, %+v", n, sent, messages[0])
	}
	return err == nil && store.left > 0
}
