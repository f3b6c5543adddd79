package survey_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// ears are subscribers of one process, and what they heard.
type ears struct {
	mu    sync.Mutex
	heard []string // "subscriber publicID"
	last  survey.ResponseCompleted
	fail  func(key string) error
}

// listen subscribes a service to responses under some keys.
func listen(s *survey.Service, keys ...string) *ears {
	e := &ears{}
	for _, key := range keys {
		s.Subscribe(survey.SubscriberFunc(key, func(_ context.Context, r survey.ResponseCompleted) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard, e.last = append(e.heard, key+" "+r.InstancePublicID), r
			if e.fail != nil {
				return e.fail(key)
			}
			return nil
		}))
	}
	return e
}

// hear gives what was heard since the last time, sorted.
func (e *ears) hear() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.heard
	slices.Sort(out)
	e.heard = nil
	return out
}

// event is "status: subscriber status attempts, ..." of a response.
func (h *host) event(publicID string) string {
	h.t.Helper()
	e, err := h.survey.Support().Event(h.t.Context(), "", publicID)
	if err != nil {
		h.t.Fatal(err)
	}
	var all []string
	for _, d := range e.Deliveries {
		all = append(all, fmt.Sprint(d.Subscriber, " ", d.Status, " ", d.Attempts))
	}
	return string(e.Status) + ": " + strings.Join(all, ", ")
}

var sam = survey.By{Actor: "sam", Reason: "it is up again"}

func TestI24_EverySubscriberHearsOfAResponseOnce(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "bi", "tickets") // has never polled
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", complains)
		h.submit("one", complains)
		h.same("event", "Pending: bi Pending 0, tickets Pending 0", h.event("id-one"))
		h.clock.Add(time.Minute)
		h.drain()
		h.drain()
		h.same("heard", []string{"bi id-one", "tickets id-one"}, e.hear())
		h.same("event", "Dispatched: bi Dispatched 0, tickets Dispatched 0", h.event("id-one"))
		h.same("payload", survey.ResponseCompleted{
			EventID: "survey-response-completed-id-one", EventType: "response-completed",
			SurveyID: 4523, SurveyVersion: 1, SurveyIntegrationID: "csi-gr", InstancePublicID: "id-one", TriggerID: "csi-gr-trigger",
			CustomerRef: "cust-123", RecipientAddress: "+964 770 000 0001", RecipientLocale: "ar", CompletedOn: start,
			Answers:           json.RawMessage(`{"complaint":"It was late.","has-a-complaint":"yes","rate":3}`),
			CandidateMetadata: json.RawMessage(visit), DispatchedOn: start.Add(time.Minute),
		}, e.last)
	})
}

func TestATriggerRoutesByTheAnswers(t *testing.T) {
	eachHost(t, &survey.Options{ExpectedSubscribers: []string{"elsewhere"}}, func(h *host) {
		e := listen(h.survey, "bi", "tickets", "other")
		h.drain()
		h.publish(tickets)
		h.invite("one")
		h.invite("two")
		h.submit("one", complains)
		h.submit("two", content)
		h.drain()
		h.same("heard", []string{"bi id-one", "bi id-two", "tickets id-one"}, e.hear())
	})
}

func TestAResponseWaitsVisiblyForItsSubscriber(t *testing.T) {
	eachHost(t, &survey.Options{ExpectedSubscribers: []string{"bi", "bi"}}, func(h *host) {
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", content)
		h.clock.Add(365 * oneDay)
		h.drain()
		h.same("event", "Pending: bi Pending 0", h.event("id-one"))
		other := h.service(nil) // the process that has it comes up
		e := listen(other, "bi")
		h.same("drained", error(nil), belfry.NewPoller(h.store, nil, other, h.out).Drain(t.Context()))
		h.same("heard", []string{"bi id-one"}, e.hear())
		h.same("event", "Dispatched: bi Dispatched 0", h.event("id-one"))
	})
}

// A process that only takes responses knows the subscribers of others from the
// store, and those that come later get what was before only by replay.
func TestASubscriberThatComesLaterGetsOlderResponsesByReplay(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		worker := h.service(nil)
		e := listen(worker, "bi")
		poller := belfry.NewPoller(h.store, nil, worker, h.out)
		drain := func() { h.same("drained", error(nil), poller.Drain(t.Context())) }
		h.publish(csiGR)
		for _, token := range []string{"one", "two"} {
			h.invite(token)
			h.submit(token, content)
			h.clock.Add(oneDay)
		}
		h.same("nobody is addressed", "Dispatched: ", h.event("id-one"))
		drain()
		h.same("heard", []string(nil), e.hear())
		h.invite("three")
		h.submit("three", content)
		drain()
		h.same("heard", []string{"bi id-three"}, e.hear())

		q := survey.ResponseQuery{SurveyID: 4523, Since: start.Add(oneDay)}
		for i, want := range []int{1, 1, 0} { // a dry run, in earnest, again
			n, err := h.survey.Support().ReplayMissed(t.Context(), "", "bi", q, sam, &survey.ActionOptions{DryRun: i == 0})
			h.same("error", error(nil), err)
			h.same("replayed", want, n)
		}
		drain()
		h.same("heard", []string{"bi id-two"}, e.hear())
		_, err := h.survey.Support().ReplayMissed(t.Context(), "", "bi", q, survey.By{}, nil)
		h.same("nobody's", true, err != nil)
	})
}

