package notify_test

import (
	"context"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

// The generator fails for a while; the job waits and then arrives.
//
//spec:f-005
func TestARendererThatFailsIsTriedAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		broken := true
		h.Register(notify.Type{Name: "moody", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			if broken {
				panic("secret text")
			}
			return notify.Content{Text: "at last"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "moody"
		h.dispatch(job)
		h.drain()
		j := only(h, notify.Jobs)
		if j.Status != notify.StatusReady || j.ReasonCode != notify.ReasonRenderFailed || j.RetryCount != 1 {
			t.Fatalf("job is %+v", j)
		}
		broken = false
		h.clk.Set(j.DueOn)
		h.drain()
		h.status(notify.StatusSentToProvider)
	})
}

func TestContentThatNoChannelMaySendFailsAtOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(notify.Type{Name: "forged", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			return notify.Content{Subject: "hello\r\nBcc: everybody@example.com"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "forged"
		h.dispatch(job)
		h.drain()
		j := only(h, notify.Jobs)
		h.same("hold", notify.SupportHold{true, notify.HoldRefused}, j.SupportHold)
		if j.Status != notify.StatusFailed || len(all(h, notify.Messages)) != 0 {
			t.Errorf("job is %s", j.Status)
		}
	})
}

//spec:f-041 n-012
func TestAJobForNobodyIsSkippedWithAReason(t *testing.T) {
	for reason, people := range map[string][]notify.Recipient{
		notify.ReasonNoRecipients:  nil,
		notify.ReasonNoDestination: {{Ref: "sam"}},
	} {
		t.Run(reason, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.dispatch(visit("7", people...))
				h.drain()
				if j := only(h, notify.Jobs); j.Status != notify.StatusSkipped || j.ReasonCode != reason {
					t.Errorf("job is %s: %s", j.Status, j.ReasonCode)
				}
			})
		})
	}
}

func TestABadAddressIsKeptAsSkippedAndStopsNobodyElse(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		bad := person("kim")
		bad.Address = "no address\x1b"
		h.dispatch(visit("7", bad, person("sam")))
		h.drain()
		states := map[string]string{}
		for _, m := range all(h, notify.Messages) {
			states[m.RecipientRef] = m.Status + " " + m.ReasonCode
		}
		h.same("messages", map[string]string{"kim": "Skipped BadAddress", "sam": "SentToProvider "}, states)
		if j := only(h, notify.Jobs); j.Status != notify.StatusGenerated || j.ReasonCode != notify.ReasonBadAddress {
			t.Errorf("job is %s %s", j.Status, j.ReasonCode)
		}
	})
}
