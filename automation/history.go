package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	texts "github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxHistory is how much of a row's history Explain shows.
const maxHistory = 100

// Action is what was done to a row, as its history tells it: by support one of the
// constants, by programs
//
//   - Created, Updated and Reactivated: it was asked for, asked for at another moment or
//     for another type, or asked for after it had ended
//   - Completed: delivery work is queued
//   - Deactivated: it was no longer wanted, by an event or at its moment
//   - Held: on hold for a conflict
//   - TryFailed: a try failed, of which the last one puts the row on hold
//   - LeaseLost: a worker died or stalled, which counts as a try
type Action string

// What support does; the first four can be done in bulk.
const (
	ActionHold    Action = "Hold"
	ActionRelease Action = "Release"
	ActionRetry   Action = "Retry"
	ActionCancel  Action = "Cancel"
	ActionRerun   Action = "Rerun"
)

// What programs do.
const (
	actionCreated     Action = "Created"
	actionCompleted   Action = "Completed"
	actionUpdated     Action = "Updated"
	actionReactivated Action = "Reactivated"
	actionDeactivated Action = "Deactivated"
	actionHeld        Action = "Held"
	actionTryFailed   Action = "TryFailed"
	actionLeaseLost   Action = "LeaseLost"
)

// Transition is one thing that happened to a row.
type Transition struct {
	On     time.Time
	Action Action
	// Actor is the person or program of a support action, "event {type} {id}",
	// "due pass", or "host"; empty where the one who made the row is not known any
	// more.
	Actor    string
	Reason   string // of a person in words, else a reason code or a moment
	From, To string // the statuses before and after; From is empty for Created
}

// String is a line of text.
func (t Transition) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", stampText(t.On), t.Action)
	if t.Actor != "" {
		fmt.Fprintf(&b, " by %s", t.Actor)
	}
	if t.Reason != "" {
		fmt.Fprintf(&b, ": %s", t.Reason)
	}
	if t.From != t.To && t.From != "" {
		fmt.Fprintf(&b, " (%s to %s)", t.From, t.To)
	}
	return b.String()
}

// historyOf is what was written about a row, with what it tells itself.
func historyOf(ctx context.Context, from driver.Reader, r *scheduleRow) ([]Transition, error) {
	entries, err := audit.History(ctx, from, r.Scope, schedules.Name, r.Key, maxHistory)
	if err != nil {
		return nil, err
	}
	made := Transition{On: r.CreatedOn, Action: actionCreated, Actor: actor(r.EventType, r.EventID).name, To: StatusPending}
	if len(entries) == maxHistory {
		made.Actor = "" // it may be told by an entry further back
	}
	var out []Transition
	for _, e := range entries {
		t := Transition{e.On, Action(e.Action), e.Actor, e.Reason, e.From, e.To}
		if t.Action == actionCreated && t.On.Equal(made.On) {
			made = t
			continue
		}
		out = append(out, t)
	}
	out = append([]Transition{made}, out...)
	if r.Status == StatusCompleted {
		later := slices.IndexFunc(out, func(t Transition) bool { return t.From == StatusCompleted })
		if later < 0 {
			later = len(out)
		}
		out = slices.Insert(out, later, Transition{r.EndedOn, actionCompleted, actorDuePass.name, "", StatusProcessing, StatusCompleted})
	}
	slices.SortStableFunc(out, func(a, b Transition) int { return cmp.Compare(a.On.UnixMicro(), b.On.UnixMicro()) })
	return out, nil
}

// author is who changes rows: a person, whose name can be erased, or a program.
type author struct {
	name    string
	program bool
}

// person is who acts by support.
func person(by By) author { return author{name: by.Actor} }

// History actors that are neither events nor people.
var (
	actorHost    = author{"host", true}
	actorDuePass = author{"due pass", true}
	actorSeries  = author{"series", true} // an occurrence that existed became the current one
)

// actor names an event for the history; none of them is the host.
func actor(eventType, eventID string) author {
	if eventType == "" {
		return actorHost
	}
	name := "event " + eventType
	if eventID != "" {
		name += " " + eventID
	}
	return author{cut(storable(name), 200), true}
}

// past is what a row was before a change: its status, and who wrote it last.
type past struct {
	status string
	by     author
}

func (r *scheduleRow) past() past { return past{r.Status, actor(r.EventType, r.EventID)} }

// note is one change of a row, for its history.
type note struct {
	row    *scheduleRow // as it was saved
	was    past
	action Action
	reason string // the words of a person; of a program a code or a moment, never personal data
}

func (n note) entry(by author, now time.Time) *audit.Entry {
	return &audit.Entry{
		Record: storage.Record{Scope: n.row.Scope}, Subject: schedules.Name,
		SubjectKey: n.row.Key, SubjectID: n.row.ID, SubjectVersion: n.row.Version,
		Action: string(n.action), Actor: by.name, ByProgram: by.program, Reason: cut(n.reason, 1000), From: n.was.status, To: n.row.Status, On: now,
	}
}

