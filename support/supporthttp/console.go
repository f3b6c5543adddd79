package supporthttp

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/sentence"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// sealSearch leads to what is searched for, whose text is sealed in the address.
func (s *site) sealSearch(c *call) {
	form, ok := c.form()
	if !ok {
		return
	}
	c.see(c.view("search", "").Link("search", "q", s.seal.close(c.scope, strings.TrimSpace(form.Get("q")))))
}

func (s *site) search(c *call) {
	in, ok := c.opened("q")
	if !ok {
		return
	}
	if in[0] != "" && !strings.HasPrefix(c.query.Get("q"), sealed) {
		c.fail(http.StatusUnprocessableEntity, "type the search into the form; it must not be in the URL")
		return
	}
	hits, more, err := c.find(in[0])
	if err != nil {
		c.refuse("a search failed", err)
		return
	}
	found := c.hitsOf(hits)
	v := c.view("search", "Search")
	v.Query, v.Hits, v.More = c.hide(in[0]), found, more
	if len(found) == 1 {
		c.see(v.Of(found[0].About))
		return
	}
	c.show(http.StatusOK, v)
}

// see leads to another page: relative, so that a mount is kept.
func (c *call) see(page string) {
	c.w.Header().Set("Location", page)
	c.w.WriteHeader(http.StatusSeeOther)
}

// maxVerdicts is how many types a person's page says a verdict of.
const maxVerdicts = 3

func (s *site) story(c *call) {
	about, p, ok := c.about()
	if !ok {
		return
	}
	if about.MessageID != "" && about == (support.About{MessageID: about.MessageID}) {
		s.message(c)
		return
	}
	got, err := s.desk.Story(c.r.Context(), c.scope, about, p)
	if err != nil {
		c.refuse("the timeline could not be read", err)
		return
	}
	if about.Person != "" {
		got.Past = support.Occasions(got.Past)
	}
	told := c.storyOf(got)
	v := c.view("story", told.Heading())
	v.Story = &told
	_, v.Back, _ = strings.Cut(v.Of(told.About), "?") // not as it was asked for, which may be personal
	if about.Person != "" && p.After == "" {
		for _, typ := range typesOf(got) {
			verdict, err := s.desk.Verdict(c.r.Context(), c.scope, about.Person, typ)
			if err != nil {
				c.refuse("the delivery status could not be read", err)
				return
			}
			v.Verdicts = append(v.Verdicts, c.verdictOf(verdict))
		}
	}
	if told.After != "" {
		a := told.About
		v.Next = v.Link("story", "person", a.Person, "method", a.Method, "address", a.Address, "type", a.Type, "id", a.ID, "after", told.After)
	}
	c.show(http.StatusOK, v)
}

// Heading is whom or what a story is about, for people.
func (s story) Heading() string {
	a := s.About
	if a.Key != "" && len(s.Past) > 0 {
		return s.Past[0].Title()
	}
	return or(s.Name, shown(a.Person), shown(a.Address), shown(a.ID), a.Message, a.Provider, shown(a.Key))
}

// typesOf are the types of the last entries, and of those to come.
func typesOf(s support.Story) (out []string) {
	seen := map[string]bool{}
	for _, all := range [][]support.Entry{s.Past, s.Next} {
		for _, e := range all {
			if !seen[e.Type] && len(out) < maxVerdicts {
				seen[e.Type] = true
				out = append(out, e.Type)
			}
		}
	}
	return out
}

func (s *site) needs(c *call) {
	of, p, ok := c.need()
	if !ok {
		return
	}
	p.Limit = pageRows
	rows, next, err := s.desk.Waiting(c.r.Context(), c.scope, of, p)
	if err != nil {
		c.refuse("the rows of a cause could not be listed", err)
		return
	}
	n := c.needsOf([]support.Need{of})[0]
	v := c.view("needs", or(n.Reason, n.Name, string(n.Kind)))
	v.Need, v.Days, v.Back = n, undated(c.entriesOf(rows)), c.r.URL.RawQuery
	if n.Table == "outgoing_message" && n.Reason == reasons.OutcomeUnknown && p.After == "" && c.caller.allowed(support.Resolve) {
		doubts, more, err := s.desk.Doubts(c.r.Context(), c.scope)
		if err != nil {
			c.refuse("the doubts could not be listed", err)
			return
		}
		v.Doubts, v.More = c.doubtsOf(doubts), more
	}
	if next != "" {
		v.Next = v.Link("needs", "kind", string(n.Kind), "domain", n.Domain, "table", n.Table, "reason", n.Reason, "name", n.Name, "after", s.seal.close(c.scope, next))
	}
	c.show(http.StatusOK, v)
}

