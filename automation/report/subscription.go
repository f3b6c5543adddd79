package report

import (
	"context"
	"encoding/json"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Subscription says which report is built when, and who gets it how. All but the
// cadence is looked at when a run is due, so a change of it reaches the run that
// waits.
type Subscription struct {
	Scope automation.Scope
	// GUID stands in the keys of the runs; empty in Create: one is made. It may not
	// hold a colon or a control character.
	GUID string
	// Type is the Name of a [Type], which need not be registered in this process.
	Type string
	// Name is for people.
	Name string
	// BusinessUnit is the part of the tenant that it belongs to; it may be empty,
	// and cannot change.
	BusinessUnit string

	// Cadence says when; Start is required with an RRULE.
	Cadence automation.Recurrence
	// SendAt is the local time of an RRULE that names none, "09:00".
	SendAt string
	// Zone is the IANA zone of the cadence; default the business unit's, by
	// automation.Options.Zone. When that changes, see [Service.Refresh].
	Zone string
	// Gap and Overlap are as in automation.Candidate.
	Gap     automation.GapPolicy
	Overlap automation.OverlapPolicy

	// Recipients get the report, unless the type resolves others; at most 200.
	Recipients []notify.Recipient
	// Template is one of the type's Templates; empty: its Template.
	Template string
	Delivery Delivery
	// Parameters are for the builder: JSON of at most 8 KiB.
	Parameters json.RawMessage

	// Status is one of the Status constants; only Pause, Resume and Deactivate
	// change it.
	Status string
	// Version is what the subscription was read with; zero for a new one.
	Version            int64
	CreatedOn, SavedOn time.Time // Create and Update ignore them
}

// Delivery says how a report reaches its recipients. The zero value attaches its
// files to one message each, and sends nothing if it is empty.
type Delivery struct {
	// Link leaves the files where they are: messages have the URLs that the type's
	// Link gives.
	Link bool `json:"link,omitempty"`
	// SendEmpty sends a report that is empty, too. Otherwise its run ends as
	// Deactivated, [reasons.ReportEmpty].
	SendEmpty bool `json:"sendEmpty,omitempty"`
	// Bulk goes through a messaging job with the recipients in a blob, in chunks and
	// in the bulk lane. A run of more than 500 recipients always does, and one that
	// has more to say than fits into a notification job.
	Bulk bool `json:"bulk,omitempty"`
}

// The statuses of a [Subscription].
const (
	StatusActive      = "Active"      // its next run exists, unless its cadence has ended
	StatusPaused      = "Paused"      // no runs but those that people ask for
	StatusDeactivated = "Deactivated" // no runs, for good
)

// machine is the table of legal transitions.
var machine = states.Machine{
	Name:  "ReportSubscription",
	Start: []string{StatusActive},
	Edges: []states.Edge{
		{From: StatusActive, To: StatusPaused, Event: "paused"},
		{From: StatusPaused, To: StatusActive, Event: "resumed"},
		{From: StatusActive, To: StatusDeactivated, Event: "deactivated"},
		{From: StatusPaused, To: StatusDeactivated, Event: "deactivated"},
	},
	Terminal: []string{StatusDeactivated},
}

// row is one of report_subscription. Its key is the guid, its type the type of
// report. It is never due.
type row struct {
	storage.Record
	BusinessUnit string    `db:"business_unit,fixed,plain"`
	CreatedOn    time.Time `db:"created_on,fixed"`
	Name         string    `db:"name,plain"`
	Document     document  `db:"document,json,address"`
	SavedOn      time.Time `db:"saved_on"`
}

// document is what no query asks for.
type document struct {
	Cron       string                   `json:"cron,omitempty"`
	RRule      string                   `json:"rrule,omitempty"`
	Start      automation.Date          `json:"start,omitzero"`
	End        automation.Date          `json:"end,omitzero"`
	Except     []automation.Date        `json:"except,omitempty"`
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

var subscriptions = driver.Define[row]("report_subscription").Grows(driver.Bounded).
	Kept(driver.Always, "as many as people configure").Limit(maxRow)

func (s Subscription) row(now time.Time) *row {
	return &row{
		Record:       storage.Record{Scope: s.Scope, Key: s.GUID, Kind: s.Type, Status: StatusActive},
		BusinessUnit: s.BusinessUnit, CreatedOn: now, Name: s.Name, SavedOn: now,
		Document: document{
			Cron: s.Cadence.Cron, RRule: s.Cadence.RRule, Start: s.Cadence.Start, End: s.Cadence.End, Except: s.Cadence.Except,
			SendAt: s.SendAt, Zone: s.Zone, Gap: s.Gap, Overlap: s.Overlap,
			Recipients: s.Recipients, Template: s.Template, Delivery: s.Delivery, Parameters: s.Parameters,
		},
	}
}

func (r *row) subscription() Subscription {
	d := r.Document
	return Subscription{
		Scope: r.Scope, GUID: r.Key, Type: r.Kind, Name: r.Name, BusinessUnit: r.BusinessUnit,
		Cadence: automation.Recurrence{Cron: d.Cron, RRule: d.RRule, Start: d.Start, End: d.End, Except: d.Except},
		SendAt:  d.SendAt, Zone: d.Zone, Gap: d.Gap, Overlap: d.Overlap,
		Recipients: d.Recipients, Template: d.Template, Delivery: d.Delivery, Parameters: d.Parameters,
		Status: r.Status, Version: r.Version, CreatedOn: r.CreatedOn, SavedOn: r.SavedOn,
	}
}

// says reports whether two rows hold the same subscription.
func (r *row) says(other *row) bool {
	return r.Kind == other.Kind && r.Name == other.Name && r.BusinessUnit == other.BusinessUnit &&
		string(mustJSON(r.Document)) == string(mustJSON(other.Document))
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it consists of texts and JSON that was checked
	}
	return text
}

// Subscription returns the subscription with that guid, or storage.ErrNotFound.
func (s *Service) Subscription(ctx context.Context, scope automation.Scope, guid string) (sub Subscription, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		found, err := find(ctx, from, scope, guid)
		if err == nil && found == nil {
			err = storage.ErrNotFound
		}
		if err == nil {
			sub = found.subscription()
		}
		return err
	})
	return sub, wrap(guid, err)
}

