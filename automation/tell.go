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

// line is one change of a row, for its history.
type line struct {
	row    *Schedule // as it was saved
	was    past
	action Action
	reason string // a reason code or a moment, never personal data
}

func (l line) entry(by string, now time.Time) *audit.Entry {
	return &audit.Entry{
		Record: storage.Record{Scope: l.row.Scope}, Subject: schedules.Name,
		SubjectKey: l.row.Key, SubjectID: l.row.ID, SubjectVersion: l.row.Version,
		Action: string(l.action), Actor: by, Reason: cut(l.reason, 1000), From: l.was.status, To: l.row.Status, On: now,
	}
}

// made tells who made the row, which the change has overwritten in it.
func (l line) made() *audit.Entry {
	e := l.entry(l.was.by, l.row.CreatedOn)
	e.SubjectVersion, e.Action, e.Reason, e.From, e.To = audit.FirstVersion, string(ActionCreated), "", "", StatusPending
	return e
}

// tell writes lines into the history, in the transaction that saved their rows.
func tell(ctx context.Context, tx storage.Tx, by string, lines []line) error {
	if len(lines) == 0 {
		return nil
	}
	now := storage.Now(tx.Store())
	entries := make([]*audit.Entry, 0, len(lines))
	for _, l := range lines {
		if l.was.by != actor(l.row.EventType, l.row.EventID) {
			entries = append(entries, l.made())
		}
		entries = append(entries, l.entry(by, now))
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

// ensuredLines are the changes that an Ensure made to rows that existed.
func ensuredLines(got []storage.Ensured[Schedule], was map[*Schedule]past) []line {
	var out []line
	for _, g := range got {
		before, changed := was[g.Row]
		if !changed {
			continue
		}
		l := line{g.Row, before, ActionUpdated, "for " + stampText(g.Row.ScheduledOn)}
		switch g.Outcome {
		case storage.Reactivated:
			l.action = ActionReactivated
		case storage.Conflict:
			l.action, l.reason = ActionHeld, string(g.Row.HoldReason)
		}
		out = append(out, l)
	}
	return out
}

// tellSettled follows up on the due pass: what it did beside completing rows.
func (s *Scheduler) tellSettled(ctx context.Context, tx storage.Tx, rows []*Schedule) error {
	now := s.now()
	var lines []line
	for _, row := range rows {
		if l := (line{row: row, was: past{StatusProcessing, actor(row.EventType, row.EventID)}}); l.settled(now) {
			lines = append(lines, l)
		}
	}
	return tell(ctx, tx, actorDuePass, lines)
}

// settled says what the pass did to the row, and whether the history needs it. A
// row that was given back waits for no retry that is yet to come.
func (l *line) settled(now time.Time) bool {
	r := l.row
	switch {
	case r.Status == StatusDeactivated:
		l.action, l.reason = ActionDeactivated, string(r.ReasonCode)
		return true
	case r.Status == StatusFailed:
		l.reason = fmt.Sprintf("%s, on hold: %s", r.ReasonCode, r.HoldReason)
	case r.Status == StatusPending && r.NextRetryOn.After(now):
		l.reason = fmt.Sprintf("%s, again at %s", r.ReasonCode, stampText(r.NextRetryOn))
	default:
		return false
	}
	l.action = ActionTryFailed
	if r.ReasonCode == LeaseExpired {
		l.action = ActionLeaseLost
	}
	return true
}
