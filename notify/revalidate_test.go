package notify

import (
	"context"
	"errors"
	"testing"
	"time"
)

// asking has a type whose revalidator answers with *v and *err.
func (h *host) asking(v *Verdict, err *error) *int {
	h.t.Helper()
	asked := new(int)
	h.Register(Type{Name: "asked", Renderer: visitTemplate, Revalidator: RevalidatorFunc(func(_ context.Context, j Job) (Verdict, error) {
		*asked++
		if j.SourceKey != "visit:7" {
			h.t.Errorf("asked about %q", j.SourceKey)
		}
		return *v, *err
	})})
	job := visit("7", person("sam"))
	job.Type = "asked"
	h.answer = failing(Transient("busy", 0, nil))
	h.dispatch(job)
	h.drain()
	if h.status(StatusRetryReady); *asked != 0 {
		h.t.Fatalf("asked %d times before the first try", *asked)
	}
	h.answer = nil
	return asked
}

func (h *host) nextTry() {
	h.t.Helper()
	h.clk.Set(h.status(StatusRetryReady).DueOn)
	h.drain()
}

func TestARetriedMessageGoesOutOnlyIfItIsStillWanted(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var v Verdict
		var err error
		asked := h.asking(&v, &err)

		v = Defer(h.clk.Now().Add(time.Hour), "QuietHours")
		h.nextTry()
		if m := h.status(StatusRetryReady); m.ReasonCode != "QuietHours" || m.RetryCount != 1 || m.Calls != 1 {
			t.Fatalf("deferred message is %+v", m)
		}
		v, err = Verdict{}, errors.New("source away")
		h.nextTry()
		if m := h.status(StatusRetryReady); m.ReasonCode != ReasonRevalidation || m.RetryCount != 2 || m.Calls != 1 {
			t.Fatalf("unanswered message is %+v", m)
		}
		v, err = Skip("SourceNoLongerValid"), nil
		h.nextTry()
		if m := h.status(StatusSkipped); m.ReasonCode != "SourceNoLongerValid" || !m.DueOn.IsZero() || m.EndedOn.IsZero() {
			t.Errorf("message is %+v", m)
		}
		if len(h.sent()) != 1 || *asked != 3 {
			t.Errorf("%d calls, asked %d times", len(h.sent()), *asked)
		}
	})
}

func TestARetriedMessageThatIsStillWantedGoesOut(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var v Verdict
		var err error
		h.asking(&v, &err)
		h.nextTry()
		h.status(StatusSentToProvider)
	})
}

func TestAMessageNobodyCanAskAboutIsHeldInTheEnd(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		var v Verdict
		err := errors.New("source away")
		h.asking(&v, &err)
		for range 3 {
			h.nextTry()
		}
		m := h.status(StatusRetryReady)
		h.same("hold", SupportHold{true, HoldRetries}, m.SupportHold)
		if !m.DueOn.IsZero() || m.Calls != 1 {
			t.Errorf("message is %+v", m)
		}
		v, err = Skip("SourceNoLongerValid"), nil
		if err := h.Release(t.Context(), "tenant", ArtifactOutgoingMessage, m.Key, support); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(StatusSkipped) // asked again, though a person released it
	})
}

func TestARevalidatorThatAnswersTooLittleIsAFailure(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		h.Register(Type{Name: "mute", Renderer: visitTemplate, Revalidator: mute{}})
		job := visit("7", person("sam"))
		job.Type = "mute"
		h.answer = failing(Transient("busy", 0, nil))
		h.dispatch(job)
		h.drain()
		h.nextTry()
		if m := h.status(StatusRetryReady); m.ReasonCode != ReasonRevalidation || m.Calls != 1 {
			t.Errorf("message is %+v", m)
		}
	})
}

type mute struct{}

func (mute) Revalidate(context.Context, []Job) ([]Verdict, error) { return nil, nil }
