package notify_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// crm is a subscriber that notes what it is told.
type crm struct {
	mu    sync.Mutex
	heard []notify.StatusChange
	fail  error
}

func (c *crm) Key() string { return "crm" }

func (c *crm) Status(_ context.Context, change notify.StatusChange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, change)
	return c.fail
}

// lines are what was told, as "kind recipient reason", sorted.
func (c *crm) lines() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.heard {
		out = append(out, string(h.Kind)+" "+h.RecipientRef+" "+h.Reason)
	}
	slices.Sort(out)
	return out
}

// heard runs a story on every adapter with a host that has a subscriber.
func heard(t *testing.T, story func(h *host, c *crm)) {
	visits(t, func(_ *testing.T, h *host) {
		c := &crm{}
		h.Subscribe(c)
		h.drain() // from the first poll on everything is kept for it
		story(h, c)
	})
}

func TestTheHostHearsWhatBecameOfMessages(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		h.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
			switch m.Name {
			case "gone":
				return channel.Receipt{}, channel.Permanent("550", nil)
			case "cut":
				return channel.Receipt{}, channel.Unknown("cut", nil)
			}
			return channel.Receipt{ID: "accepted"}, nil
		}
		nowhere := person("nowhere")
		nowhere.Address = "no address"
		h.dispatch(visit("7", person("sam"), person("gone"), person("cut"), nowhere))
		h.drain()
		h.same("changes", []string{"Failed gone 550", "InDoubt cut cut", "Skipped nowhere BadAddress"}, c.lines())
		for _, change := range c.heard {
			if change.Scope != "tenant" || change.Job != (notify.Coordinates{"car-7", visit("7").RowKey}) || change.Channel != channelKey ||
				change.MessageID == "" || !change.On.Equal(storetest.Start) {
				h.t.Errorf("%+v", change)
			}
		}
		h.drain()
		h.same("changes", 3, len(c.heard))
	})
}

// Nobody pays for changes that nobody wants.
func TestWithoutSubscribersNoChangeIsStored(t *testing.T) {
	visits(t, func(_ *testing.T, h *host) {
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{}, channel.Permanent("550", nil)
		}
		h.dispatch(visit("7", person("sam")))
		h.drain()
		c := &crm{}
		h.Subscribe(c)
		h.drain()
		h.same("changes", 0, len(c.heard))
	})
}

func TestADeadLetterIsListedAndReplayed(t *testing.T) {
	heard(t, func(h *host, c *crm) {
		h.answer = func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{}, channel.Permanent("550", nil)
		}
		c.fail = errors.New("down")
		h.dispatch(visit("7", person("sam")))
		for range 12 {
			h.drain()
			h.clk.Add(30 * time.Hour)
		}
		by := notify.By{Actor: "sam", Reason: "it is up again"}
		dead, _, err := h.Support().DeadLetters(h.t.Context(), "tenant", "crm", storage.Page{})
		if err != nil || len(dead) != 1 || dead[0].LastError != "down" || dead[0].Attempts != 9 {
			h.t.Fatalf("%+v, %v", dead, err)
		}
		for scope, want := range map[notify.Scope]int{"elsewhere": 0, "tenant": 1} {
			if n, err := h.Support().ReplayDeadLetters(h.t.Context(), scope, "crm", by, &notify.ActionOptions{DryRun: true}); err != nil || n != want {
				h.t.Errorf("%s: %d, %v", scope, n, err)
			}
		}
		calls := len(c.heard)
		c.fail = nil
		if n, err := h.Support().ReplayDeadLetters(h.t.Context(), "tenant", "crm", by, nil); err != nil || n != 1 {
			h.t.Errorf("%d, %v", n, err)
		}
		h.drain()
		h.same("calls", calls+1, len(c.heard))
	})
}
