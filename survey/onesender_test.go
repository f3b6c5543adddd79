package survey_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// A link that comes back stops what else would go to its address, as any mail does.
func TestABouncedLinkSuppressesItsAddress(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, channel.Func("email:test", h.send))
		h.publish(mailed("email:test"))
		id := h.tell("1", ann)
		h.drain()
		_, err := h.out.Track(h.t.Context(), channel.StatusEvent{
			Provider: "test", EventID: "1", Kind: channel.KindBounced, MessageID: h.sent()[0].ID, Lasting: true, Code: "550", On: h.clock.Now(),
		})
		if err != nil {
			h.t.Fatal(err)
		}
		next := h.tell("2", ann)
		h.drain()
		h.at(day)
		if got := h.log(next); !slices.Equal(got, []string{"0/0 skipped Suppressed"}) {
			h.t.Errorf("the next link: %q", got)
		}
		if got := h.log(id); !slices.Equal(got, []string{"0/1 delivered", "1/0 skipped Suppressed"}) {
			h.t.Errorf("its reminder: %q", got)
		}
	})
}

// A callback that says a link was refused after all stops its reminders only where it is of
// the present send.
func TestALinkThatWasRefusedAfterAllIsInTheLog(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{}, channel.Func("email:test", h.send))
		h.publish(mailed("email:test"))
		id := h.tell("1", ann)
		h.drain()
		_, err := h.out.Track(h.t.Context(), channel.StatusEvent{
			Provider: "test", EventID: "1", Kind: channel.KindFailed, MessageID: h.sent()[0].ID, Code: "552", On: h.clock.Now(),
		})
		if err != nil {
			h.t.Fatal(err)
		}
		if got := h.log(id); !slices.Equal(got, []string{"0/1 delivered", "0/1 refused 552"}) {
			h.t.Errorf("%q", got)
		}
		h.status(id, survey.StatusSent)
	})
}

// A link goes by another channel where its first one does not take it.
func TestALinkFailsOver(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		down := channel.Func("email:first", func(context.Context, channel.Message) (channel.Receipt, error) {
			return channel.Receipt{}, channel.Transient("503", 0, nil).Blame(channel.FaultProvider)
		})
		h.use(survey.Options{}, notify.Failover(down, channel.Func("email:second", h.send)))
		h.publish(mailed("email:first"))
		id := h.tell("1", ann)
		h.drain()
		log := h.explain(id).Deliveries
		if got := h.log(id); !slices.Equal(got, []string{"0/1 failed 503", "0/2 delivered"}) || log[1].Channel != "email:second" {
			h.t.Errorf("%q, %+v", got, log)
		}
	})
}

// The token is in what the channel gets, and in no row, while the message waits and
// afterwards. What it gets is the same at each call, whatever the program says meanwhile.
func TestALinkIsTheSameAtEachCallAndItsTokenIsStoredNowhere(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		secret := func(when string) {
			h.t.Helper()
			for _, m := range h.sent() {
				if token := tokenOf(linkIn(m)); len(token) != 40 || strings.Contains(h.everything(), token) {
					h.t.Errorf("%s: the token %q is stored", when, token)
				}
			}
		}
		h.fails(errors.New("away"))
		h.use(survey.Options{UnsubscribeURL: "https://host.example/s/{token}/leave"}, channel.Func("email:test", h.send))
		h.publish(mailed("email:test"))
		id := h.tell("1", ann)
		h.drain()
		secret("while it waits")
		h.fails(nil)
		h.use(survey.Options{SurveyURL: "https://elsewhere.example/{token}"}, channel.Func("email:test", h.send))
		h.at(time.Hour)
		secret("when it is sent")
		sent := h.sent()
		if len(sent) != 2 {
			h.t.Fatalf("%d calls", len(sent))
		}
		a, b := sent[0], sent[1]
		a.Attempt, a.On = b.Attempt, b.On
		if fmt.Sprint(a) != fmt.Sprint(b) || strings.Count(a.Text+a.HTML+a.UnsubscribeURL, tokenOf(linkIn(a))) < 4 {
			h.t.Errorf("first  %+v\nsecond %+v", a, b)
		}
		h.status(id, survey.StatusSent)
	})
}

