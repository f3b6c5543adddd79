package automation

import (
	"fmt"
	"strings"
	"time"
)

// Health is how due work is doing at a moment. Counts are of the rows that
// [Scheduler.Health] looked at. String tells it to people.
type Health struct {
	On time.Time
	// Scopes are those that were asked for; none: all.
	Scopes []Scope
	// OldestDueOn is the due moment of the row that has waited for longest; zero
	// if none of the rows waits. Rows that a worker has do not wait.
	OldestDueOn time.Time
	// Due are the due rows by type, the most first. DueCapped says that there are
	// more: in some lane a thousand rows were due.
	Due       []DueRows
	DueCapped bool
	// Holds are the rows on support hold, by reason.
	Holds []HeldRows
	// Lost are the series that have no next row, at most a hundred of those that
	// are without one for longest; a healthy system has none.
	Lost []LostSeries
	// LeaseLosses is how many rows this scheduler has taken over from workers that
	// died or stalled, since it was made.
	LeaseLosses int64
}

// DueRows are the due rows of one type.
type DueRows struct {
	Type string
	// Rows wait for a worker. Abandoned ones of them are left over from a worker
	// that is gone.
	Rows, Abandoned int
	// Held are those that a worker has at this moment.
	Held int
	// OldestDueOn is the due moment of the row that has waited for longest; zero
	// if a worker has all of them.
	OldestDueOn time.Time
	// Served says that the type is registered here.
	Served bool
}

// HeldRows are the rows on support hold for one reason. Capped says that there
// may be more: a thousand were looked at, of all scopes together.
type HeldRows struct {
	Reason Reason
	Rows   int
	Capped bool
}

// OldestDue is for how long the oldest due row has waited.
func (h Health) OldestDue() time.Duration {
	if h.OldestDueOn.IsZero() {
		return 0
	}
	return h.On.Sub(h.OldestDueOn)
}

// Unserved are the types that have due rows and are not registered here. Where
// another process registers them, that is as it should be.
func (h Health) Unserved() []string {
	var out []string
	for _, d := range h.Due {
		if !d.Served {
			out = append(out, d.Type)
		}
	}
	return out
}

// String is a text of several lines.
func (h Health) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "due work at %s", stampText(h.On))
	for i, scope := range h.Scopes {
		fmt.Fprintf(&b, "%s%q", []string{" of ", ", "}[min(i, 1)], scope)
	}
	h.due(&b)
	if len(h.Holds) == 0 {
		b.WriteString("\n  nothing waits for a person")
	}
	for _, held := range h.Holds {
		fmt.Fprintf(&b, "\n  on hold, %s: %s", held.Reason, atLeast(held.Rows, held.Capped))
	}
	h.lost(&b)
	fmt.Fprintf(&b, "\n  leases lost to workers that died or stalled, seen here: %d", h.LeaseLosses)
	return b.String()
}

func (h Health) due(b *strings.Builder) {
	switch {
	case !h.OldestDueOn.IsZero():
		fmt.Fprintf(b, "\n  the oldest has waited for %s", wait(h.OldestDue()))
	case h.DueCapped:
		b.WriteString("\n  workers have all that was due first")
	default:
		b.WriteString("\n  nothing waits for a worker")
	}
	for _, d := range h.Due {
		fmt.Fprintf(b, "\n  due, %s: %s", d.Type, atLeast(d.Rows, h.DueCapped))
		if d.Abandoned > 0 {
			fmt.Fprintf(b, ", %d of them left by a worker that is gone", d.Abandoned)
		}
		if d.Held > 0 {
			fmt.Fprintf(b, ", and %d with a worker", d.Held)
		}
		if !d.Served {
			b.WriteString("; not served by this process")
		}
	}
}

func atLeast(n int, capped bool) string {
	if capped {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}
