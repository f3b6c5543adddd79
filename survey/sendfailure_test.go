package survey_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// A first try that fails is made again as the initial send, not as a reminder.
func TestAFailedFirstTryIsNoReminder(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(errors.New("away"))
		id := h.linked(definition("0d", []string{"1d"}))
		h.drain()
		h.fails(nil)
		h.at(50 * time.Second)
		if n := len(h.sent()); n != 1 {
			h.t.Fatalf("%d calls before the back-off is over", n)
		}
		h.at(2 * time.Minute)
		sent := h.sent()
		if len(sent) != 2 || sent[0].ID != sent[1].ID || sent[1].Text != sent[0].Text || sent[1].Metadata["ordinal"] != "0" || sent[1].Attempt != 2 {
			h.t.Fatalf("sent %+v", sent)
		}
		i := h.status(id, survey.StatusSent)
		if i.SendOrdinal != 1 || i.Tries != 0 || !i.NextSendOn.Equal(h.clock.Now().Add(day)) {
			h.t.Errorf("the row is %+v", i)
		}
		if diff := cmp.Diff([]string{"0/1 failed error", "0/2 delivered"}, h.log(id)); diff != "" {
			h.t.Error(diff)
		}
	})
}

// A channel that always fails is tried until the time of the link is over, and the link
// expires. The document's query would have missed it.
func TestALinkWhoseChannelAlwaysFailsExpires(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(errors.New("away"))
		id := h.linked(csiGR)
		for _, after := range []time.Duration{0, 6 * time.Minute, 23 * time.Minute, 90 * time.Minute, 9 * time.Hour, 36 * time.Hour, 5 * day} {
			h.at(after)
		}
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 7 || i.ReasonCode != "error" || i.Tries != 7 {
			h.t.Fatalf("%d calls: %+v", len(h.sent()), i)
		}
		h.at(30*day - time.Second)
		h.status(id, survey.StatusPending)
		calls := len(h.sent())
		h.at(30 * day)
		h.at(31 * day)
		if h.status(id, survey.StatusExpired); len(h.sent()) != calls {
			h.t.Errorf("%d calls after its end", len(h.sent())-calls)
		}
	})
}

// A provider that asks for a longer pause gets it.
func TestAProviderMayAskForALongerPause(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(channel.Transient("throttled", 2*time.Hour, nil))
		id := h.linked(csiGR)
		h.drain()
		h.at(time.Hour)
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 1 || !i.NextTryOn.Equal(start.Add(2*time.Hour)) {
			h.t.Errorf("%d calls, next %v", len(h.sent()), i.NextTryOn)
		}
	})
}

// What would fail in the same way again stops the schedule at once.
func TestARefusalForGoodStopsTheSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		opts   survey.Options
		answer error
		log    string
	}{
		"the provider": {answer: channel.Permanent("550", nil), log: "0/1 refused 550"},
		"the renderer": {
			opts: survey.Options{Renderer: rendererFunc(func(form.LinkData) (form.Parts, error) {
				return form.Parts{}, fmt.Errorf("no text: %w", channel.Permanent("", nil))
			})},
			log: "0/0 refused RenderFailed",
		},
		"a subject of two lines": {
			opts: survey.Options{Renderer: rendererFunc(func(form.LinkData) (form.Parts, error) {
				return form.Parts{Subject: "a\r\nBcc: b", Text: "c"}, nil
			})},
			log: "0/0 refused ContentRefused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, &c.opts, func(h *host) {
				h.fails(c.answer)
				id := h.linked(csiGR)
				h.at(0)
				h.at(day)
				i := h.status(id, survey.StatusPending)
				if !i.NextSendOn.IsZero() || !i.StoppedOn.Equal(start) {
					h.t.Errorf("the row is %+v", i)
				}
				if diff := cmp.Diff([]string{c.log}, h.log(id)); diff != "" {
					h.t.Error(diff)
				}
				h.at(30 * day)
				h.status(id, survey.StatusExpired)
			})
		})
	}
}

// Code of the host that panics fails its own row, and no other.
func TestAPanicFailsItsOwnRow(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{Logger: quiet(), Renderer: rendererFunc(func(d form.LinkData) (form.Parts, error) {
			if d.Value("wip") == "1" {
				panic("a renderer")
			}
			return form.Parts{Text: d.URL}, nil
		})}, through(func(ctx context.Context, m channel.Message) (channel.Receipt, error) {
			if m.Metadata["candidateMetadata"] == `{"wip":"2"}` {
				panic("a channel")
			}
			return h.send(ctx, m)
		}))
		h.publish(definition("0d", nil))
		got := h.ingest(`{"wip":"1"}`, `{"wip":"2"}`, `{"wip":"3"}`)
		h.drain()
		want := [][]string{{"0/0 failed RenderFailed"}, {"0/1 unknown panic", "0/2 unknown panic"}, {"0/1 delivered"}}
		for n, item := range got.Items {
			if diff := cmp.Diff(want[n], h.log(item.Instances[0].PublicID)); diff != "" {
				h.t.Errorf("row %d: %s", n, diff)
			}
		}
	})
}

