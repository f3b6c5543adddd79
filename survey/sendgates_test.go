package survey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/survey"
)

// hostGate answers the same to all, and remembers what it was asked.
type hostGate struct {
	verdict notify.Verdict
	err     error
	asked   []notify.Attempt
}

func (g *hostGate) Ask(_ context.Context, a []notify.Attempt) ([]notify.Verdict, error) {
	g.asked = append(g.asked, a...)
	out := make([]notify.Verdict, len(a))
	for i := range out {
		out[i] = g.verdict
	}
	return out, g.err
}

// A send that is told to wait is due again then, and no try is counted.
func TestAGateLetsASendWait(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		g := &hostGate{verdict: notify.Defer(start.Add(3*time.Hour), "Busy")}
		h.use(survey.Options{HostGates: []notify.Gate{g}}, h.memory())
		id := h.linked(csiGR)
		h.at(0)
		h.at(3*time.Hour - time.Second)
		i := h.status(id, survey.StatusPending)
		if i.Tries != 0 || i.Calls != 0 || i.ReasonCode != "Busy" || !i.DueOn.Equal(start.Add(3*time.Hour)) || len(g.asked) != 1 {
			h.t.Fatalf("asked %d times: %+v", len(g.asked), i)
		}
		g.verdict = notify.Proceed()
		h.at(3 * time.Hour)
		h.status(id, survey.StatusSent)
		a := g.asked[1]
		if a.Number != 1 || a.NotificationType != survey.NotificationType || a.RecipientRef != "cust-123" || a.MessageID != h.sent()[0].ID {
			h.t.Errorf("asked about %+v", a)
		}
	})
}

// A send that is put off for longer than its grace expires unsent.
func TestASendThatWaitsForTooLongExpires(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		g := &hostGate{verdict: notify.Defer(start.Add(40*day), "Busy")}
		h.use(survey.Options{HostGates: []notify.Gate{g}}, h.memory())
		id := h.linked(csiGR)
		h.at(0)
		h.at(30 * day)
		if i := h.status(id, survey.StatusExpired); len(h.sent()) != 0 || i.ReasonCode != survey.ReasonTooLate {
			h.t.Errorf("the row is %+v", i)
		}
	})
}

// A send that is skipped is logged, stops the schedule, and expires later.
func TestAGateSkipsASend(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{HostGates: []notify.Gate{&hostGate{verdict: notify.Skip("NotNow")}}}, h.memory())
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

// A gate that fails lets nothing through.
func TestAGateThatFailsLetsNothingThrough(t *testing.T) {
	for name, g := range map[string]notify.Gate{
		"an error":          &hostGate{err: errors.New("away")},
		"an unknown action": &hostGate{verdict: notify.Verdict{Action: "Perhaps"}},
		"a panic":           notify.GateFunc(func(context.Context, notify.Attempt) (notify.Verdict, error) { panic("a gate") }),
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, nil, func(h *host) {
				h.use(survey.Options{HostGates: []notify.Gate{g}, Logger: quiet()}, h.memory())
				id := h.linked(csiGR)
				h.drain()
				if i := h.status(id, survey.StatusPending); len(h.sent()) != 0 || i.Tries != 1 || i.ReasonCode != survey.ReasonGateFailed {
					h.t.Errorf("%d calls: %+v", len(h.sent()), i)
				}
			})
		})
	}
}

// A pause of package notify holds for links too, and a gate's other address gets
// what it says.
//
//spec:t-085
func TestPausesAndRedirectionsOfNotifyHold(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{Gates: &gate.Options{
			Guard: &gate.Guard{Redirect: map[string]string{"memory": "the desk"}},
		}}, h.memory())
		support := notify.New(h.store, nil)
		extent := notify.Extent{Type: survey.NotificationType}
		if err := support.Support().Pause(h.t.Context(), extent, time.Time{}, someone); err != nil {
			h.t.Fatal(err)
		}
		id := h.linked(csiGR)
		h.at(0)
		h.at(time.Hour)
		if i := h.status(id, survey.StatusPending); i.Tries != 0 || i.ReasonCode != notify.ReasonPaused {
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
//
//spec:t-085
func TestASuppressedAddressGetsNoLink(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, notify.ChannelFunc("sms:test", h.send))
		support := notify.New(h.store, nil)
		err := support.Contacts().Suppress(h.t.Context(), "", notify.Unsubscribe, someone, notify.Destination{Method: "sms", Address: "+9647700000001"})
		if err != nil {
			h.t.Fatal(err)
		}
		id := h.linked(strings.Replace(definition("0d", nil), "memory:default", "sms:test", 1))
		h.drain()
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 0 || i.ReasonCode != notify.ReasonSuppressed {
			h.t.Errorf("%d calls: %+v", len(h.sent()), i)
		}
	})
}
