package belfry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

const visitSurvey = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d", "reminders": ["1d"]}, "channel": "email:test"}]
}`

// surveys is the same application's survey, through the same channel and store.
func (h *host) surveys(store storage.Store) *survey.Service {
	return survey.New(store, &survey.Options{SurveyURL: "https://host.example/s/{token}"}, channel.Func(channelKey, h.send))
}

// link tells of n visits, and gives the public id of the first one's link.
func (h *host) link(s *survey.Service, n int) (publicID string) {
	h.t.Helper()
	if _, err := s.Publish(h.t.Context(), survey.Version{SurveyID: 1, Name: "Visits", Definition: json.RawMessage(visitSurvey)}); err != nil {
		h.t.Fatal(err)
	}
	b := survey.Batch{EventKind: "visit-closed"}
	for i := range n {
		b.Items = append(b.Items, survey.Item{Payload: json.RawMessage("{}"), Recipient: survey.Recipient{Address: fmt.Sprintf("guest%d@example.com", i)}})
	}
	report, err := s.Ingest(h.t.Context(), b)
	if err != nil || report.Created != n {
		h.t.Fatal(report, err)
	}
	return report.Items[0].Instances[0].PublicID
}

// One poller drives reminders, messages, links and the responses to them, and a timer
// of the host's that ticks beside it sends nothing twice.
func TestOnePollerDrivesAllDomainsBesideAnOutsideTimer(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		h := newHost(t, store, reminder("visit"))
		s, ticked := h.surveys(store), h.surveys(store)
		heard := map[string]int{}
		for _, s := range []*survey.Service{s, ticked} {
			s.Subscribe(survey.SubscriberFunc("tickets", func(_ context.Context, e survey.ResponseCompleted) error {
				h.mu.Lock()
				defer h.mu.Unlock()
				heard[e.InstancePublicID]++
				return nil
			}))
		}
		poller := belfry.NewPoller(store, nil, h.reminders, h.out, s)
		h.ensure(today("visit", 20)...)
		id := h.link(s, 30)
		together := func() {
			t.Helper()
			done := make(chan error)
			go func() { done <- poller.Drain(t.Context()) }()
			go func() {
				for {
					r, err := ticked.PollOnce(t.Context(), 4)
					if err != nil || r.Processed == 0 {
						done <- err
						return
					}
				}
			}()
			for range 2 {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		}
		together()
		if sent, people := h.mails(); sent != 50 || people != 50 {
			t.Errorf("%d mails to %d people", sent, people)
		}
		if _, err := s.Complete(t.Context(), "", id, survey.Response{Answers: json.RawMessage(`{"rate": 5}`)}); err != nil {
			t.Fatal(err)
		}
		clk.Add(24 * time.Hour)
		together()
		if sent, people := h.mails(); sent != 79 || people != 79 { // one has answered
			t.Errorf("%d mails to %d people after a day", sent, people)
		}
		if len(heard) != 1 || heard[id] != 1 {
			t.Errorf("the tickets heard of %v", heard)
		}
		clk.Add(30 * 24 * time.Hour)
		together()
		tally, err := s.Responses().Tally(t.Context(), "", 1)
		if err != nil || tally != (survey.Tally{Completed: 1, Expired: 29}) {
			t.Error(tally, err)
		}
	})
}