// made tells who made the row, which the change has overwritten in it.
func (n note) made() *audit.Entry {
	e := n.entry(n.was.by, n.row.CreatedOn)
	e.SubjectVersion, e.Action, e.Reason, e.From, e.To = audit.FirstVersion, string(actionCreated), "", "", StatusPending
	return e
}

// tell writes notes into the history, in the transaction that saved their rows.
func tell(ctx context.Context, tx storage.Tx, by author, notes []note) error {
	if len(notes) == 0 {
		return nil
	}
	now := driver.Now(tx.Store())
	entries := make([]*audit.Entry, 0, len(notes))
	for _, n := range notes {
		if n.was.by != actor(n.row.EventType, n.row.EventID) {
			entries = append(entries, n.made())
		}
		entries = append(entries, n.entry(by, now))
	}
	return audit.Write(ctx, tx, entries...)
}

// saveAndTell writes the rows of notes, and the notes into the history. It gives
// apart those of rows that another transaction wrote meanwhile, of which neither was
// written.
func (s *core) saveAndTell(ctx context.Context, tx storage.Tx, by author, notes []note) (saved, stale []note, err error) {
	rows := make([]*scheduleRow, len(notes))
	for i, n := range notes {
		rows[i] = n.row
	}
	lost := &storage.StaleError{}
	if err := schedules.Save(ctx, tx, rows...); err != nil && !errors.As(err, &lost) {
		return nil, nil, err
	}
	for i, n := range notes {
		if slices.Contains(lost.Rows, i) {
			stale = append(stale, n)
		} else {
			saved = append(saved, n)
		}
	}
	if err := s.disown(ctx, tx, saved); err != nil {
		return nil, nil, err
	}
	return saved, stale, tell(ctx, tx, by, saved)
}

// saveAllAndTell is saveAndTell where the caller begins again if another transaction wrote a
// row meanwhile: the error is storage.ErrStale then.
func (s *core) saveAllAndTell(ctx context.Context, tx storage.Tx, by author, notes []note) error {
	_, stale, err := s.saveAndTell(ctx, tx, by, notes)
	if err == nil && len(stale) > 0 {
		return storage.ErrStale
	}
	return err
}

// again reads the rows of notes that another transaction wrote meanwhile, those of them
// that are where.
func again(ctx context.Context, from driver.Reader, stale []note, where ...driver.Cond) ([]*scheduleRow, error) {
	if len(stale) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(stale))
	for i, n := range stale {
		ids[i] = n.row.ID
	}
	return schedules.Find(ctx, from, stale[0].row.Scope, driver.Query{Where: append(where, driver.In("id", ids)), Limit: len(ids)})
}

// remember notes what the rows that decide changes were before.
func remember(was map[*scheduleRow]past, decide driver.Decide[scheduleRow]) driver.Decide[scheduleRow] {
	return func(stored, want *scheduleRow) (storage.Outcome, bool) {
		before := stored.past()
		outcome, write := decide(stored, want)
		if write {
			was[stored] = before
		}
		return outcome, write
	}
}

// ensuredNotes are the changes that an Ensure made to rows that existed.
func ensuredNotes(got []driver.Ensured[scheduleRow], was map[*scheduleRow]past) []note {
	var out []note
	for _, g := range got {
		before, changed := was[g.Row]
		if !changed {
			continue
		}
		n := note{g.Row, before, actionUpdated, "for " + stampText(g.Row.ScheduledOn)}
		switch g.Outcome {
		case storage.Reactivated:
			n.action = actionReactivated
		case storage.Conflict:
			n.action, n.reason = actionHeld, g.Row.HoldReason
		}
		out = append(out, n)
	}
	return out
}

// tellSettled follows up on the due pass: what it did beside completing rows.
func (s worker) tellSettled(ctx context.Context, tx storage.Tx, rows []*scheduleRow) error {
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
		n.action, n.reason = actionDeactivated, r.ReasonCode
		return true
	case r.Status == StatusFailed:
		n.reason = fmt.Sprintf("%s, on hold: %s", r.ReasonCode, r.HoldReason)
	case r.Status == StatusPending && r.NextRetryOn.After(now):
		n.reason = fmt.Sprintf("%s, again at %s", r.ReasonCode, stampText(r.NextRetryOn))
	default:
		return false
	}
	n.action = actionTryFailed
	if r.ReasonCode == reasons.LeaseExpired {
		n.action = actionLeaseLost
	}
	return true
}

// storable makes a text that every database takes, of at most 500 bytes.
func storable(s string) string { return texts.Detail(s) }

// cut leaves at most n bytes of s, and whole characters.
func cut(s string, n int) string {
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}
