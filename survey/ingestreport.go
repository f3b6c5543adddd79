package survey

import "encoding/json"

// IngestReport says what became of the items of a batch, in their order, and how
// many had which outcome: the four counts add up to the items. As JSON it is the
// answer of (Triggers & Scheduler, "Step 6 — the response"), where what the
// document does not have is left out if it says nothing.
type IngestReport struct {
	Created int          `json:"created"`
	Skipped int          `json:"skipped"`
	Failed  int          `json:"failed"`
	NoMatch int          `json:"noMatch,omitempty"`
	Items   []ItemReport `json:"items"`
}

// ItemReport is what became of one item: Failed if it or an instance failed,
// Created if an instance was, Skipped if all were, else NoMatch.
type ItemReport struct {
	Outcome   Outcome          `json:"outcome"`
	Instances []InstanceReport `json:"instances"` // by survey and trigger
	// Reason says why the item failed as a whole. Like the reasons of instances it
	// names paths and never holds their values.
	Reason string `json:"reason,omitempty"`
}

// InstanceReport is what became of one item for one trigger. As JSON its outcome is
// left out where it is the item's.
type InstanceReport struct {
	SurveyID  int64   `json:"surveyId"`
	TriggerID string  `json:"triggerId"`
	PublicID  string  `json:"publicId,omitempty"` // of a skipped one the original's; empty if it failed
	Outcome   Outcome `json:"outcome,omitempty"`
	Reason    string  `json:"reason,omitempty"` // of a failed one
}

// Outcome is what ingest did.
type Outcome string

// The outcomes of an ingest.
const (
	Created Outcome = "Created"
	Skipped Outcome = "Skipped" // the event has an instance already
	Failed  Outcome = "Failed"
	NoMatch Outcome = "NoMatch" // no trigger wants the event
)

// MarshalJSON leaves out what the item says already.
func (r ItemReport) MarshalJSON() ([]byte, error) {
	type plain ItemReport
	out := plain(r)
	out.Instances = make([]InstanceReport, len(r.Instances)) // never null
	for i, n := range r.Instances {
		if n.Outcome == r.Outcome {
			n.Outcome = ""
		}
		out.Instances[i] = n
	}
	return json.Marshal(out)
}

// sum gives the report of items whose instances have their outcomes.
func sum(items []ItemReport) IngestReport {
	r := IngestReport{Items: items}
	for i := range items {
		items[i].Outcome = items[i].outcome()
		switch items[i].Outcome {
		case Created:
			r.Created++
		case Skipped:
			r.Skipped++
		case Failed:
			r.Failed++
		case NoMatch:
			r.NoMatch++
		}
	}
	return r
}

func (r *ItemReport) outcome() Outcome {
	has := map[Outcome]bool{Failed: r.Reason != ""}
	for _, i := range r.Instances {
		has[i.Outcome] = true
	}
	for _, o := range []Outcome{Failed, Created, Skipped} {
		if has[o] {
			return o
		}
	}
	return NoMatch
}
