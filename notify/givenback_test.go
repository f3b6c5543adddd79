package notify_test

import (
	"context"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// A group may be of messages that have ended already and others that the database is asked
// about: while it is away all of them are given back.
func TestAGroupIsGivenBackOfWhichSomeHaveEnded(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		spy := &storetest.Spy{Store: h.store}
		h.store = spy
		h.with(nil, h.provider)
		h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (notify.Verdict, error) {
			return notify.Proceed(), nil
		})})
		job := visit("7", person("sam"))
		job.Type = "asked"
		h.dispatch(job)
		h.run("notify.scheduler")
		h.run("notify.generator")
		h.ensure(letter("late", "kim", func(m *notify.OutgoingMessage) { m.ValidUntil = h.clk.Now().Add(time.Hour) }))
		h.clk.Add(2 * time.Hour)
		spy.SetHook(func(c storetest.Call) error {
			if c.Verb == storetest.Get && c.Table == notify.Jobs.Name {
				return storage.ErrUnavailable
			}
			return nil
		})
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
