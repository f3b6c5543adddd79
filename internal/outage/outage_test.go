package outage_test

import (
	"log/slog"
	"math"
	"testing"
	"time"

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
	for i, a := range []outage.Answer{{}, {Class: "Permanent"}, {Class: "Transient", Named: true}} {
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
