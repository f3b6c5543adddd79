package gate

import (
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

const channelKey = "email:test"

// policies asks single gates over a store; no notifier has a part in it.
type policies struct {
	t     testing.TB
	store storage.Store
	clk   *clock.Mock
}

// asked runs a test on every adapter.
func asked(t *testing.T, test func(t *testing.T, h *policies)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		test(t, &policies{t, store, clk})
	})
}

// inMemory is for what does not depend on the adapter.
func inMemory(t *testing.T) *policies {
	t.Helper()
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	return &policies{t, memory.New(&memory.Options{Clock: clk}), clk}
}

func attemptOf(id, recipient string, now time.Time) Attempt {
	return Attempt{
		Scope: "tenant", MessageID: id, Number: 1, NotificationType: "visit", Channel: channelKey, Method: "email",
		RecipientRef: recipient, RecipientHash: "hash of " + recipient, Address: recipient + "@example.com", Now: now,
	}
}

// answersOf asks a gate about attempts and gives the reasons, empty for Proceed.
func (h *policies) answersOf(g Gate, a ...Attempt) []string {
	h.t.Helper()
	verdicts, err := g.Ask(h.t.Context(), a)
	if err != nil {
		h.t.Fatal(err)
	}
	out := make([]string, len(verdicts))
	for i, v := range verdicts {
		if v.Action != ActionProceed {
			out[i] = string(v.Action) + " " + v.Reason
		}
	}
	return out
}

// through counts what was let through, and gives the moments of the rest.
func (h *policies) through(g Gate, a []Attempt) (n int, until []time.Time) {
	h.t.Helper()
	verdicts, err := g.Ask(h.t.Context(), a)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Action == ActionProceed {
			n++
		} else {
			until = append(until, v.Until)
		}
	}
	return n, until
}

// all reads every row of a table.
func all[R any](h *policies, table *driver.Table[R]) (out []*R) {
	h.t.Helper()
	err := h.store.InTx(h.t.Context(), func(tx storage.Tx) (err error) {
		out, err = table.Everywhere().Find(h.t.Context(), tx, driver.Query{Limit: 10_000})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func (h *policies) same(what string, want, got any) {
	h.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTheGuardKnowsADomainInEitherScript(t *testing.T) {
	t.Parallel()
	g := newGuardGate(Guard{Allow: []string{"@bücher.example", "Sam@MÜNCHEN.example", "+353871234567"}})
	for address, want := range map[string]bool{
		"kim@xn--bcher-kva.example": true, "sam@xn--mnchen-3ya.example": true, "+353871234567": true, "kim@xn--mnchen-3ya.example": false, "kim@buecher.example": false,
	} {
		if got := g.about(&Attempt{Address: address}).Action == ActionProceed; got != want {
			t.Errorf("%s is let through: %t", address, got)
		}
	}
}