// Who comes later gets what the routing would have sent it, by the version that was
// answered or by the one that is published, and nothing else.
func TestAReplayOfWhatWasMissedKeepsToTheRouting(t *testing.T) {
	eachHost(t, &survey.Options{Elsewhere: true}, func(h *host) {
		h.publish(strings.Replace(tickets, `{"key": "tickets", "filter"`, `{"key": "later", "filter"`, 1))
		for token, answers := range map[string]string{"one": complains, "two": content, "three": content} {
			h.invite(token)
			h.submit(token, answers)
		}
		replay := func(key string, want int) {
			t.Helper()
			n, err := h.survey.Support().ReplayMissed(t.Context(), "", key, survey.ResponseQuery{SurveyID: 4523}, sam, nil)
			h.same("error", error(nil), err)
			h.same("replayed to "+key, want, n)
		}
		e := listen(h.survey, "tickets", "later", "other")
		replay("later", 0) // it was addressed
		replay("tickets", 0)
		replay("other", 0)
		h.publish(tickets) // from now on complaints are for it
		replay("tickets", 1)
		replay("tickets", 0)
		h.drain()
		h.same("heard", []string{"later id-one", "tickets id-one"}, e.hear())
	})
}

func TestI24_OneResponseIsReplayedToOneSubscriber(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "bi")
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", content)
		replay := func(publicID, subscriber string) error {
			return h.survey.Support().ReplayEvent(t.Context(), "", publicID, subscriber, sam)
		}
		h.same("it waits anyway", true, errors.Is(replay("id-one", "bi"), survey.ErrActionRefused))
		h.drain()
		h.same("heard", []string{"bi id-one"}, e.hear())
		h.same("replayed", error(nil), replay("id-one", "bi"))
		h.same("replayed to a new one", error(nil), replay("id-one", "later"))
		h.same("of no response", true, errors.Is(replay("id-two", "bi"), storage.ErrNotFound))
		h.drain()
		h.same("heard", []string{"bi id-one"}, e.hear())
		h.same("event", "Pending: bi Dispatched 0, later Pending 0", h.event("id-one"))
	})
}

func TestASubscriberMayAskForAPause(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "bi")
		e.fail = func(string) error { return survey.RetryAfter(2*time.Hour, errors.New("busy")) }
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", content)
		h.drain()
		h.clock.Add(2*time.Hour - time.Second)
		h.drain()
		h.same("heard", []string{"bi id-one"}, e.hear())
		e.fail = func(string) error { return survey.RetryAfter(time.Second, errors.New("busy")) } // less than usual
		h.clock.Add(time.Second)
		h.drain()
		h.same("heard", []string{"bi id-one"}, e.hear())
		h.clock.Add(4 * time.Minute)
		h.drain()
		h.same("heard", []string(nil), e.hear())
		h.clock.Add(2 * time.Minute)
		h.drain()
		h.same("heard", []string{"bi id-one"}, e.hear())
		last, err := h.survey.Support().Event(t.Context(), "", "id-one")
		h.same("error", error(nil), err)
		h.same("last error", "busy", last.Deliveries[0].LastError)
	})
}

// The other domain's subscribers share the tables.
func TestSubscribersOfBothDomainsMayHaveOneKey(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		out := h.notifier()
		e := listen(h.survey, "bi")
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", content)
		poller := belfry.NewPoller(h.store, nil, out)
		h.same("drained", error(nil), poller.Drain(t.Context()))
		h.same("event", "Pending: bi Pending 0", h.event("id-one"))
		h.drain()
		h.same("heard", []string{"bi id-one"}, e.hear())
	})
}

func TestI28_EventsAndDeadLettersAreOfOneScope(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "bi")
		e.fail = func(string) error { return survey.Permanent(errors.New("no such ticket")) }
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", content)
		h.drain()
		for scope, want := range map[survey.Scope]int{"": 1, "south": 0} {
			dead, _, err := h.survey.Support().DeadLetters(t.Context(), scope, "bi", storage.Page{})
			h.same("error", error(nil), err)
			events, _, err := h.survey.Support().Events(t.Context(), scope, survey.ResponseQuery{SurveyID: 4523})
			h.same("error", error(nil), err)
			list, _, err := h.survey.Responses().List(t.Context(), scope, survey.ResponseQuery{SurveyID: 4523})
			h.same("error", error(nil), err)
			n, err := h.survey.Support().ReplayDeadLetters(t.Context(), scope, "bi", sam, &survey.ActionOptions{DryRun: true})
			h.same("error", error(nil), err)
			h.same("of "+string(scope), []int{want, want, want, want}, []int{len(dead), len(events), len(list), n})
		}
		_, err := h.survey.Responses().Get(t.Context(), "south", "id-one")
		h.same("absent", true, errors.Is(err, storage.ErrNotFound))
		h.same("absent", true, errors.Is(h.survey.Support().ReplayEvent(t.Context(), "south", "id-one", "bi", sam), storage.ErrNotFound))
	})
}

func TestSubscribePanicsOnWhatOnlyAProgrammerCanCause(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		for name, sub := range map[string]survey.Subscriber{
			"nil": nil, "no key": survey.SubscriberFunc("", nil), "taken": survey.SubscriberFunc("bi", nil),
		} {
			func() {
				defer func() { h.same(name, true, recover() != nil) }()
				s := h.service(nil)
				listen(s, "bi")
				s.Subscribe(sub)
			}()
		}
	})
}
