package notify

import (
	"context"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// Whatever gates a host has configured, or none.
func TestSuppressionsAndOptOutsHoldWithoutAnyGates(t *testing.T) {
	t.Parallel()
	for name, gates := range map[string]func(storage.Store) []Gate{
		"none": func(storage.Store) []Gate { return nil },
		"a host's own": func(storage.Store) []Gate {
			return []Gate{GateFunc(func(context.Context, Attempt) (Verdict, error) { return Proceed(), nil })}
		},
		"a part": func(s storage.Store) []Gate { return Gates(s, nil)[3:] },
		"all":    func(s storage.Store) []Gate { return Gates(s, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				h := newGated(t, store, clk, &Options{Gates: gates(store)})
				if err := h.Suppress(t.Context(), "tenant", HardBounce, support, gone); err != nil {
					t.Fatal(err)
				}
				h.prefers(Preference{Scope: "tenant", RecipientRef: "kim", OptedOut: true})
				h.ensure(letter("a", "gone"), letter("b", "kim"), letter("c", "sam"))
				h.drain()
				h.same("sent", map[string]int{"c": 1}, h.texts())
				h.same("gone", ReasonSuppressed, h.row("a").ReasonCode)
				h.same("kim", ReasonOptedOut, h.row("b").ReasonCode)
				asked := map[string]int{}
				for _, g := range h.gates {
					asked[gateName(g)]++
				}
				h.same("asked", [2]int{1, 1}, [2]int{asked["suppression"], asked["preferences"]})
			})
		})
	}
}
