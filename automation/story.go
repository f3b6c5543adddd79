package automation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
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

// tellStory reads what happened to the row of e, and what stands in its way.
func (s *Scheduler) tellStory(ctx context.Context, tx storage.Tx, e *Explanation) (err error) {
	row := e.Schedule
	if e.History, err = row.history(ctx, tx); err != nil {
		return err
	}
	if e.Condition, err = loadCondition(ctx, tx, row.Scope, row.baseKey()); err != nil {
		return err
	}
	all, err := pausesOf(ctx, tx, row.Scope)
	for _, p := range all {
		if p.covers(row.Scope, row.Type) {
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
func (r *Schedule) history(ctx context.Context, tx storage.Tx) ([]Transition, error) {
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
