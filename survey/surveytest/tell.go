package surveytest

import (
	"context"
	"encoding/json"

	"github.com/belfry-go/belfry/survey"
)

// Publish publishes v in the Host's scope, and ends the test if that is refused.
func (h *Host) Publish(t TB, v survey.Version) survey.Published {
	t.Helper()
	v.Scope = h.scope
	got, err := h.Surveys.Publish(context.Background(), v)
	if err != nil {
		t.Fatalf("surveytest: %v", err)
	}
	return got
}

// Ingest tells of one event that has just happened, payload being a JSON object, and
// says what became of it. Nothing is sent before [Host.Advance]. It ends the test if
// the event, or a link of it, failed; a test of that calls the service itself.
func (h *Host) Ingest(t TB, eventKind, payload string, to survey.Recipient) survey.ItemReport {
	t.Helper()
	report, err := h.Surveys.Ingest(context.Background(), survey.Batch{
		Scope: h.scope, EventKind: eventKind,
		Items: []survey.Item{{Payload: json.RawMessage(payload), Recipient: to}},
	})
	if err != nil {
		t.Fatalf("surveytest: %v", err)
		return survey.ItemReport{} // a TB of the caller's own may go on
	}
	got := report.Items[0]
	if got.Outcome == survey.Failed {
		t.Fatalf("surveytest: ingest of %s: %s", eventKind, reasons(got))
	}
	return got
}

// reasons are those of an item that failed.
func reasons(i survey.ItemReport) string {
	all := i.Reason
	for _, instance := range i.Instances {
		if instance.Reason != "" {
			all += "\n\t" + instance.TriggerID + ": " + instance.Reason
		}
	}
	return all
}
