package survey_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/survey"
)

// What makes no batch is an error, and nothing is written.
func TestABatchThatMakesNoSense(t *testing.T) {
	t.Parallel()
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		for want, change := range map[string]func(*survey.Batch){
			"survey: Ingest: storage: survey_trigger.scope: ": func(b *survey.Batch) { b.Scope = "\x00any" },
			"survey: Ingest: the event kind has to have":      func(b *survey.Batch) { b.EventKind = "" },
			"survey: Ingest: the event kind has to have 1":    func(b *survey.Batch) { b.EventKind = "a\x1f" },
			"survey: Ingest: the event kind has to have 1 to": func(b *survey.Batch) { b.EventKind = strings.Repeat("a", 201) },
		} {
			b := batch(visit)
			change(&b)
			if _, err := h.survey.Ingest(h.t.Context(), b); err == nil || !strings.HasPrefix(err.Error(), want) {
				h.t.Errorf("%v, want %q", err, want)
			}
		}
		if n := len(h.all()); n != 0 {
			h.t.Errorf("%d instances", n)
		}
	})
}

// Reasons are for logs and answers: they name paths and hold no values.
//
//spec:t-032
func TestI29_ReasonsHoldNoValues(t *testing.T) {
	t.Parallel()
	const canary = "sam@example.com"
	eachHost(t, nil, func(h *host) {
		h.publish(csiGR)
		b := batch(`{"jobType":"GR","wip":["`+canary+`"]}`, `{"jobType":"GR","wip":{"a":"`+canary+`"}}`, `{"jobType":"GR","wip":"`+canary+`\n"}`, `{"a":"`+canary+`"`, visit)
		b.Items[4].Recipient.Address = canary + "\n"
		report := h.take(b)
		text, err := json.Marshal(report)
		if err != nil || report.Failed != 5 || strings.Contains(string(text), canary) {
			h.t.Errorf("%v %s", err, text)
		}
	})
}
