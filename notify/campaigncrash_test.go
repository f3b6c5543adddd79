package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// At each point where a transaction of a campaign can be lost, or only the reply
// to its commit, the next run goes on, and every recipient gets one message.
//
//spec:n-063
func TestACampaignMayLoseAnyCommit(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for point := range 24 {
			guid := fmt.Sprint("spring", point)
			h.begin(guid, crowd(7)...)
			flaky := newFlaky(h.store, point/2, crash{after: point%2 == 1})
			flaky.armed = true
			mine, before := h.Notifier, len(h.sent())
			h.Notifier = notify.New(flaky.Spy, &notify.Options{Logger: quiet}, h.provider)
			h.Register(notify.Type{Name: "visit", Renderer: visitTemplate, InDoubt: notify.Resend})
			h.SetChunk(3)
			for range 6 {
				for _, p := range h.Passes() {
					_, _ = p.Runner(work.Options{Logger: quiet, Lease: time.Second}).Poll(t.Context(), 10)
				}
				h.clk.Add(2 * time.Hour)
			}
			flaky.armed = false
			h.drain()
			h.Notifier = mine
			j := h.campaign(guid)
			if j.Status != notify.StatusGenerated || j.Generated != 7 || j.Repeated != 0 || len(h.sent())-before != 7 {
				t.Errorf("point %d: campaign is %s, %d made, %d twice, %d calls", point, j.Status, j.Generated, j.Repeated, len(h.sent())-before)
			}
		}
	})
}

// killed is a worker that claims the campaign and dies.
func (h *host) killed(guid string) {
	h.t.Helper()
	now := driver.Now(h.store)
	h.inOne(func(tx storage.Tx) error {
		rows, err := notify.MessagingJobs.Claim(h.t.Context(), tx, driver.Claim{
			Statuses: []string{notify.StatusReady}, Busy: notify.StatusGenerating, Now: now, LeaseUntil: now.Add(lease), Token: "dead",
			Lanes: []driver.LaneClaim{{Lane: storage.LaneNormal, Limit: 10}},
		})
		if err == nil && (len(rows) != 1 || rows[0].GUID != guid) {
			err = fmt.Errorf("claimed %d", len(rows))
		}
		return err
	})
}

//spec:f-029
func TestAKilledChunkIsMadeAgainAfterItsLease(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(7)...)
		h.run("notify.campaign")
		h.killed("spring")
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerating || j.Done != 3 {
			t.Fatalf("campaign is %s after %d", j.Status, j.Done)
		}
		h.clk.Add(lease + time.Second)
		h.drain()
		j := h.campaign("spring")
		if j.Status != notify.StatusReady || j.ReasonCode != notify.ReasonLeaseLost || j.LeaseLossCount != 1 {
			t.Fatalf("campaign is %+v", j)
		}
		h.clk.Set(j.DueOn)
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.Generated != 7 || j.Repeated != 0 || len(h.sent()) != 7 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}

// The store refuses the messages of a chunk: its cursor stays in front of them.
//
//spec:f-029
func TestACursorDoesNotMoveWithoutItsMessages(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.begin("spring", crowd(7)...)
		h.run("notify.campaign")
		mine := h.Notifier
		refusing := &storetest.Spy{Store: h.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Insert && c.Table == notify.Messages.Name {
				return errors.New("disk full")
			}
			return nil
		}}
		h.Notifier = notify.New(refusing, &notify.Options{Logger: quiet}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.SetChunk(3)
		h.run("notify.campaign")
		h.Notifier = mine
		j := h.campaign("spring")
		if j.Status != notify.StatusReady || j.Done != 3 || j.RetryCount != 1 || j.ReasonCode != notify.ReasonPassFailed {
			t.Fatalf("campaign is %+v", j)
		}
		h.clk.Set(j.DueOn)
		h.drain()
		if n := len(h.sent()); n != 7 {
			t.Errorf("%d calls", n)
		}
	})
}

// Two processes have the same chunk, since the first was taken for dead: only one
// of them moves the cursor, and counts.
//
//spec:f-025
func TestTheCursorIsFenced(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		taken := false
		h.Register(notify.Type{Name: "slow", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			if !taken { // another process takes over, makes the chunk and goes on
				taken = true
				h.clk.Add(2 * time.Minute)
				h.run("notify.campaign")
				h.clk.Set(h.campaign("spring").DueOn)
				h.run("notify.campaign")
			}
			return notify.Content{Text: "hello"}, nil
		})})
		h.begin("spring", crowd(9)...)
		h.retype("slow")
		h.run("notify.campaign")
		if j := h.campaign("spring"); j.Done != 3 || j.Generated != 3 || j.Status != notify.StatusReady {
			t.Fatalf("campaign is %+v", j)
		}
		h.drain()
		if j := h.campaign("spring"); j.Generated != 9 || j.Done != 9 || j.Repeated != 0 || len(h.sent()) != 9 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}