type rendererFunc func(form.LinkData) (form.Parts, error)

func (f rendererFunc) Render(_ context.Context, d form.LinkData) (form.Parts, error) { return f(d) }

// hostGate answers the same to all, and remembers what it was asked.
type hostGate struct {
	verdict gate.Verdict
	err     error
	asked   []gate.Attempt
}

func (g *hostGate) Ask(_ context.Context, a []gate.Attempt) ([]gate.Verdict, error) {
	g.asked = append(g.asked, a...)
	out := make([]gate.Verdict, len(a))
	for i := range out {
		out[i] = g.verdict
	}
	return out, g.err
}

// gated has the host ask gates.
func (h *host) gated(gates ...gate.Gate) {
	h.sends.Gates = gates
	h.use(survey.Options{}, h.memory())
}

// A send that is told to wait is due again then, and no try is counted.
func TestAGateLetsASendWait(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		g := &hostGate{verdict: gate.Defer(start.Add(3*time.Hour), "Busy")}
		h.gated(g)
		id := h.linked(csiGR)
		h.at(0)
		h.at(3*time.Hour - time.Second)
		i := h.status(id, survey.StatusPending)
		if i.Tries != 0 || i.Calls != 0 || i.ReasonCode != "Busy" || !i.NextTryOn.Equal(start.Add(3*time.Hour)) || len(g.asked) != 1 {
			h.t.Fatalf("asked %d times: %+v", len(g.asked), i)
		}
		g.verdict = gate.Proceed()
		h.at(3 * time.Hour)
		h.status(id, survey.StatusSent)
		a := g.asked[1]
		if a.Number != 1 || a.NotificationType != survey.NotificationType || a.RecipientRef != "cust-123" || a.MessageID != h.sent()[0].ID {
			h.t.Errorf("asked about %+v", a)
		}
	})
}

// A cap counts a link's reminders for what else a customer gets, and not against the link.
func TestACapDoesNotSwallowTheReminderOfALink(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.gated(gate.New(h.store, &gate.Options{Caps: []gate.Cap{{Limit: 1, Per: 20 * day}}})...)
		h.publish(definition("0d", []string{"1d", "1d"}))
		h.ingest()
		h.at(0)
		h.ingest(`{"wip":"2"}`)
		h.at(day)
		h.at(2 * day)
		if sent := h.sent(); len(sent) != 3 || sent[2].Metadata["publicId"] != sent[0].Metadata["publicId"] || sent[2].Metadata["ordinal"] != "2" {
			h.t.Fatalf("sent %+v", sent)
		}
		h.at(21 * day)
		if n := len(h.sent()); n != 3 {
			h.t.Errorf("another link goes out before the cap has room: %d sends", n)
		}
		h.at(22 * day)
		if n := len(h.sent()); n != 4 {
			h.t.Errorf("%d sends when the cap has room", n)
		}
	})
}

// A send that is put off for longer than its grace expires unsent.
func TestASendThatWaitsForTooLongExpires(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		g := &hostGate{verdict: gate.Defer(start.Add(40*day), "Busy")}
		h.gated(g)
		id := h.linked(csiGR)
		h.at(0)
		h.at(30 * day)
		if i := h.status(id, survey.StatusExpired); len(h.sent()) != 0 || i.ReasonCode != reasons.TooLate {
			h.t.Errorf("the row is %+v", i)
		}
	})
}

// A send that is skipped is logged, stops the schedule, and expires later.
func TestAGateSkipsASend(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.gated(&hostGate{verdict: gate.Skip("NotNow")})
		id := h.linked(csiGR)
		h.at(0)
		h.at(day)
		i := h.status(id, survey.StatusPending)
		if diff := cmp.Diff([]string{"0/0 skipped NotNow"}, h.log(id)); diff != "" || !i.NextSendOn.IsZero() {
			h.t.Errorf("%s\n%+v", diff, i)
		}
		h.at(30 * day)
		h.status(id, survey.StatusExpired)
	})
}

// A fail-over counts as no try: a gate that could not be asked is asked a moment later.
func TestADatabaseThatIsAwayIsNoTry(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		g := &hostGate{err: fmt.Errorf("reading: %w", storage.ErrUnavailable)}
		h.gated(g)
		id := h.linked(csiGR)
		h.drain()
		i := h.status(id, survey.StatusPending)
		if i.Tries != 0 || i.ReasonCode != "" || !i.NextTryOn.Equal(h.clock.Now().Add(work.AwayWait)) || len(h.log(id)) != 0 {
			h.t.Errorf("%q, %+v", h.log(id), i)
		}
		g.err, g.verdict = nil, gate.Proceed()
		h.at(work.AwayWait)
		if h.status(id, survey.StatusSent); len(h.sent()) != 1 {
			h.t.Errorf("sent %d times", len(h.sent()))
		}
	})
}

