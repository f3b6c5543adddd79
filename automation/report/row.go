package report

import (
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// row is one of report_subscription. Its key is the guid, its type the type of
// report. It is never due.
type row struct {
	storage.Record
	BusinessUnit string    `db:"business_unit,fixed"`
	CreatedOn    time.Time `db:"created_on,fixed"`
	Name         string    `db:"name"`
	Document     document  `db:"document,json"`
	SavedOn      time.Time `db:"saved_on"`
}

// document is what no query asks for.
type document struct {
	Cron       string                   `json:"cron,omitempty"`
	RRule      string                   `json:"rrule,omitempty"`
	Start      automation.Date          `json:"start,omitzero"`
	End        automation.Date          `json:"end,omitzero"`
	SendAt     string                   `json:"sendAt,omitempty"`
	Zone       string                   `json:"zone,omitempty"`
	Gap        automation.GapPolicy     `json:"gap,omitempty"`
	Overlap    automation.OverlapPolicy `json:"overlap,omitempty"`
	Recipients []notify.Recipient       `json:"recipients,omitempty"`
	Template   string                   `json:"template,omitempty"`
	Delivery   Delivery                 `json:"delivery,omitzero"`
	Parameters json.RawMessage          `json:"parameters,omitempty"`
}

// maxRow bounds a subscription with its recipients.
const maxRow = 64 << 10

var subscriptions = storage.Define[row]("report_subscription").Limit(maxRow)

func (s Subscription) row(now time.Time) *row {
	return &row{
		Record:       storage.Record{Scope: s.Scope, Key: s.GUID, Type: s.Type, Status: StatusActive},
		BusinessUnit: s.BusinessUnit, CreatedOn: now, Name: s.Name, SavedOn: now,
		Document: document{
			Cron: s.Cadence.Cron, RRule: s.Cadence.RRule, Start: s.Cadence.Start, End: s.Cadence.End,
			SendAt: s.SendAt, Zone: s.Zone, Gap: s.Gap, Overlap: s.Overlap,
			Recipients: s.Recipients, Template: s.Template, Delivery: s.Delivery, Parameters: s.Parameters,
		},
	}
}

func (r *row) subscription() Subscription {
	d := r.Document
	return Subscription{
		Scope: r.Scope, GUID: r.Key, Type: r.Type, Name: r.Name, BusinessUnit: r.BusinessUnit,
		Cadence: automation.Recurrence{Cron: d.Cron, RRule: d.RRule, Start: d.Start, End: d.End},
		SendAt:  d.SendAt, Zone: d.Zone, Gap: d.Gap, Overlap: d.Overlap,
		Recipients: d.Recipients, Template: d.Template, Delivery: d.Delivery, Parameters: d.Parameters,
		Status: r.Status, Version: r.Version, CreatedOn: r.CreatedOn, SavedOn: r.SavedOn,
	}
}

// says reports whether two rows hold the same subscription.
func (r *row) says(other *row) bool {
	return r.Type == other.Type && r.Name == other.Name && r.BusinessUnit == other.BusinessUnit &&
		string(mustJSON(r.Document)) == string(mustJSON(other.Document))
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it consists of texts and JSON that was checked
	}
	return text
}
