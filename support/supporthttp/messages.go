package supporthttp

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// pageRows is how many rows a table has.
const pageRows = 50

const dateOnly = "2006-01-02"

// filter is which messages a page shows, as its address says. Nothing in it is personal.
type filter struct {
	From, To                   string // days in the caller's zone, both among it
	State, Type, Unit, Channel string
}

// pairs are the parameters of a link to it.
func (f filter) pairs() []string {
	return []string{"from", f.From, "to", f.To, "state", f.State, "type", f.Type, "unit", f.Unit, "channel", f.Channel}
}

// made is what it leaves, by the clock of a zone.
func (f filter) made(zone *time.Location) (of notify.Made, err error) {
	of = notify.Made{Type: f.Type, BusinessUnit: f.Unit, Channel: f.Channel, Stage: notify.Stage(f.State)}
	first, err := civil.ParseDate(f.From)
	if err != nil {
		return of, err
	}
	last, err := civil.ParseDate(f.To)
	if err != nil {
		return of, err
	}
	if of.From, err = first.Start(zone); err == nil {
		of.Until, err = last.AddDays(1).Start(zone)
	}
	known := f.State == "" || slices.Contains(notify.Stages(), of.Stage)
	if err == nil && (!of.From.Before(of.Until) || !known || of.From.Year() < 1970) {
		err = support.ErrAbout
	}
	return of, err
}

// filter reads the parameters; today is the default. It answers for itself unless it is true.
func (c *call) filter() (f filter, of notify.Made, ok bool) {
	q := c.query
	today := c.s.desk.Now().In(c.zone()).Format(dateOnly)
	f = filter{From: cmp.Or(q.Get("from"), q.Get("to"), today), State: q.Get("state"), Type: q.Get("type"), Unit: q.Get("unit"), Channel: q.Get("channel")}
	f.To = cmp.Or(q.Get("to"), f.From)
	of, err := f.made(c.zone())
	if err != nil {
		c.fail(http.StatusUnprocessableEntity, "days are written 2026-04-17, the first is not after the last, and the state is one of those on the page")
	}
	return f, of, err == nil
}

// page reads the filter of a page, and where it begins. It answers for itself unless ok is true.
func (c *call) page() (f filter, of notify.Made, after string, ok bool) {
	if f, of, ok = c.filter(); !ok {
		return f, of, "", false
	}
	in, ok := c.opened("after")
	if !ok {
		return f, of, "", false
	}
	return f, of, in[0], true
}

// count is a state, with how many messages are in it.
type count struct {
	Name, State, Text, Link string
	Here                    bool
}

// messages shows the messages of some days.
func (s *site) messages(c *call) {
	f, of, after, ok := c.page()
	if !ok {
		return
	}
	rows, next, err := s.desk.Messages(c.r.Context(), c.scope, of, storage.Page{After: after, Limit: pageRows})
	if err != nil {
		c.refuse("the messages could not be listed", err)
		return
	}
	all := of
	all.Stage, all.Channel = "", ""
	counts, more, err := s.desk.CountMessages(c.r.Context(), c.scope, all)
	if err != nil {
		c.refuse("the messages could not be counted", err)
		return
	}
	v := c.view("messages", "Messages")
	v.Filter, v.Days, v.Back = f, c.byDay(c.entriesOf(rows)), c.r.URL.RawQuery
	v.Counts, v.More = v.countsOf(f, counts, more), more
	for _, n := range counts {
		if !slices.Contains(v.Channels, n.Channel) {
			v.Channels = append(v.Channels, n.Channel)
		}
	}
	if f.Channel != "" && !slices.Contains(v.Channels, f.Channel) {
		v.Channels = append(v.Channels, f.Channel)
	}
	v.Spans = v.spansOf(f, of.Until.Location())
	if next != "" {
		v.Next = v.Link("messages", append(f.pairs(), "after", s.seal.close(c.scope, next))...)
	}
	c.show(http.StatusOK, v)
}

// countsOf are the states with their numbers, those without any left out.
func (v view) countsOf(f filter, all []notify.StageCount, more bool) (out []count) {
	n := map[notify.Stage]int{}
	for _, c := range all {
		if f.Channel != "" && c.Channel != f.Channel {
			continue
		}
		n[""] += c.N
		n[c.Stage] += c.N
		if c.Stage.Missing() {
			n[notify.StageMissing] += c.N
		}
	}
	for _, stage := range append([]notify.Stage{""}, notify.Stages()...) {
		here := notify.Stage(f.State) == stage
		if n[stage] == 0 && !here && stage != "" && stage != notify.StageMissing {
			continue
		}
		to := f
		to.State = string(stage)
		name := word(support.State(stage))
		switch stage {
		case "":
			name = "All"
		case notify.StageMissing:
			name = "Did not get it"
		}
		out = append(out, count{name, string(stage), number(n[stage], more), v.Link("messages", to.pairs()...), here})
	}
	return out
}

