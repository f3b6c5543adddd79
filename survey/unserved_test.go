package survey_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// A rolling deployment: for a while only processes without the channel run.
//
//spec:t-018 t-063
func TestASendWaitsForAProcessThatHasItsChannel(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		for _, after := range []time.Duration{0, 20 * time.Minute, 40 * time.Minute, 55 * time.Minute} {
			h.at(after)
		}
		h.use(survey.Options{}, h.memory())
		h.at(56 * time.Minute)
		h.status(id, survey.StatusSent)
	})
}

// After an outage the first process to come back may have no channel: nobody could
// take the send, so that is no reason to stop it.
//
//spec:t-066
func TestAnOutageStopsNoSend(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.drain() // the channel has been seen
		h.use(survey.Options{})
		id := h.linked(csiGR)
		h.at(0)
		h.at(5 * time.Hour)
		h.at(5*time.Hour + 20*time.Minute)
		if i := h.status(id, survey.StatusPending); i.NextSendOn.IsZero() {
			h.t.Fatalf("stopped: %+v", i)
		}
		h.use(survey.Options{}, h.memory())
		h.at(5*time.Hour + 21*time.Minute)
		h.status(id, survey.StatusSent)
	})
}

// A process that has the channel and is slow keeps its sends from being stopped by
// one that has not.
func TestABacklogOfAServedChannelIsNotStopped(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		slow := h.service(nil)
		for after := time.Duration(0); after < 4*time.Hour; after += 15 * time.Minute {
			h.clock.Set(start.Add(after))
			if err := slow.Sweep(h.t.Context()); err != nil { // it polls, and has not got to this one
				h.t.Fatal(err)
			}
			h.drain()
		}
		if i := h.status(id, survey.StatusPending); i.NextSendOn.IsZero() {
			h.t.Errorf("stopped: %+v", i)
		}
	})
}

// What was stopped goes on when support says so and the channel is back.
func TestASendThatWasStoppedGoesOnByRetry(t *testing.T) {
	eachHost(t, nil, func(h *host) {
		h.use(survey.Options{})
		id := h.linked(csiGR)
		h.at(0)
		h.at(50 * time.Minute)
		h.at(100 * time.Minute)
		if i := h.status(id, survey.StatusPending); i.ReasonCode != survey.ReasonNoChannel {
			h.t.Fatalf("the row is %+v", i)
		}
		if err := h.survey.Support().Retry(h.t.Context(), "", id, someone); err != nil {
			h.t.Fatal(err)
		}
		h.use(survey.Options{}, h.memory())
		h.drain()
		if i := h.status(id, survey.StatusSent); !i.NextSendOn.Equal(h.clock.Now().Add(day)) {
			h.t.Errorf("the row is %+v", i)
		}
	})
}
