package automation

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// Explanation is the story of one key: who asked for the work, what happened to
// it, and what would happen now. String tells it to people.
type Explanation struct {
	Scope Scope
	Key   string
	// Schedule is the row; nil if there is none.
	Schedule *Schedule
	// Condition is that of a threshold's key, whether there is a row or not; nil
	// for other keys.
	Condition *Condition
	// Dispatched has the coordinates of what it led to.
	Dispatched notify.DispatchResult
	// Series is the series that the key is an occurrence of; nil: of none.
	Series *SeriesState
	// Messages is how many outgoing messages there are of its notification so far,
	// at most 1000; zero also where the dispatcher cannot tell.
	Messages int
	// History is what happened to it, the oldest first: who made it, the last 100
	// changes that programs and support made beside the usual way, its completion.
	History []Transition
	// Pauses are those that keep it from being claimed.
	Pauses []Pause
	// Now says what would happen at this moment, and why not more.
	Now string
}

// String is a text of several lines.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, e.Key)
	if e.Schedule != nil {
		e.origin(&b)
		e.state(&b)
	}
	e.series(&b)
	for _, t := range e.History {
		fmt.Fprintf(&b, "  %s\n", t)
	}
	fmt.Fprintf(&b, "  now: %s", e.Now)
	return b.String()
}

// origin says what the work is about and who asked for it.
func (e Explanation) origin(b *strings.Builder) {
	r := e.Schedule
	fmt.Fprintf(b, "  %s for %s %s", r.Type, r.SourceType, r.Source)
	if r.TriggerType == DateBased {
		fmt.Fprintf(b, ", %s %s, at %s %s", r.offset(), r.TargetDate, r.SendAt, r.TimeZone)
	}
	if e.Condition != nil {
		fmt.Fprintf(b, ", %s", e.Condition)
	}
	fmt.Fprintf(b, ": %s\n", stampText(r.ScheduledOn))
	if r.baseKey() != r.Key {
		fmt.Fprintf(b, "  a rerun of %s\n", r.baseKey())
	}
	if r.Setting != r.Type {
		fmt.Fprintf(b, "  by setting %s\n", r.Setting)
	}
}

// state says what became of it.
func (e Explanation) state(b *strings.Builder) {
	r := e.Schedule
	fmt.Fprintf(b, "  %s", r.Status)
	if !r.EndedOn.IsZero() {
		fmt.Fprintf(b, " on %s", stampText(r.EndedOn))
	}
	if r.ReasonCode != "" {
		fmt.Fprintf(b, " (%s)", r.ReasonCode)
	}
	if r.RetryCount > 0 {
		fmt.Fprintf(b, ", %d tries failed, %d of them by a lost lease", r.RetryCount, r.LeaseLossCount)
	}
	fmt.Fprintln(b)
	if r.Diagnostics != "" {
		fmt.Fprintf(b, "  last error: %s\n", r.Diagnostics)
	}
	if r.IsOnSupportHold {
		fmt.Fprintf(b, "  on hold (%s): %s\n", r.HoldReason, r.HoldDetail)
	}
	if job := e.Dispatched.Notification; !job.IsZero() {
		fmt.Fprintf(b, "  delivery: %s, job %s / %s, %s, messages: %d\n",
			e.Dispatched.Path, job.PartitionKey, job.RowKey, e.Dispatched.Summary, e.Messages)
	}
}

func stampText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// offset is the way from the date, as people say it.
func (r *Schedule) offset() string {
	switch days := r.DaysBefore; {
	case days == 0:
		return "on"
	case days == 1:
		return "1 day before"
	case days == -1:
		return "1 day after"
	case days < 0:
		return fmt.Sprintf("%d days after", -days)
	default:
		return fmt.Sprintf("%d days before", days)
	}
}
