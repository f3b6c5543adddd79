package survey_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// A first try that fails is made again as the initial send, not as a reminder.
//
//spec:t-035 t-040
func TestAFailedFirstTryIsNoReminder(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(errors.New("away"))
		id := h.linked(definition("0d", []string{"1d"}))
		h.drain()
		h.fails(nil)
		h.at(4 * time.Minute)
		if n := len(h.sent()); n != 1 {
			h.t.Fatalf("%d calls before the back-off is over", n)
		}
		h.at(6 * time.Minute)
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

// A channel that always fails is given up, and its rows expire. The document's
// query would have missed them.
//
//spec:t-045 t-068
func TestAChannelThatAlwaysFailsIsGivenUpAndExpires(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(errors.New("away"))
		id := h.linked(csiGR)
		var on []time.Duration
		for _, after := range []time.Duration{0, 6 * time.Minute, 23 * time.Minute, 90 * time.Minute, 9 * time.Hour, 36 * time.Hour, 5 * day} {
			before := len(h.sent())
			h.at(after)
			if len(h.sent()) > before {
				on = append(on, after)
			}
		}
		if len(on) != 6 || len(h.sent()) != 6 {
			h.t.Errorf("called after %v", on)
		}
		if i := h.status(id, survey.StatusPending); !i.NextSendOn.IsZero() || i.ReasonCode != "error" || i.Type != "" {
			h.t.Fatalf("the row is %+v", i)
		}
		h.at(30*day - time.Second)
		h.status(id, survey.StatusPending)
		h.at(30 * day)
		h.status(id, survey.StatusExpired)
	})
}

// A provider that asks for a longer pause gets it.
func TestAProviderMayAskForALongerPause(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.fails(notify.Transient("throttled", 2*time.Hour, nil))
		id := h.linked(csiGR)
		h.drain()
		h.at(time.Hour)
		if i := h.status(id, survey.StatusPending); len(h.sent()) != 1 || !i.NextTryOn.Equal(start.Add(2*time.Hour)) {
			h.t.Errorf("%d calls, next %v", len(h.sent()), i.NextTryOn)
		}
	})
}

// What would fail in the same way again stops the schedule at once.
//
//spec:t-068
func TestARefusalForGoodStopsTheSchedule(t *testing.T) {
	for name, c := range map[string]struct {
		opts   survey.Options
		answer error
		log    string
	}{
		"the provider": {answer: notify.Permanent("550", nil), log: "0/1 refused 550"},
		"the renderer": {
			opts: survey.Options{Renderer: rendererFunc(func(form.LinkData) (form.Parts, error) {
				return form.Parts{}, fmt.Errorf("no text: %w", notify.Permanent("", nil))
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
//
//spec:t-067
func TestAPanicFailsItsOwnRow(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{Logger: quiet(), Renderer: rendererFunc(func(d form.LinkData) (form.Parts, error) {
			if d.Value("wip") == "1" {
				panic("a renderer")
			}
			return form.Parts{Text: d.URL}, nil
		})}, channel(func(ctx context.Context, m notify.Message) (notify.Receipt, error) {
			if m.Metadata["candidateMetadata"] == `{"wip":"2"}` {
				panic("a channel")
			}
			return h.send(ctx, m)
		}))
		h.publish(definition("0d", nil))
		got := h.ingest(`{"wip":"1"}`, `{"wip":"2"}`, `{"wip":"3"}`)
		h.drain()
		want := [][]string{{"0/0 failed RenderFailed"}, {"0/1 unknown panic"}, {"0/1 delivered"}}
		for n, item := range got.Items {
			if diff := cmp.Diff(want[n], h.log(item.Instances[0].PublicID)); diff != "" {
				h.t.Errorf("row %d: %s", n, diff)
			}
		}
	})
}

type rendererFunc func(form.LinkData) (form.Parts, error)

func (f rendererFunc) Render(_ context.Context, d form.LinkData) (form.Parts, error) { return f(d) }
