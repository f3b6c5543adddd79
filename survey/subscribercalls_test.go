package survey_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// A tick says how many calls of subscribers succeeded, and how many failed.
func TestATickCountsTheCallsOfSubscribers(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "bi", "tickets")
		e.fail = func(key string) error {
			if key == "tickets" {
				return errors.New("down")
			}
			return nil
		}
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", complains)
		got, err := h.survey.PollOnce(h.t.Context(), 10)
		if err != nil {
			h.t.Fatal(err)
		}
		h.same("the tick", survey.Report{Processed: 2, Dispatched: 1, DispatchFailed: 1}, got)
	})
}

// The calls of a subscriber are kept, with what it knows the event by.
func TestTheCallsOfASubscriberAreKept(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		answers := []error{errors.New("down"), errors.New(strings.Repeat("é", 1000)), nil}
		h.survey.Subscribe(survey.SubscriberFunc("bi", func(ctx context.Context, e survey.ResponseCompleted) error {
			err := answers[0]
			answers = answers[1:]
			survey.NoteMessageID(ctx, "bus-"+e.InstancePublicID)
			return err
		}))
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", complains)
		for range 3 {
			h.drain()
			h.clock.Add(10 * time.Minute)
		}
		calls := h.callsAbout("one")
		if len(calls) != 3 || calls[0].Error != "down" || len(calls[1].Error) > 500 || !strings.HasPrefix(calls[1].Error, "éé") {
			h.t.Fatalf("calls %+v", calls)
		}
		h.same("the last", survey.SubscriberCall{On: start.Add(20 * time.Minute), MessageID: "bus-id-one"}, calls[2])
	})
}

// However often an event is replayed, its calls take no more than so much room.
func TestOnlyTheLastCallsAreKept(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		e := listen(h.survey, "bi")
		h.publish(csiGR)
		h.invite("one")
		h.submit("one", complains)
		h.drain()
		for range 25 {
			h.clock.Add(time.Minute)
			if err := h.survey.Support().ReplayEvent(h.t.Context(), "", "id-one", "bi", sam); err != nil {
				h.t.Fatal(err)
			}
			h.drain()
		}
		if calls := h.callsAbout("one"); len(calls) != 20 || !calls[19].On.Equal(h.clock.Now()) || len(e.hear()) != 26 {
			h.t.Errorf("calls %+v", calls)
		}
	})
}

// callsAbout are the calls about the response of an invited customer, to one subscriber.
func (h *host) callsAbout(name string) []survey.SubscriberCall {
	h.t.Helper()
	e, err := h.survey.Support().Event(h.t.Context(), "", "id-"+name)
	if err != nil || len(e.Deliveries) != 1 {
		h.t.Fatal(e, err)
	}
	return e.Deliveries[0].Calls
}
