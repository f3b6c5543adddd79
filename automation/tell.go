package automation

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// The actors of a history that are no event and no person.
const (
	actorHost    = "host"
	actorDuePass = "due pass"
	actorSeries  = "series" // an occurrence that existed became the current one
)

// actor names an event for the history; none of them is the host.
func actor(eventType, eventID string) string {
	if eventType == "" {
		return actorHost
	}
	name := "event " + eventType
	if eventID != "" {
		name += " " + eventID
	}
	return cut(storable(name), 200)
}

// past is what a row was before a change: its status, and who wrote it last.
type past struct{ status, by string }

func (r *Schedule) past() past { return past{r.Status, actor(r.EventType, r.EventID)} }

// note is one change of a row, for its history.
type note struct {
	row    *Schedule // as it was saved
	was    past
	action Action
	reason string // a reason code or a moment, never personal data
}

func (n note) entry(by string, now time.Time) *audit.Entry {
	return &audit.Entry{
		Record: storage.Record{Scope: n.row.Scope}, Subject: schedules.Name,
		SubjectKey: n.row.Key, SubjectID: n.row.ID, SubjectVersion: n.row.Version,
		Action: string(n.action), Actor: by, Reason: cut(n.reason, 1000), From: n.was.status, To: n.row.Status, On: now,
	}
}

// made tells who made the row, which the change has overwritten in it.
func (n note) made() *audit.Entry {
	e := n.entry(n.was.by, n.row.CreatedOn)
	e.SubjectVersion, e.Action, e.Reason, e.From, e.To = audit.FirstVersion, string(ActionCreated), "", "", StatusPending
	return e
}

// tell writes notes into the history, in the transaction that saved their rows.
func tell(ctx context.Context, tx storage.Tx, by string, notes []note) error {
	if len(notes) == 0 {
		return nil
	}
	now := storage.Now(tx.Store())
	entries := make([]*audit.Entry, 0, len(notes))
	for _, n := range notes {
		if n.was.by != actor(n.row.EventType, n.row.EventID) {
			entries = append(entries, n.made())
		}
		entries = append(entries, n.entry(by, now))
	}
	return audit.Write(ctx, tx, entries...)
}

// remember notes what the rows that decide changes were before.
func remember(was map[*Schedule]past, decide storage.Decide[Schedule]) storage.Decide[Schedule] {
	return func(stored, want *Schedule) (storage.Outcome, bool) {
		before := stored.past()
		outcome, write := decide(stored, want)
		if write {
			was[stored] = before
		}
		return outcome, write
	}
}

// ensuredNotes are the changes that an Ensure made to rows that existed.
func ensuredNotes(got []storage.Ensured[Schedule], was map[*Schedule]past) []note {
	var out []note
	for _, g := range got {
		before, changed := was[g.Row]
		if !changed {
			continue
		}
		n := note{g.Row, before, ActionUpdated, "for " + stampText(g.Row.ScheduledOn)}
		switch g.Outcome {
		case storage.Reactivated:
			n.action = ActionReactivated
		case storage.Conflict:
			n.action, n.reason = ActionHeld, string(g.Row.HoldReason)
		}
		out = append(out, n)
	}
	return out
}

// tellSettled follows up on the due pass: what it did beside completing rows.
func (s *Scheduler) tellSettled(ctx context.Context, tx storage.Tx, rows []*Schedule) error {
	now := s.now()
	var notes []note
	for _, row := range rows {
		if n := (note{row: row, was: past{StatusProcessing, actor(row.EventType, row.EventID)}}); n.settled(now) {
			notes = append(notes, n)
		}
	}
	return tell(ctx, tx, actorDuePass, notes)
}

// settled says what the pass did to the row, and whether the history needs it. A
// row that was given back waits for no retry that is yet to come.
func (n *note) settled(now time.Time) bool {
	r := n.row
	switch {
	case r.Status == StatusDeactivated:
		n.action, n.reason = ActionDeactivated, string(r.ReasonCode)
		return true
	case r.Status == StatusFailed:
		n.reason = fmt.Sprintf("%s, on hold: %s", r.ReasonCode, r.HoldReason)
	case r.Status == StatusPending && r.NextRetryOn.After(now):
		n.reason = fmt.Sprintf("%s, again at %s", r.ReasonCode, stampText(r.NextRetryOn))
	default:
		return false
	}
	n.action = ActionTryFailed
	if r.ReasonCode == LeaseExpired {
		n.action = ActionLeaseLost
	}
	return true
}
