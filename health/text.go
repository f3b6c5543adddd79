package health

import (
	"fmt"
	"strings"
	"time"
)

// String is a text of several lines.
func (s Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "work at %s of ", stamp(s.On))
	if s.Everywhere {
		b.WriteString("all tenants")
	} else {
		fmt.Fprintf(&b, "%q", s.Scope)
	}
	if f := s.Forgotten; !f.NoticedOn.IsZero() {
		fmt.Fprintf(&b, "\n  the database has forgotten commits from %s to %s, noticed at %s", stamp(f.From), stamp(f.Until), stamp(f.NoticedOn))
	}
	s.due(&b)
	s.people(&b)
	for _, p := range s.Pauses {
		fmt.Fprintf(&b, "\n  paused since %s: %s", stamp(p.Since), p.what())
	}
	for _, o := range s.Outages {
		fmt.Fprintf(&b, "\n  out since %s: %s", stamp(o.Since), o.what())
	}
	for _, l := range s.Lost {
		fmt.Fprintf(&b, "\n  a series has no row since %s: %s", stamp(l.Since), l.Key)
	}
	for _, k := range s.Skipped {
		fmt.Fprintf(&b, "\n  cannot be planned since %s: %d sources of %s", stamp(k.Since), k.Sources, k.Kind)
	}
	for _, k := range s.Retention {
		fmt.Fprintf(&b, "\n  old rows of %s: %s", k.Table, k.what())
	}
	for _, k := range s.Stuck {
		fmt.Fprintf(&b, "\n  stuck in a call since %s: %d of %s in %s", stamp(k.Since), k.Rows, k.Kind, k.Pass)
	}
	fmt.Fprintf(&b, "\n  reminders taken over from workers that died or stalled, by this process: %d", s.LeaseLosses)
	return b.String()
}

func (s Summary) due(b *strings.Builder) {
	switch wait := s.OldestDue(); {
	case !s.OldestOn().IsZero():
		fmt.Fprintf(b, "\n  the oldest has waited for %s", wait.Truncate(time.Second))
	case s.DueCapped:
		b.WriteString("\n  workers have all that was due first")
	default:
		b.WriteString("\n  nothing waits for a worker")
	}
	for _, d := range s.Due {
		fmt.Fprintf(b, "\n  due, %s: %s", d.what(), atLeast(d.Rows, d.Capped))
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

// people lists what waits for a person.
func (s Summary) people(b *strings.Builder) {
	if len(s.Holds)+len(s.Doubts)+len(s.DeadLetters) == 0 {
		b.WriteString("\n  nothing waits for a person")
	}
	for _, c := range s.Holds {
		fmt.Fprintf(b, "\n  on hold, %s of %s: %s", c.Reason, c.Table, atLeast(c.Rows, c.Capped))
	}
	for _, c := range s.Doubts {
		fmt.Fprintf(b, "\n  in doubt, %s of %s: %s", c.Kind, c.Table, atLeast(c.Rows, c.Capped))
	}
	for _, c := range s.DeadLetters {
		fmt.Fprintf(b, "\n  dead letters, %s: %s", c.Kind, atLeast(c.Rows, c.Capped))
	}
}

func (d Due) what() string {
	text := d.Table
	if d.Kind != "" {
		text = d.Kind + " of " + d.Table
	}
	if d.Lane != 0 {
		text += fmt.Sprintf(" in lane %d", d.Lane)
	}
	return text
}

func (p Pause) what() string {
	text := p.Kind
	if text == "" {
		text = "everything"
	}
	if !p.Everywhere {
		text += fmt.Sprintf(" of %q", p.Scope)
	}
	return text
}

func (o Outage) what() string {
	text := o.Channel
	if !o.Everywhere {
		text += fmt.Sprintf(" of %q", o.Scope)
	}
	text += ", " + o.Class
	if o.Code != "" {
		text += " " + o.Code
	}
	return text
}

func (r Retention) what() string {
	text := fmt.Sprintf("kept for %s", r.KeptFor)
	switch {
	case r.AnnouncedOn.IsZero():
		return text + ", none is old enough"
	case r.BegunOn.Before(r.From):
		return text + ", some go from " + stamp(r.From)
	}
	text += fmt.Sprintf(", %d tombstones made and %d deleted since %s", r.Tombstones, r.Deleted, stamp(r.BegunOn))
	if !r.Running {
		text += ", until " + stamp(r.FinishedOn)
	}
	return text
}

func atLeast(n int, capped bool) string {
	if capped {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
