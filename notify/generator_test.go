package notify

import (
	"context"
	"testing"
)

// The generator fails for a while; the job waits and then arrives.
func TestARendererThatFailsIsTriedAgain(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		broken := true
		h.Register(Type{Name: "moody", Renderer: RendererFunc(func(context.Context, Job, Recipient) (Content, error) {
			if broken {
				panic("secret text")
			}
			return Content{Text: "at last"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "moody"
		h.dispatch(job)
		h.drain()
		j := only(h, jobs)
		if j.Status != StatusReady || j.ReasonCode != ReasonRenderFailed || j.RetryCount != 1 {
			t.Fatalf("job is %+v", j)
		}
		broken = false
		h.clk.Set(j.DueOn)
		h.drain()
		h.status(StatusSentToProvider)
	})
}

func TestContentThatNoChannelMaySendFailsAtOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.Register(Type{Name: "forged", Renderer: RendererFunc(func(context.Context, Job, Recipient) (Content, error) {
			return Content{Subject: "hello\r\nBcc: everybody@example.com"}, nil
		})})
		job := visit("7", person("sam"))
		job.Type = "forged"
		h.dispatch(job)
		h.drain()
		j := only(h, jobs)
		h.same("hold", SupportHold{true, HoldRefused}, j.SupportHold)
		if j.Status != StatusFailed || len(all(h, outgoingMessages)) != 0 {
			t.Errorf("job is %s", j.Status)
		}
	})
}

func TestAJobForNobodyIsSkippedWithAReason(t *testing.T) {
	for reason, people := range map[string][]Recipient{
		ReasonNoRecipients:  nil,
		ReasonNoDestination: {{Ref: "sam"}},
	} {
		t.Run(reason, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.dispatch(visit("7", people...))
				h.drain()
				if j := only(h, jobs); j.Status != StatusSkipped || j.ReasonCode != reason {
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
		for _, m := range all(h, outgoingMessages) {
			states[m.RecipientRef] = m.Status + " " + m.ReasonCode
		}
		h.same("messages", map[string]string{"kim": "Skipped BadAddress", "sam": "SentToProvider "}, states)
		if j := only(h, jobs); j.Status != StatusGenerated || j.ReasonCode != ReasonBadAddress {
			t.Errorf("job is %s %s", j.Status, j.ReasonCode)
		}
	})
}