// A renderer that makes something else of the link is refused: it has a stand-in.
func TestARendererThatDerivesSomethingFromTheLinkIsRefused(t *testing.T) {
	inMemory(t, &survey.Options{Logger: quiet(), Renderer: rendererFunc(func(d form.LinkData) (form.Parts, error) {
		return form.Parts{Text: "Scan " + strings.ToUpper(d.URL)}, nil
	})}, func(h *host) {
		id := h.linked(csiGR)
		h.drain()
		if got := h.log(id); !slices.Equal(got, []string{"0/0 refused RenderFailed"}) || len(h.sent()) != 0 {
			h.t.Errorf("%q", got)
		}
	})
}

// Customers answer while their reminders go out, in any number of processes: each answer is
// taken, and no one waits for another for ever.
func TestCustomersAnswerWhileTheirRemindersGoOut(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		const many = 40
		h.publish(definition("0d", []string{"1d"}))
		var events []string
		for n := range many {
			events = append(events, fmt.Sprintf(`{"wip":"%d"}`, n))
		}
		told := h.ingest(events...)
		h.drain()
		h.clock.Add(day)
		first := h.sent()
		var all sync.WaitGroup
		for _, s := range []*survey.Service{h.survey, h.service(nil)} {
			all.Go(func() {
				for range 20 {
					if _, err := s.PollOnce(h.t.Context(), 7); err != nil {
						h.t.Error(err)
					}
				}
			})
		}
		for _, some := range [][]channel.Message{first[:many/2], first[many/2:]} {
			all.Go(func() {
				for _, m := range some {
					if _, err := h.survey.Submit(h.t.Context(), tokenOf(linkIn(m)), rated); err != nil {
						h.t.Error(err)
					}
				}
			})
		}
		all.Wait()
		h.drain()
		for _, it := range told.Items {
			h.status(it.Instances[0].PublicID, survey.StatusCompleted)
		}
		sends := map[string]int{}
		for _, m := range h.sent() {
			if sends[m.ID]++; sends[m.ID] > 1 {
				h.t.Errorf("%s was called twice", m.ID)
			}
		}
		h.at(40 * day)
		if n := len(h.sent()); n > 2*many {
			h.t.Errorf("%d sends", n)
		}
	})
}

// Who decides about a message decides about its link.
func TestADecisionAboutAMessageIsOneAboutItsLink(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(h *host, key string) error
		status string
		reason string
	}{
		"it arrived": {func(h *host, key string) error {
			return h.out.Support().Resolve(h.t.Context(), "", key, notify.DecideSent, someone)
		}, survey.StatusSent, ""},
		"it did not": {func(h *host, key string) error {
			return h.out.Support().Resolve(h.t.Context(), "", key, notify.DecideSendAgain, someone)
		}, survey.StatusSent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachHost(t, &survey.Options{InDoubt: notify.Hold}, func(h *host) {
				h.fails(channel.Unknown("", io.EOF))
				id := h.linked(csiGR)
				h.drain()
				h.fails(nil)
				held, _, err := h.out.Support().Held(h.t.Context(), "", reasons.OutcomeUnknown, storage.Page{})
				if err != nil || len(held) != 1 {
					h.t.Fatal(held, err)
				}
				if err := c.decide(h, held[0].Key); err != nil {
					h.t.Fatal(err)
				}
				h.drain()
				if i := h.status(id, c.status); i.ReasonCode != c.reason || i.IsOnSupportHold || i.InDoubt || i.NextSendOn.IsZero() {
					h.t.Errorf("%+v", i)
				}
			})
		})
	}
}
