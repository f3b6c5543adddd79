package notify_test

import (
	"context"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

// Whatever gates a host has configured, or none.
func TestSuppressionsAndOptOutsHoldWithoutAnyGates(t *testing.T) {
	t.Parallel()
	for name, gates := range map[string]func(storage.Store) []notify.Gate{
		"none": func(storage.Store) []notify.Gate { return nil },
		"a host's own": func(storage.Store) []notify.Gate {
			return []notify.Gate{notify.GateFunc(func(context.Context, notify.Attempt) (notify.Verdict, error) { return notify.Proceed(), nil })}
		},
		"a part": func(s storage.Store) []notify.Gate { return gate.New(s, nil)[3:] },
		"all":    func(s storage.Store) []notify.Gate { return gate.New(s, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				h := newGated(t, store, clk, &notify.Options{Gates: gates(store)})
				if err := h.Contacts().Suppress(t.Context(), "tenant", notify.HardBounce, support, gone); err != nil {
					t.Fatal(err)
				}
				h.prefers(notify.Preference{Scope: "tenant", RecipientRef: "kim", OptedOut: true})
				h.ensure(letter("a", "gone"), letter("b", "kim"), letter("c", "sam"))
				h.drain()
				h.same("sent", map[string]int{"c": 1}, h.texts())
				h.same("gone", notify.ReasonSuppressed, h.row("a").ReasonCode)
				h.same("kim", notify.ReasonOptedOut, h.row("b").ReasonCode)
				asked := map[string]int{}
				for _, g := range h.AskedGates() {
					asked[notify.GateName(g)]++
				}
				h.same("asked", [2]int{1, 1}, [2]int{asked["suppression"], asked["preferences"]})
			})
		})
	}
}
