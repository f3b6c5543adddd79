package notify_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// asking has a type whose revalidator answers with *v and *err.
func (h *host) asking(v *notify.Verdict, err *error) *int {
	h.t.Helper()
	asked := new(int)
	h.Register(notify.Type{Name: "asked", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(func(_ context.Context, j notify.Job) (notify.Verdict, error) {
		*asked++
		if j.SourceKey != "visit:7" {
			h.t.Errorf("asked about %q", j.SourceKey)
		}
		return *v, *err
	})})
	job := visit("7", person("sam"))
	job.Type = "asked"
	h.answer = failing(notify.Transient("busy", 0, nil))
	h.dispatch(job)
	h.drain()
	if h.status(notify.StatusRetryReady); *asked != 0 {
		h.t.Fatalf("asked %d times before the first try", *asked)
	}
	h.answer = nil
	return asked
}

func (h *host) nextTry() {
	h.t.Helper()
	h.clk.Set(h.status(notify.StatusRetryReady).DueOn)
	h.drain()
}

func TestARetriedMessageGoesOutOnlyIfItIsStillWanted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var v notify.Verdict
		var err error
		asked := h.asking(&v, &err)

		v = notify.Defer(h.clk.Now().Add(time.Hour), "QuietHours")
		h.nextTry()
		if m := h.status(notify.StatusRetryReady); m.ReasonCode != "QuietHours" || m.RetryCount != 1 || m.Calls != 1 {
			t.Fatalf("deferred message is %+v", m)
		}
		v, err = notify.Verdict{}, errors.New("source away")
		h.nextTry()
		if m := h.status(notify.StatusRetryReady); m.ReasonCode != notify.ReasonRevalidation || m.RetryCount != 2 || m.Calls != 1 {
			t.Fatalf("unanswered message is %+v", m)
		}
		v, err = notify.Skip("SourceNoLongerValid"), nil
		h.nextTry()
		if m := h.status(notify.StatusSkipped); m.ReasonCode != "SourceNoLongerValid" || !m.DueOn.IsZero() || m.EndedOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
		if len(h.sent()) != 1 || *asked != 3 {
			t.Errorf("%d calls, asked %d times", len(h.sent()), *asked)
		}
	})
}

func TestARetriedMessageThatIsStillWantedGoesOut(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var v notify.Verdict
		var err error
		h.asking(&v, &err)
		h.nextTry()
		h.status(notify.StatusSentToProvider)
	})
}

func TestAMessageNobodyCanAskAboutIsHeldInTheEnd(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		var v notify.Verdict
		err := errors.New("source away")
		h.asking(&v, &err)
		for range 3 {
			h.nextTry()
		}
		m := h.status(notify.StatusRetryReady)
		h.same("hold", notify.SupportHold{true, notify.HoldRetries}, m.SupportHold)
		if !m.DueOn.IsZero() || m.Calls != 1 {
			t.Errorf("message is %+v", m)
		}
		v, err = notify.Skip("SourceNoLongerValid"), nil
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactOutgoingMessage, m.Key, support); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSkipped) // asked again, though a person released it
	})
}

func TestARevalidatorThatAnswersTooLittleIsAFailure(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.Register(notify.Type{Name: "mute", Renderer: visitTemplate, Revalidator: mute{}})
		job := visit("7", person("sam"))
		job.Type = "mute"
		h.answer = failing(notify.Transient("busy", 0, nil))
		h.dispatch(job)
		h.drain()
		h.nextTry()
		if m := h.status(notify.StatusRetryReady); m.ReasonCode != notify.ReasonRevalidation || m.Calls != 1 {
			t.Errorf("message is %+v", m)
		}
	})
}

type mute struct{}

func (mute) Revalidate(context.Context, []notify.Job) ([]notify.Verdict, error) { return nil, nil }