// number is how many there are; numbers stop at a thousand. None among what was counted is
// none, beside what a page says of more.
func number(n int, more bool) string {
	switch {
	case n >= 1000:
		return "1,000+"
	case more && n > 0:
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}

// spansOf are the usual days, as links to the same page.
func (v view) spansOf(f filter, zone *time.Location) (out []count) {
	today := v.Now.In(zone)
	day := func(before int) string { return today.AddDate(0, 0, -before).Format(dateOnly) }
	for _, span := range []struct{ name, from, to string }{
		{"Today", day(0), day(0)}, {"Yesterday", day(1), day(1)}, {"7 days", day(6), day(0)}, {"30 days", day(29), day(0)},
	} {
		here := f.From == span.from && f.To == span.to
		to := f
		to.From, to.To = span.from, span.to
		out = append(out, count{Name: span.name, Link: v.Link(v.Page, to.pairs()...), Here: here})
	}
	return out
}

// planned is what a filter leaves of reminders, which have no channel.
func planned(of notify.Made) automation.PlannedFor {
	return automation.PlannedFor{From: of.From, Until: of.Until, Type: of.Type, BusinessUnit: of.BusinessUnit}
}

// reminders shows the reminders of some days that sent nothing.
func (s *site) reminders(c *call) {
	f, of, after, ok := c.page()
	if !ok {
		return
	}
	rows, next, err := s.desk.Withheld(c.r.Context(), c.scope, planned(of), c.caller.Personal, storage.Page{After: after, Limit: pageRows})
	if err != nil {
		c.refuse("the reminders could not be listed", err)
		return
	}
	f.State, f.Channel = "", ""
	v := c.view("reminders", "Reminders that sent nothing")
	v.Filter, v.Days, v.Back, v.List = f, c.byDay(c.entriesOf(rows)), c.r.URL.RawQuery, support.Reminders
	v.Spans = v.spansOf(f, c.zone())
	if next != "" {
		v.Next = v.Link("reminders", append(f.pairs(), "after", s.seal.close(c.scope, next))...)
	}
	c.show(http.StatusOK, v)
}

// dayRows are the rows of one day.
type dayRows struct {
	Name string // empty: they are not in the order of time
	Rows []entry
}

// undated are rows that are not in the order of time.
func undated(rows []entry) []dayRows {
	if len(rows) == 0 {
		return nil
	}
	return []dayRows{{Rows: rows}}
}

// byDay divides rows, which are in the order of time, by the days of the caller's zone.
func (c *call) byDay(rows []entry) (out []dayRows) {
	today := c.s.desk.Now().In(c.zone())
	for _, e := range rows {
		on := e.On.In(c.zone())
		name := on.Format("Monday, 2 January 2006")
		switch on.Format(dateOnly) {
		case today.Format(dateOnly):
			name = "Today, " + name
		case today.AddDate(0, 0, -1).Format(dateOnly):
			name = "Yesterday, " + name
		case today.AddDate(0, 0, 1).Format(dateOnly):
			name = "Tomorrow, " + name
		}
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, dayRows{Name: name})
		}
		out[len(out)-1].Rows = append(out[len(out)-1].Rows, e)
	}
	return out
}

// message shows one message as it was sent.
func (s *site) message(c *call) {
	e, ok := c.one()
	if !ok {
		return
	}
	v := c.view("message", e.Title())
	told := c.entryOf(e)
	v.Message, v.Back, v.BackTo = &told, c.r.URL.RawQuery, "message"
	c.show(http.StatusOK, v)
}

// one is the message that a page is about. It answers for itself unless it is true.
func (c *call) one() (e support.Entry, ok bool) {
	about := support.About{MessageID: cmp.Or(c.query.Get("id"), c.query.Get("message"))}
	got, err := c.s.desk.Story(c.r.Context(), c.scope, about, storage.Page{})
	if err != nil {
		c.refuse("a message could not be read", err)
		return e, false
	}
	return got.Past[0], true
}

// mail is the HTML of a message, for the frame of its page: nothing in it runs, loads or
// leads anywhere.
func (s *site) mail(c *call) {
	if !c.caller.Personal {
		c.fail(http.StatusForbidden, "not allowed")
		return
	}
	e, ok := c.one()
	if !ok {
		return
	}
	if e.HTML == "" {
		c.fail(http.StatusNotFound, nothing)
		return
	}
	h := c.w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprint(c.w, e.HTML) // the client is gone
}
