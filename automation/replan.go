package automation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// EventReplan is the Type of the event that rows name which a re-plan wrote last,
// without an EventID.
const EventReplan = "belfry.replan"

// Replan names what has to be planned again, since a setting, zone, calendar or
// policy has changed behind it. The zero value is all reminders of the empty scope.
type Replan struct {
	Scope Scope
	// Type is a reminder type; empty: every type.
	Type string
	// Setting narrows it to one reminder setting, and
	// BusinessUnit to those of one unit; empty: all. Two units that wait at once are
	// one walk over all.
	Setting, BusinessUnit string
}

// MarkReplan marks what has to be planned again, in the transaction of the change:
// they commit or vanish together. A Poller works the marks off, page by page (see
// [Maintenance.Replans]). To mark what is under way has it begin again. Package settings
// marks what it saves; a host with settings of its own calls this, or
// [Maintenance.Replan].
//
// What is planned again are the sources with open rows of the type, as its
// [TriggerProvider] wants them. Then come sources that have no open row: a type with a [Scan]
// is scanned as by a run FromStart, and else the provider is asked about the sources of the
// type's SourceType that events have told of. Rows of a type without a provider end if their
// setting is off, and else stay as they are.
func MarkReplan(ctx context.Context, tx storage.Tx, what ...Replan) error {
	if _, err := markReplan(ctx, tx, what); err != nil {
		return fmt.Errorf("automation: MarkReplan: %w", err)
	}
	return nil
}

func markReplan(ctx context.Context, tx storage.Tx, what []Replan) ([]driver.Ensured[reconciliation], error) {
	return walkAgain(ctx, tx, what, nextEpochs(what)...)
}

// walkAgain has re-plans begin again, and writes the epochs that they begin, if they do.
func walkAgain(ctx context.Context, tx storage.Tx, what []Replan, epochs ...*reconciliation) ([]driver.Ensured[reconciliation], error) {
	wants := make([]*reconciliation, len(what))
	for i, w := range what {
		row, err := w.row(driver.Now(tx.Store()))
		if err != nil {
			return nil, err
		}
		wants[i] = row
	}
	return reconciliations.Ensure(ctx, tx, markAgain, append(wants, epochs...)...)
}

// markAgain lets a re-plan begin again, also under a worker, whose page is not
// written then.
func markAgain(stored, want *reconciliation) (storage.Outcome, bool) {
	if want.isEpoch() {
		return storage.Updated, true // to its next version
	}
	if stored.Status != reconcileDone && stored.BusinessUnit != want.BusinessUnit {
		stored.BusinessUnit = "" // one walk for all units
	} else {
		stored.BusinessUnit = want.BusinessUnit
	}
	stored.Status, stored.DueOn, stored.MarkedOn = want.Status, want.DueOn, want.MarkedOn
	stored.LeaseExpiresOn, stored.Abandoned = time.Time{}, false
	stored.Cursor, stored.Run = "", nil
	stored.FailureCount, stored.ReasonCode, stored.Diagnostics = 0, "", ""
	return storage.Updated, true
}

// row is the mark. The error says which part cannot be one.
func (w Replan) row(now time.Time) (*reconciliation, error) {
	if field, err := checkTenancy(w.Scope, w.BusinessUnit); err != nil {
		return nil, fmt.Errorf("%s %w", field, err)
	}
	kind := ""
	if w.Type != "" {
		if err := checkName(w.Type); err != nil {
			return nil, fmt.Errorf("its Type: %w", err)
		}
		kind = replanKind(w.Type)
	}
	key, err := keys.Join("replan", "type "+w.Type, "setting "+w.Setting)
	return &reconciliation{
		Due:      driver.Due{Record: storage.Record{Scope: w.Scope, Key: key, Kind: kind, Status: reconcileReady}, DueOn: now},
		MarkedOn: now, ReminderType: w.Type, Setting: w.Setting, BusinessUnit: w.BusinessUnit,
	}, err
}

// replanKind is the Kind of the re-plans of a type, which no scan has, so that a
// process without the Scan does not claim what another process scans.
func replanKind(reminderType string) string { return "replan:" + reminderType }

func (r *reconciliation) isReplan() bool { return !r.MarkedOn.IsZero() }

func (r *reconciliation) replan() Replan {
	return Replan{r.Scope, r.ReminderType, r.Setting, r.BusinessUnit}
}

// replanRest is how long a re-plan rests between two pages at most: as long as the
// page took, so that it takes half of one worker's time.
const replanRest = time.Second

// turnReplan is the row's next state after a page that began at a moment.
func (r *reconciliation) turnReplan(began, now time.Time, run ReconcileReport, next *replanCursor) {
	r.FailureCount, r.ReasonCode, r.Diagnostics = 0, "", ""
	if run.Failed > 0 {
		r.ReasonCode, r.Diagnostics = reasons.HandlerFailed, run.Failure
	}
	if next != nil {
		r.Cursor, r.Run, r.DueOn = next.text(), &run, now.Add(min(now.Sub(began), replanRest))
		return
	}
	run.Duration = now.Sub(run.StartedOn)
	r.Status, r.DueOn, r.Cursor, r.Run, r.Last = reconcileDone, time.Time{}, "", nil, &run
}

