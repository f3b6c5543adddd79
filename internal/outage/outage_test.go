package outage_test

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/outage"
	"github.com/belfry-go/belfry/storage/memory"
)

// While a channel does not answer it has four calls at a time; an answer of any kind ends
// that.
func TestAChannelThatDoesNotAnswerHasFewCallsAtATime(t *testing.T) {
	t.Parallel()
	w := outage.New(memory.New(nil), slog.New(slog.DiscardHandler), time.Minute)
	at, other := outage.Line{Channel: "email:a"}, outage.Line{Channel: "email:b"}
	limit, now := w.Limit(at), time.Unix(1_700_000_000, 0)
	for i, a := range []outage.Answer{
		{},
		{Class: "Permanent"},
		{Class: "Transient", Named: true},
		{Class: "Transient"},
		{Class: "Permanent", Named: true, Policy: true, Domain: "a.example"},
	} {
		w.Heard(t.Context(), at, now, outage.Answer{Class: "Unknown"}, false)
		if limit() != 4 || w.Limit(other)() != math.MaxInt {
			t.Errorf("%d calls, and %d of another channel", limit(), w.Limit(other)())
		}
		w.Heard(t.Context(), at, now, a, false)
		if limit() != math.MaxInt {
			t.Errorf("answer %d: %d calls", i, limit())
		}
	}
}

// A call about many messages that is not answered is many doubts.
func TestAnUnansweredCallCountsItsMessages(t *testing.T) {
	t.Parallel()
	w := outage.New(memory.New(nil), slog.New(slog.DiscardHandler), time.Minute)
	at, now := outage.Line{Channel: "email:a", Everywhere: true}, time.Unix(1_700_000_000, 0)
	w.Heard(t.Context(), at, now, outage.Answer{Class: "Unknown", Messages: 19}, false)
	if w.Known(at) != nil {
		t.Error("it is out after 19")
	}
	w.Heard(t.Context(), at, now, outage.Answer{Class: "Unknown", Messages: 1}, false)
	if w.Known(at) == nil {
		t.Error("it is not out after 20")
	}
}

// An outage that another process has ended begins anew with the next twenty messages, and
// not with the next one: however this process hears of the end.
func TestTheEndOfAnOutageElsewhereCountsHere(t *testing.T) {
	t.Parallel()
	at := outage.Line{Channel: "email:a", Everywhere: true}
	for name, hear := range map[string]func(w *outage.Watch){
		"by reading": func(w *outage.Watch) {
			if out, err := w.Current(t.Context(), nil); err != nil || len(out) > 0 {
				t.Error(out, err)
			}
		},
		"by a probe": func(w *outage.Watch) {
			if w.Probe(t.Context(), at) {
				t.Error("it has probed a channel that is not out")
			}
		},
	} {
		clk := clock.NewMock()
		clk.Set(time.Unix(1_700_000_000, 0))
		store := memory.New(&memory.Options{Clock: clk})
		log := slog.New(slog.DiscardHandler)
		here, elsewhere := outage.New(store, log, time.Minute), outage.New(store, log, time.Minute)
		here.Heard(t.Context(), at, clk.Now(), outage.Answer{Class: "Unknown", Messages: 20}, false)
		if _, err := elsewhere.Current(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		clk.Add(2 * time.Second)
		elsewhere.Heard(t.Context(), at, clk.Now(), outage.Answer{}, true)
		clk.Add(2 * time.Second)
		hear(here)
		if here.Silent(at) {
			t.Errorf("%s: it is silent", name)
		}
		here.Heard(t.Context(), at, clk.Now(), outage.Answer{Class: "Unknown"}, false)
		if here.Known(at) != nil {
			t.Errorf("%s: one lost answer begins an outage", name)
		}
	}
}
