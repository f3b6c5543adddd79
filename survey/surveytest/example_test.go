package surveytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveytest"
)

// definition is a program's survey: one reminder after a day, and a complaint goes to
// the tickets.
var definition = json.RawMessage(`{
	"title": {"en": "CSI-GR"},
	"questions": [
		{"id": "rate", "type": "rating", "min": 1, "max": 10, "required": true},
		{"id": "has-a-complaint", "type": "yesNo"}
	],
	"triggers": [{
		"id": "csi-gr-trigger", "enabled": true, "eventKind": "service-visit-closed",
		"filter": {"questionId": "candidate.jobType", "op": "==", "value": "GR"},
		"dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
		"schedule": {"initialDelay": "0d", "reminders": ["1d"]},
		"channel": "memory:default",
		"subscribers": [{"key": "tickets", "filter": {"questionId": "has-a-complaint", "op": "==", "value": "yes"}}]
	}]
}`)

// printer stands in for the *testing.T of a test.
type printer struct{}

func (printer) Helper() {}

func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (printer) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

var t printer

// tickets is the subscriber that the program has for complaints.
var tickets = survey.SubscriberFunc("tickets", func(_ context.Context, e survey.ResponseCompleted) error {
	fmt.Println("a ticket for", e.CustomerRef)
	return nil
})

// A complaint becomes a ticket, although the customer answered the reminder only.
func Example() {
	h := surveytest.New(nil)
	h.Surveys.Subscribe(tickets)
	h.Publish(t, survey.Version{SurveyID: 4523, Name: "CSI-GR", IntegrationID: "csi-gr", Definition: definition})
	h.Ingest(t, "service-visit-closed", `{"wip": "40956", "dealerId": "1", "jobType": "GR"}`,
		survey.Recipient{Address: "+964 770 000 0001", CustomerRef: "cust-123"})
	h.Advance(t, 25*time.Hour)
	h.Sent(t, 2) // the link, and its reminder
	link := h.Link(t, "+964 770 000 0001")
	link.Submit(t, `{"rate": 3, "has-a-complaint": "yes"}`)
	link.Is(t, survey.StatusCompleted)
	h.Advance(t, 0)
	link.Dispatched(t, "tickets")
	fmt.Println(link.Message.Subject)
	// Output:
	// a ticket for cust-123
	// A reminder: CSI-GR
}
