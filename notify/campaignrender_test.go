package notify_test

import (
	"context"
	"slices"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

func TestOneWhoCannotBeRenderedStopsNobodyElse(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.moody("p001", "p004")
		h.begin("spring", crowd(6)...)
		h.retype("moody")
		h.drain()
		h.same("messages", map[string]string{
			"p000": "SentToProvider", "p001": "Skipped RenderFailed", "p002": "SentToProvider",
			"p003": "SentToProvider", "p004": "Skipped RenderFailed", "p005": "SentToProvider",
		}, h.outcomes())
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || j.Skipped != 2 || j.Generated != 4 {
			t.Errorf("campaign is %+v", j)
		}
	})
}

// moody registers a type whose renderer fails for some.
func (h *host) moody(refs ...string) (mend func()) {
	broken := refs
	h.Register(notify.Type{Name: "moody", Renderer: notify.RendererFunc(func(_ context.Context, _ notify.Job, r notify.Recipient) (notify.Content, error) {
		if slices.Contains(broken, r.Ref) {
			panic("secret text")
		}
		return notify.Content{Text: "at last"}, nil
	})})
	return func() { broken = nil }
}

// retype gives the single campaign another type.
func (h *host) retype(name string) {
	edit(h, notify.MessagingJobs, func(j *notify.MessagingJobRow) { j.Type = name })
}

func TestAChunkOfWhichNobodyCanBeRenderedIsTriedAgainThenHeld(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		mend := h.moody("p003", "p004", "p005")
		h.begin("spring", crowd(9)...)
		h.retype("moody")
		h.drain()
		for i := range 4 {
			j := h.campaign("spring")
			if j.RetryCount != i+1 || j.Done != 3 || j.ReasonCode != notify.ReasonRenderFailed || len(h.sent()) != 3 {
				t.Fatalf("after failure %d: %+v", i+1, j)
			}
			if i < 3 {
				h.clk.Set(j.DueOn)
				h.drain()
			}
		}
		h.same("hold", notify.SupportHold{true, notify.HoldRetries}, h.campaign("spring").SupportHold)
		mend()
		if err := h.Support().Release(t.Context(), "tenant", notify.ArtifactMessagingJob, "spring", sam); err != nil {
			t.Fatal(err)
		}
		h.drain()
		if j := h.campaign("spring"); j.Status != notify.StatusGenerated || len(h.sent()) != 9 || j.RetryCount != 0 {
			t.Errorf("campaign is %+v, %d calls", j, len(h.sent()))
		}
	})
}

// A template that makes what no channel may send would do so for everybody.
func TestAChunkOfForbiddenContentIsHeldAtOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "forged", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			return notify.Content{Subject: "hello\r\nBcc: everybody@example.com"}, nil
		})})
		h.begin("spring", crowd(4)...)
		h.retype("forged")
		h.drain()
		j := h.campaign("spring")
		h.same("hold", notify.SupportHold{true, notify.HoldRefused}, j.SupportHold)
		if j.Status != notify.StatusFailed || j.Done != 0 || len(all(h, notify.Messages)) != 0 {
			t.Errorf("campaign is %+v", j)
		}
	})
}