// failReplan records a page that could not be done: it is tried again by the usual
// back-off, and then once an hour.
func (r *reconciliation) failReplan(now time.Time, why Reason, diagnostics string) {
	r.FailureCount++
	r.ReasonCode, r.Diagnostics = why, storable(diagnostics)
	wait, more := backoff.After(string(r.Scope)+":"+r.Key, r.FailureCount)
	if !more {
		wait = time.Hour
	}
	r.DueOn = now.Add(wait)
}

// ReplanState says how far a re-plan has come.
type ReplanState struct {
	Replan
	// MarkedOn is when it was last asked for.
	MarkedOn time.Time
	// Done says that all of it was planned again. Progress counts what was done so
	// far, or by the last run; nil: nothing yet.
	Done     bool
	Progress *ReconcileReport
	NextOn   time.Time // of the next page; zero if Done
	// Failures counts the tries that failed since the last good page; ReasonCode and
	// Diagnostics are those of the last one, or of a source that could not be planned.
	Failures    int
	ReasonCode  Reason
	Diagnostics string
}

// Replans tells how far the re-plans of a scope have come, those that are done
// included, at most 1000.
func (s Maintenance) Replans(ctx context.Context, scope Scope) ([]ReplanState, error) {
	var out []ReplanState
	err := s.read(ctx, func(from driver.Reader) error {
		rows, err := reconciliations.Find(ctx, from, scope, driver.Query{
			Where: []driver.Cond{driver.NotNull("marked_on")}, OrderBy: "key", Limit: maxReconciliations,
		})
		out = nil
		for _, r := range rows {
			out = append(out, ReplanState{
				Replan: r.replan(), MarkedOn: r.MarkedOn, Done: r.Status == reconcileDone, Progress: cmp.Or(r.Run, r.Last), NextOn: r.DueOn,
				Failures: r.FailureCount, ReasonCode: r.ReasonCode, Diagnostics: r.Diagnostics,
			})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Replans: %w", err)
	}
	return out, nil
}

// replanCursor is where a re-plan goes on: behind a source with open rows of a
// setting, and then in the type's Scan.
type replanCursor struct {
	Setting    string `json:"setting,omitempty"`
	SourceType string `json:"sourceType,omitempty"`
	Source     string `json:"source,omitempty"`
	Scanning   bool   `json:"scanning,omitempty"`
	After      string `json:"after,omitempty"` // of the Scan
}

func (c *replanCursor) text() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // it consists of texts
	}
	return string(text)
}

func replanCursorOf(text string) (c replanCursor, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &c)
	}
	return c, err
}

// Replan marks what has to be planned again, in the bound transaction or in one of
// its own; see [MarkReplan].
func (s Maintenance) Replan(ctx context.Context, what ...Replan) error {
	return s.inTx(ctx, func(tx storage.Tx) error { return MarkReplan(ctx, tx, what...) })
}

// Replan is [Maintenance.Replan] by a person, and tells the audit who asked for it and why.
func (s Support) Replan(ctx context.Context, what Replan, by By) error {
	if err := by.Check(); err != nil {
		return fmt.Errorf("automation: Replan: %w", err)
	}
	err := s.inTx(ctx, func(tx storage.Tx) error {
		marked, err := markReplan(ctx, tx, []Replan{what})
		if err != nil {
			return err
		}
		row := marked[0].Row
		return audit.Write(ctx, tx, &audit.Entry{
			Record: storage.Record{Scope: row.Scope}, Subject: reconciliations.Name, SubjectKey: row.Key, SubjectID: row.ID, SubjectVersion: row.Version,
			Action: "Replan", Actor: by.Actor, Reason: by.Reason, To: row.Status, On: driver.Now(tx.Store()),
		})
	})
	if err != nil {
		return fmt.Errorf("automation: Replan: %w", err)
	}
	return nil
}

// String is the mark in words.
func (w Replan) String() string {
	words := []string{cmp.Or(w.Type, "every type")}
	if w.Setting != "" {
		words = append(words, "setting "+w.Setting)
	}
	if w.BusinessUnit != "" {
		words = append(words, "business unit "+w.BusinessUnit)
	}
	return strings.Join(words, ", ")
}

// hasCalendars reports whether a type moves its dates by a calendar.
func (r *registry) hasCalendars() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, t := range r.reminders {
		if t.BusinessDay != nil {
			return true
		}
	}
	return false
}

// reminderTypes lists the reminder types.
func (r *registry) reminderTypes() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Keys(r.reminders))
}

// kept lists the kinds of scans and re-plans that are worked on here, none without a
// reminder type, and tells when more are added.
func (r *registry) kept() (kinds []string, added <-chan struct{}) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.keeps, r.added
}
