package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// forgetful is a store whose database has forgotten what was done by some moment, which a
// person has released.
type forgetful struct {
	storage.Store
	loss driver.Loss
}

func (f *forgetful) Identity(context.Context) (storage.Identity, error) {
	return storage.Identity{StopOnLoss: true, Loss: f.loss}, nil
}

// beforeAsked has a message ready about which the database is asked before it is sent.
func (h *host) beforeAsked(store storage.Store) *storetest.Spy {
	h.t.Helper()
	spy := &storetest.Spy{Store: store}
	h.store = spy
	h.with(nil, h.provider)
	h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (gate.Verdict, error) {
		return gate.Proceed(), nil
	})})
	job := visit("7", person("sam"))
	job.Type = "asked"
	h.dispatch(job)
	h.run("notify.scheduler")
	h.run("notify.generator")
	return spy
}

// away loses the database when it is asked about jobs.
func away(c storetest.Call) error {
	if c.Verb == storetest.Get && c.Table == notify.Jobs.Name {
		return storage.ErrUnavailable
	}
	return nil
}

// What may have been sent, as far as the database remembers, is in doubt also where it was
// given back in between.
func TestWhatTheDatabaseHasForgottenIsInDoubtWhenItWasGivenBack(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("old", "kim"))
		h.clk.Add(time.Hour)
		now := h.clk.Now()
		lost := driver.Loss{From: now.Add(-time.Minute), Until: now, NoticedOn: now, ReleasedOn: now}
		h.clk.Add(time.Hour)
		spy := h.beforeAsked(&forgetful{h.store, lost})
		spy.SetHook(away)
		h.run("notify.distributor")
		spy.SetHook(nil)
		h.clk.Add(time.Minute)
		h.run("notify.distributor")
		if m := h.row("old"); m.Status != notify.StatusOutcomeUnknown || m.ReasonCode != reasons.Forgotten {
			t.Errorf("%+v", m)
		}
		if sent := h.sent(); len(sent) != 1 || sent[0].Name != "sam" {
			t.Errorf("sent %+v", sent)
		}
	})
}

// So it is where the sender died, and the pass over channels without one takes it over.
func TestWhatTheDatabaseHasForgottenIsInDoubtWhereNobodyServesIt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.claim([]string{notify.StatusCreated}, notify.StatusSending)
		h.clk.Add(time.Hour)
		now := h.clk.Now()
		lost := driver.Loss{From: now.Add(-2 * time.Hour), Until: now, NoticedOn: now, ReleasedOn: now}
		p := newHost(t, &forgetful{h.store, lost}, h.clk, h.provider)
		p.run("notify.distributor")
		h.sweeps(3*time.Hour, p)
		if m := h.status(notify.StatusOutcomeUnknown); m.ReasonCode != reasons.Forgotten {
			t.Errorf("%+v", m)
		}
	})
}

// A group may be of messages that have ended already and others that the database is asked
// about: while it is away all of them are given back.
func TestAGroupIsGivenBackOfWhichSomeHaveEnded(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		spy := h.beforeAsked(h.store)
		h.ensure(letter("late", "kim", func(m *notify.OutgoingMessage) { m.ValidUntil = h.clk.Now().Add(time.Hour) }))
		h.clk.Add(2 * time.Hour)
		spy.SetHook(away)
		h.run("notify.distributor")
		if m := h.row("late"); m.Status != notify.StatusRetryReady || m.ReasonCode != "" {
			t.Errorf("given back: %+v", m)
		}
		spy.SetHook(nil)
		h.clk.Add(time.Minute)
		h.drain()
		if m := h.row("late"); m.Status != notify.StatusExpired {
			t.Errorf("late: %+v", m)
		}
		if sent := h.sent(); len(sent) != 1 || sent[0].Name != "sam" {
			t.Errorf("sent %+v", sent)
		}
	})
}

// So it is where a loss is found while the message is looked at, and a gate defers it: after
// that nothing would show that it was due before.
func TestWhatIsDeferredAsALossIsFoundIsInDoubt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("old", "kim"))
		h.clk.Add(time.Hour)
		now := h.clk.Now()
		h.store = &forgetful{Store: h.store}
		later := gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) {
			h.store.Losses().Note(driver.Loss{From: now.Add(-time.Minute), Until: now, NoticedOn: now})
			return gate.Defer(now.Add(time.Hour), "later"), nil
		})
		h.with(&notify.Options{Gates: []gate.Gate{later}}, h.provider)
		h.run("notify.distributor")
		if m := h.row("old"); m.Status != notify.StatusOutcomeUnknown || m.ReasonCode != reasons.Forgotten {
			t.Errorf("%+v", m)
		}
	})
}