// Subscriptions lists the subscriptions of a scope in the order of their guids,
// and says where the next page begins; empty after the last.
func (s *Service) Subscriptions(ctx context.Context, scope automation.Scope, p storage.Page) (out []Subscription, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		rows, after, err := subscriptions.Page(ctx, from, scope, p, driver.Query{})
		out, next = make([]Subscription, len(rows)), after
		for i, r := range rows {
			out[i] = r.subscription()
		}
		return err
	})
	return out, next, err
}

// Refresh makes sure of the next runs of a page of subscriptions, and says where
// the next page begins; empty after the last. It moves runs after the zone of a
// business unit has changed, and restores the run of a subscription that lost it. It
// writes nothing where nothing has changed. A Poller does it by itself, every six hours.
func (s *Service) Refresh(ctx context.Context, scope automation.Scope, p storage.Page) (next string, err error) {
	return s.scheduler.RefreshReports(ctx, scope, p)
}

// candidates reads a page of those that are active, as what they ask for.
func candidates(ctx context.Context, from driver.Reader, scope automation.Scope, p storage.Page) (out []automation.Candidate, next string, err error) {
	rows, next, err := subscriptions.Page(ctx, from, scope, p, driver.Query{})
	for _, r := range rows {
		if r.Status == StatusActive {
			out = append(out, r.subscription().candidate())
		}
	}
	return out, next, err
}

// By says who changes a subscription or asks for a run, and why: Actor, a person or
// program that can be found again, in at most 200 bytes, and Reason, in at most 1000.
// Both are required.
type By = audit.By

// ErrActionRefused says that an action makes no sense for a subscription as it is now;
// the text says why. Nothing was written.
var ErrActionRefused = audit.ErrActionRefused

// Pause ends the runs that wait, [reasons.SubscriptionInactive], and keeps others from
// being made, until it is resumed. Runs that have completed stay, and a run that a
// worker builds at this moment is not delivered. Like Resume, Deactivate and Delete
// it is one transaction, writes who did it and why into the audit, and returns
// storage.ErrNotFound where scope has no such subscription.
func (s *Service) Pause(ctx context.Context, scope automation.Scope, guid string, by By) error {
	return s.turn(ctx, scope, guid, "Pause", StatusPaused, by)
}

// Resume makes the next run from now on. Those that were missed are not made up
// for.
func (s *Service) Resume(ctx context.Context, scope automation.Scope, guid string, by By) error {
	return s.turn(ctx, scope, guid, "Resume", StatusActive, by)
}

// Deactivate is Pause for good: the subscription can be read and deleted, and
// nothing else.
func (s *Service) Deactivate(ctx context.Context, scope automation.Scope, guid string, by By) error {
	return s.turn(ctx, scope, guid, "Deactivate", StatusDeactivated, by)
}

// turn changes the status of a subscription, and what follows from it.
func (s *Service) turn(ctx context.Context, scope automation.Scope, guid, action, to string, by By) error {
	err := s.inTx(ctx, func(s *Service) error {
		var changed row
		err := audit.Change(ctx, s.tx, subscriptions, scope, guid, action, by, func(r *row, now time.Time) string {
			if r.Status == to || !machine.Legal(r.Status, to) {
				return "it is " + r.Status
			}
			r.Status, r.SavedOn = to, now
			changed = *r
			return ""
		})
		if err != nil {
			return err
		}
		if to == StatusActive {
			_, err = s.scheduler.Ensure(ctx, changed.subscription().candidate())
			return err
		}
		return s.endRuns(ctx, scope, guid, reasons.SubscriptionInactive)
	})
	return wrap(guid, err)
}

// Delete ends the runs that wait, automation.SourceNoLongerValid, and removes the
// subscription with its recipients. The rows of runs that have ended stay, so that
// one that is created with the same GUID repeats none of them.
func (s *Service) Delete(ctx context.Context, scope automation.Scope, guid string, by By) error {
	err := s.inTx(ctx, func(s *Service) error {
		err := audit.Change(ctx, s.tx, subscriptions, scope, guid, "Delete", by, func(*row, time.Time) string { return "" })
		if err != nil {
			return err
		}
		if err := s.endRuns(ctx, scope, guid, automation.SourceNoLongerValid); err != nil {
			return err
		}
		stored, err := subscriptions.Get(ctx, s.tx, scope, guid)
		if err != nil {
			return err
		}
		return subscriptions.Delete(ctx, s.tx, stored)
	})
	return wrap(guid, err)
}

// endRuns ends what waits, runs that people asked for among them.
func (s *Service) endRuns(ctx context.Context, scope automation.Scope, guid string, why automation.Reason) error {
	_, err := s.scheduler.Deactivate(ctx, scope, automation.TypeReportSubscription, source(guid), why)
	return err
}
