package surveytest

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// Advance lets d pass, which may be zero: what is due now is done at once, and what
// becomes due meanwhile at its own moment and in order, as by a program that never
// sleeps. That is every send, reminder and expiry, and every call of a subscriber
// and its repetition. Links of other scopes than the Host's are looked at in the end.
// It ends the test if a poll fails.
func (h *Host) Advance(t TB, d time.Duration) {
	t.Helper()
	end := h.Clock.Now().Add(d)
	for {
		next, err := h.run(context.Background(), end)
		if err != nil {
			t.Fatalf("surveytest: %v", err)
			return
		}
		if next.IsZero() {
			break
		}
		h.Clock.Set(next)
	}
	if h.Clock.Now().Before(end) {
		h.Clock.Set(end)
		h.Advance(t, 0)
	}
}

// run does what is due, and says what is due next until the end; zero: nothing.
func (h *Host) run(ctx context.Context, end time.Time) (time.Time, error) {
	for {
		done, err := h.Surveys.PollOnce(ctx, 1000)
		if err != nil {
			return time.Time{}, err
		}
		if done.Processed == 0 {
			break
		}
	}
	w := window{after: h.Clock.Now(), until: end}
	for p := (survey.Page{}); ; {
		list, next, err := h.Surveys.Surveys(ctx, h.scope, p)
		if err != nil {
			return time.Time{}, err
		}
		for _, s := range list {
			if err := h.dueOf(ctx, s.ID, &w); err != nil {
				return time.Time{}, err
			}
		}
		if next == "" {
			return w.first, nil
		}
		p.After = next
	}
}
