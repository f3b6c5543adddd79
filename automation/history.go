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
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxHistory is how much of a row's history Explain shows.
const maxHistory = 100

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

// messageCounter is a dispatcher that knows how many messages a job led to, such
// as *notify.Notifier.
type messageCounter interface {
	CountMessages(ctx context.Context, tx storage.Tx, scope Scope, jobRowKey string) (int, error)
}

// tellStory reads what happened to the row, and what stands in its way.
func (s explainer) tellStory(ctx context.Context, tx storage.Tx, row *scheduleRow, e *Explanation) (err error) {
	told := row.view()
	e.Schedule = &told
	if e.History, err = row.history(ctx, tx); err != nil {
		return err
	}
	if e.Condition, err = loadCondition(ctx, tx, row.Scope, row.baseKey()); err != nil {
		return err
	}
	all, err := pausesOf(ctx, tx, row.Scope)
	for _, p := range all {
		if p.covers(row.Scope, row.Kind) {
			e.Pauses = append(e.Pauses, p)
		}
	}
	e.Dispatched, _ = row.Dispatched() // undecodable: Now says so
	if counter, ok := s.out.(messageCounter); ok && err == nil && !e.Dispatched.Notification.IsZero() {
		e.Messages, err = counter.CountMessages(ctx, tx, row.Scope, e.Dispatched.Notification.RowKey)
	}
	return err
}

// history is what was written about the row, with what it tells itself.
func (r *scheduleRow) history(ctx context.Context, tx storage.Tx) ([]Transition, error) {
	entries, err := audit.History(ctx, tx, r.Scope, schedules.Name, r.Key, maxHistory)
	if err != nil {
		return nil, err
	}
	made := Transition{On: r.CreatedOn, Action: ActionCreated, Actor: actor(r.EventType, r.EventID), To: StatusPending}
	if len(entries) == maxHistory {
		made.Actor = "" // it may be told by an entry further back
	}
	var out []Transition
	for _, e := range entries {
		t := Transition{e.On, Action(e.Action), e.Actor, e.Reason, e.From, e.To}
		if t.Action == ActionCreated && t.On.Equal(made.On) {
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
		out = slices.Insert(out, later, Transition{r.EndedOn, ActionCompleted, actorDuePass, "", StatusProcessing, StatusCompleted})
	}
	slices.SortStableFunc(out, func(a, b Transition) int { return cmp.Compare(a.On.UnixMicro(), b.On.UnixMicro()) })
	return out, nil
}

// stopped says what keeps the row from being claimed.
func (e Explanation) stopped() string {
	var b strings.Builder
	for _, p := range e.Pauses {
		fmt.Fprintf(&b, "; paused by %s since %s", p.By.Actor, stampText(p.Since))
		if !p.Until.IsZero() {
			fmt.Fprintf(&b, " until %s", stampText(p.Until))
		}
		fmt.Fprintf(&b, ": %s", p.By.Reason)
	}
	return b.String()
}

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

func (r *scheduleRow) past() past { return past{r.Status, actor(r.EventType, r.EventID)} }

// note is one change of a row, for its history.
type note struct {
	row    *scheduleRow // as it was saved
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

// historian is a dispatcher that keeps the traces of runs, such as
// *notify.Notifier.
type historian interface {
	AutomationJobs(ctx context.Context, tx storage.Tx, scope Scope, sourceType, source string, p storage.Page) ([]notify.AutomationJob, string, error)
}

// History lists the runs of due work about a source that led to a delivery: one
// trace for each, written once when it was dispatched (Automation & Reminders,
// "AutomationJob"). It goes on after the row of a run was archived. Pages are in
// the order of keys, which is not that of time, and it says where the next one
// begins; empty after the last.
// Explain tells the story of a single row. The error says so if the dispatcher
// keeps no traces.
//
//spec:a-008
func (s Support) History(ctx context.Context, scope Scope, source Source, p storage.Page) ([]notify.AutomationJob, string, error) {
	out, ok := s.out.(historian)
	if !ok {
		return nil, "", errors.New("automation: History: the dispatcher keeps no traces of runs")
	}
	jobs, next, err := out.AutomationJobs(ctx, s.tx, scope, source.Type, source.ID, p)
	if err != nil {
		return nil, "", fmt.Errorf("automation: History: %w", err)
	}
	return jobs, next, nil
}