// calendar shows what goes out: how much on each day, or the rows of one.
func (s *site) calendar(c *call) {
	if c.query.Has("day") {
		s.day(c)
		return
	}
	days, more, err := s.desk.Calendar(c.r.Context(), c.scope, c.zone(), fortnight)
	if err != nil {
		c.refuse("the calendar could not be read", err)
		return
	}
	v := c.view("calendar", "What goes out")
	v.Plan = c.calendarOf(days, more)
	c.show(http.StatusOK, v)
}

// day shows what is planned on a day.
func (s *site) day(c *call) {
	in, ok := c.opened("after")
	if !ok {
		return
	}
	on := c.query.Get("day")
	from, until, ok := c.span(on, on)
	if !ok {
		return
	}
	all, next, err := s.desk.Upcoming(c.r.Context(), c.scope, from, until, c.caller.Personal, storage.Page{After: in[0], Limit: pageRows})
	if err != nil {
		c.refuse("what is planned could not be read", err)
		return
	}
	v := c.view("day", "Goes out on "+c.at(from).Format("Monday, 2 January 2006"))
	v.BackTo, v.Back, v.Days = "calendar", c.r.URL.RawQuery, c.byDay(c.entriesOf(all))
	if next != "" {
		v.Next = v.Link("calendar", "day", on, "after", s.seal.close(c.scope, next))
	}
	c.show(http.StatusOK, v)
}

// span is from the begin of one day until the end of another, in the caller's zone. It answers
// for itself unless it is true.
func (c *call) span(first, last string) (from, until time.Time, ok bool) {
	of, err := filter{From: first, To: last}.made(c.zone())
	if err != nil {
		c.fail(http.StatusUnprocessableEntity, "days are written 2026-04-17, and the first is not after the last")
	}
	return of.From, of.Until, err == nil
}

// list shows a page of a list.
func (s *site) list(c *call) {
	in, ok := c.opened("after")
	if !ok {
		return
	}
	of := support.List(c.query.Get("of"))
	if of == support.Messages || of == support.Unhappy { // they have pages of their own
		c.fail(http.StatusNotFound, nothing)
		return
	}
	all, next, err := s.desk.List(c.r.Context(), c.scope, of, storage.Page{After: in[0], Limit: pageRows})
	if errors.Is(err, support.ErrAbout) {
		c.fail(http.StatusNotFound, nothing)
		return
	}
	if err != nil {
		c.refuse("a list could not be read", err)
		return
	}
	v := c.view("list", listed(of))
	v.List, v.Back = of, c.r.URL.RawQuery
	rows := c.entriesOf(all)
	if v.Days = undated(rows); of == support.Audit || of == support.Runs {
		v.Days = c.byDay(rows)
	}
	if next != "" {
		v.Next = v.Link("list", "of", string(of), "after", s.seal.close(c.scope, next))
	}
	c.show(http.StatusOK, v)
}

// listed is the name of a list, for people.
func listed(l support.List) string {
	switch l {
	case support.Links:
		return "Surveys"
	case support.Runs:
		return "Report runs"
	}
	return title(string(l))
}

// title is a name of ours or of a host's page, for people.
func title(name string) string { return sentence.Capital(strings.ReplaceAll(name, "-", " ")) }

func (s *site) reasons(c *call) {
	v := c.view("reasons", "Reason codes")
	for _, r := range support.Codes() {
		v.Codes = append(v.Codes, code(r))
	}
	c.show(http.StatusOK, v)
}

func (s *site) style(c *call) {
	c.w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = c.w.Write(styleSheet) // the client is gone
}
