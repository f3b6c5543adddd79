package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/belfry-go/belfry/survey"
)

// questions are the survey: what is asked, of whom, when and by which channel.
const questions = `{
	"questions": [{"id": "rate", "type": "rating", "label": {"en": "How was it?"}}],
	"triggers": [{"id": "delivered", "enabled": true, "eventKind": "order-delivered", "dedupRecipe": ["templateId", "candidate.order"],
		"schedule": {"initialDelay": "0d", "reminders": ["3d"]}, "channel": "email:print"}],
	"messages": [{"ordinal": 0, "subject": "How was your order?", "text": "{{.URL}}"}]
}`

// delivered asks the customer, once for each order.
func (a *app) delivered(ctx context.Context, order, person, address string) error {
	_, err := a.surveys.Ingest(ctx, survey.Batch{EventKind: "order-delivered", Items: []survey.Item{{
		Payload:   json.RawMessage(`{"order": "` + order + `"}`),
		Recipient: survey.Recipient{CustomerRef: person, Address: address},
	}}})
	return err
}

// act says, once at the start, what an answer leads to. It is called again until it succeeds.
func (a *app) act() {
	a.surveys.Subscribe(survey.SubscriberFunc("tickets", func(ctx context.Context, e survey.ResponseCompleted) error {
		return a.openTicket(ctx, e.CustomerRef, e.Answers)
	}))
}

func (a *app) openTicket(_ context.Context, person string, answers json.RawMessage) error {
	_, err := fmt.Fprintf(a.w, "ticket for %s: %s\n", person, answers)
	return err
}

// answer is what the form does when the customer sends it.
func (a *app) answer(ctx context.Context) error {
	_, err := a.surveys.Submit(ctx, path.Base(a.link), survey.Response{Answers: json.RawMessage(`{"rate": 2}`)})
	return err
}