// A gate that fails lets nothing through.
func TestAGateThatFailsLetsNothingThrough(t *testing.T) {
	for name, g := range map[string]gate.Gate{
		"an error":          &hostGate{err: errors.New("away")},
		"an unknown action": &hostGate{verdict: gate.Verdict{Action: "Perhaps"}},
		"a panic":           gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) { panic("a gate") }),
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				h.gated(g)
				id := h.linked(csiGR)
				h.drain()
				if i := h.status(id, survey.StatusPending); len(h.sent()) != 0 || i.Tries != 1 || i.ReasonCode != reasons.GateFailed {
					h.t.Errorf("%d calls: %+v", len(h.sent()), i)
				}
			})
		})
	}
}

// A pause of package notify holds for links too, and a gate's other address gets
// what it says.
func TestPausesAndRedirectionsOfNotifyHold(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.gated(gate.New(h.store, &gate.Options{
			Guard: &gate.Guard{Redirect: map[string]string{"memory": "the desk"}},
		})...)
		support := notify.New(h.store, nil)
		extent := notify.Extent{Type: survey.NotificationType}
		if err := support.Support().Pause(h.t.Context(), extent, time.Time{}, someone); err != nil {
			h.t.Fatal(err)
		}
		id := h.linked(csiGR)
		h.at(0)
		h.at(time.Hour)
		if i := h.status(id, survey.StatusPending); i.Tries != 0 || len(h.sent()) != 0 {
			h.t.Fatalf("the row is %+v", i)
		}
		if err := support.Support().Resume(h.t.Context(), extent, someone); err != nil {
			h.t.Fatal(err)
		}
		h.at(time.Hour + 2*time.Minute)
		if sent := h.sent(); len(sent) != 1 || sent[0].To != "the desk" {
			h.t.Errorf("sent %v", sent)
		}
		h.status(id, survey.StatusSent)
	})
}

// An address that notify knows to be suppressed gets no link, however the event
// has spelt it.
func TestASuppressedAddressGetsNoLink(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, channel.Func("sms:test", h.send))
		support := notify.New(h.store, nil)
		err := support.Contacts().Suppress(h.t.Context(), "", channel.Unsubscribe, someone, notify.Destination{Method: "sms", Address: "+9647700000001"})
		if err != nil {
			h.t.Fatal(err)
		}
		id := h.linked(strings.Replace(definition("0d", nil), "memory:default", "sms:test", 1))
		h.drain()
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 0 || i.ReasonCode != reasons.Suppressed {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}

// buffer is a log that several goroutines write.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// I-29: whatever fails, and whatever it says, the log holds nothing of the
// customer.
func TestI29_TheLogHoldsNothingOfTheCustomer(t *testing.T) {
	const canary = "+964 770 000 0001"
	for name, fault := range map[string]func(*survey.Options, *notify.Options) channel.Channel{
		"a renderer that panics": func(o *survey.Options, _ *notify.Options) channel.Channel {
			o.Renderer = rendererFunc(func(form.LinkData) (form.Parts, error) { panic(canary) })
			return through(nothingSent)
		},
		"a renderer that fails": func(o *survey.Options, _ *notify.Options) channel.Channel {
			o.Renderer = rendererFunc(func(form.LinkData) (form.Parts, error) { return form.Parts{}, errors.New(canary) })
			return through(nothingSent)
		},
		"a gate that fails": func(_ *survey.Options, n *notify.Options) channel.Channel {
			n.Gates = []gate.Gate{&hostGate{err: errors.New(canary)}}
			return through(nothingSent)
		},
		"a channel that panics": func(*survey.Options, *notify.Options) channel.Channel {
			return through(func(context.Context, channel.Message) (channel.Receipt, error) { panic(canary) })
		},
		"a channel that fails": func(*survey.Options, *notify.Options) channel.Channel {
			return through(func(context.Context, channel.Message) (channel.Receipt, error) {
				return channel.Receipt{}, channel.Transient("550", 0, errors.New(canary))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				var log buffer
				o := survey.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
				h.sends.Logger = o.Logger
				c := fault(&o, &h.sends)
				h.use(o, c)
				h.linked(csiGR)
				for n := range 3 {
					h.clock.Set(start.Add(time.Duration(n) * time.Hour))
					if _, err := h.survey.PollOnce(h.t.Context(), 10); err != nil {
						h.t.Fatal(err)
					}
				}
				for _, personal := range []string{canary, "cust-123", "planted-name"} {
					if strings.Contains(log.text.String(), personal) {
						h.t.Errorf("%q in %s", personal, log.text.String())
					}
				}
			})
		})
	}
}

func nothingSent(context.Context, channel.Message) (channel.Receipt, error) {
	return channel.Receipt{}, errors.New("not to be called")
}
