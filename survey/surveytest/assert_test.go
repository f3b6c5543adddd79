package surveytest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// Every assertion fails where it should, and says what there is instead.
func TestAssertionsSayWhatThereIsInstead(t *testing.T) {
	t.Parallel()
	var j judge
	h := visited(t, nil)
	h.Link(&j, address)
	j.said(t, "memory:default sent no link to "+address)
	h.Advance(t, 0)
	h.Sent(&j, 2)
	j.said(t, "memory:default sent 1 messages, want 2", address+": ")
	h.Link(&j, "+964 770 000 0002")
	j.said(t, "memory:default sent no link to +964 770 000 0002", address+": ")

	link := h.Link(t, address)
	link.Is(&j, survey.StatusCompleted)
	j.said(t, "the link to "+address+" is Sent, want Completed", "delivered as receipt-")
	link.Submit(&j, `{"rate": 11}`)
	j.said(t, "submit to the link of "+address, "rate")
	link.Dispatched(&j, "tickets")
	j.said(t, "the response of "+address, storage.ErrNotFound.Error())
	h.Advance(t, 60*24*time.Hour)
	link.Open(&j)
	j.said(t, "open the link to "+address, survey.ErrExpired.Error())
}

func TestDispatchedComparesAllSubscribers(t *testing.T) {
	t.Parallel()
	var j judge
	h := visited(t, nil)
	h.Surveys.Subscribe(survey.SubscriberFunc("tickets", func(context.Context, survey.ResponseCompleted) error {
		return survey.Permanent(errors.New("no such queue"))
	}))
	h.Advance(t, 0)
	link := h.Link(t, address)
	link.Submit(t, `{"rate": 3, "has-a-complaint": "yes"}`)
	h.Advance(t, 0)
	link.Dispatched(&j, "tickets")
	j.said(t, "(Failed)", "tickets: DeadLetter", "no such queue", "want\n\ttickets: Dispatched")
	link.Dispatched(&j)
	j.said(t, "tickets: DeadLetter")
}

// What cannot be published or ingested ends the test.
func TestWhatIsRefusedEndsTheTest(t *testing.T) {
	t.Parallel()
	var j judge
	h := visited(t, nil)
	h.Publish(&j, survey.Version{SurveyID: 4523, Definition: []byte(`{"colour": "red"}`)})
	j.said(t, "colour")
	h.Ingest(&j, kind, `{"wip": ["1"], "dealerId": "1", "jobType": "GR"}`, customer)
	j.said(t, "ingest of "+kind, "csi-gr-trigger: dedupRecipe: candidate.wip")
	h.Ingest(&j, "", visit, customer)
	j.said(t, "the event kind")
	h.Ingest(&j, kind, visit, survey.Recipient{})
	j.said(t, "recipient.address")
	if got := h.Ingest(t, kind, `{"jobType": "PM"}`, customer); got.Outcome != survey.NoMatch {
		t.Error(got)
	}
}
