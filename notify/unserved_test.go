package notify_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// sweeps lets so much time pass, in which processes look for what nobody serves.
func (h *host) sweeps(during time.Duration, processes ...*host) {
	h.t.Helper()
	for end := h.clk.Now().Add(during); h.clk.Now().Before(end); h.clk.Add(15 * time.Minute) {
		for _, p := range processes {
			p.run("notify.unserved")
		}
	}
}

// unservedAt brings a message to where only a process that lacks something is left, and
// gives that process.
var unservedAt = map[string]func(h *host) *host{
	"notification_scheduler": func(h *host) *host {
		h.dispatch(visit("7", person("sam")))
		return h.unaware()
	},
	"notification_job": func(h *host) *host {
		h.dispatch(visit("7", person("sam")))
		p := h.unaware()
		p.Register(notify.Type{Name: "visit"}) // it cannot render it
		p.run("notify.scheduler")
		return p
	},
	"messaging_job": func(h *host) *host {
		h.plan("spring", h.audience(person("sam")))
		p := h.unaware()
		p.Register(notify.Type{Name: "visit"})
		p.run("notify.scheduler")
		return p
	},
	"outgoing_message": func(h *host) *host {
		h.dispatch(visit("7", person("sam")))
		p := h.unaware()
		p.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		p.run("notify.scheduler")
		p.run("notify.generator")
		return p
	},
}

// What no process serves shows in Health, is on hold with a reason after an hour, and goes
// on by itself when a process that serves it is there.
func TestWhatNobodyServesIsHeldAndGoesOn(t *testing.T) {
	for table, begin := range unservedAt {
		t.Run(table, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				made := h.clk.Now().UTC()
				p := begin(h)
				h.sweeps(45*time.Minute, p)
				p.run("notify.unserved")
				if due := p.health(storage.Everywhere()).Unserved(); len(due) != 1 || due[0].Table != table || due[0].Rows != 1 {
					t.Fatalf("before: %v", p.health(storage.Everywhere()))
				}
				h.sweeps(30*time.Minute, p)
				got := p.health(storage.Everywhere())
				want := []health.Count{{Table: table, Reason: reasons.Unserved, Rows: 1, OldestOn: made}}
				h.same("holds", want, got.Holds)
				h.same("due", 0, len(got.Due))
				h.drain()
				if len(h.sent()) != 1 || len(h.health(storage.Everywhere()).Holds) != 0 {
					t.Errorf("sent %v: %v", h.sent(), h.health(storage.Everywhere()))
				}
			})
		})
	}
}

// A process that has the type and has not come to its row keeps the others from holding
// it, and so does an outage in which nobody looked.
func TestABacklogIsNotWhatNobodyServes(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		h.sweeps(4*time.Hour, h, h.unaware())
		h.clk.Add(24 * time.Hour)
		h.sweeps(45*time.Minute, h.unaware())
		h.same("holds", 0, len(h.health(storage.Everywhere()).Holds))
	})
}

// What a worker has left behind whom nobody follows is in doubt like any other.
func TestWhatADeadSenderLeavesToNobodyIsInDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")))
		h.run("notify.scheduler")
		h.run("notify.generator")
		h.dieCalling()
		h.sweeps(2*time.Hour+30*time.Minute, h.unaware())
		if m := h.status(notify.StatusOutcomeUnknown); m.ReasonCode != reasons.LeaseLost || !m.LeaseExpiresOn.IsZero() {
			t.Errorf("%+v", m)
		}
	})
}

// A message that was held for as long as it is valid is not sent when its channel is back.
func TestWhatWasHeldForLongIsStale(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		p := unservedAt["outgoing_message"](h)
		h.sweeps(90*time.Minute, p)
		h.clk.Set(storetest.Start.AddDate(0, 0, 8))
		h.drain()
		if m := h.status(notify.StatusExpired); len(h.sent()) != 0 || m.IsOnSupportHold {
			t.Errorf("sent %v: %+v", h.sent(), m)
		}
	})
}

// A poll does not wait for the sweep of another.
func TestAPollDoesNotWaitForTheSweepOfAnother(t *testing.T) {
	t.Parallel()
	begun, let := make(chan struct{}), make(chan struct{})
	store := &storetest.Spy{Store: memory.New(nil), Hook: func(c storetest.Call) error {
		if c.Verb == storetest.Begin && c.Number == 1 {
			close(begun)
			<-let
		}
		return nil
	}}
	sweeps := notify.New(store, nil).Passes()[0].Runner(work.Options{})
	var both sync.WaitGroup
	poll := func() {
		if _, err := sweeps.Poll(t.Context(), 10); err != nil {
			t.Error(err)
		}
	}
	both.Go(poll)
	<-begun
	poll() // ends
	close(let)
	both.Wait()
}

// Where others are quicker with a whole page, the sweep leaves the rest to them.
func TestASweepThatFreedNothingEnds(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		all := make([]notify.OutgoingMessage, 1000)
		for i := range all {
			all[i] = notify.OutgoingMessage{Channel: "sms:other", PartitionKey: "a", NotificationType: "visit", RecipientRef: fmt.Sprint(i), Address: "+9647700000002"}
		}
		if _, err := h.EnsureOutgoingMessage(t.Context(), nil, all...); err != nil {
			t.Fatal(err)
		}
		h.sweeps(45*time.Minute, h)
		h.clk.Add(30 * time.Minute)
		outrun := &storetest.Spy{Store: h.store, Hook: func(c storetest.Call) error {
			if c.Verb != storetest.Update || c.Table != "outgoing_message" {
				return nil
			}
			stale := &storage.StaleError{}
			for i := range c.Rows {
				stale.Rows = append(stale.Rows, i)
			}
			return stale
		}}
		_, err := notify.New(outrun, nil).Passes()[0].Runner(work.Options{}).Poll(t.Context(), 10)
		if n := outrun.Begun(); err != nil || n > 20 {
			t.Errorf("%v after %d transactions", err, n)
		}
	})
}
