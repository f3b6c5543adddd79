package supporthttp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

func (s *site) home(c *call) {
	reach, ok := c.reach()
	if !ok {
		return
	}
	needs, err := s.desk.Needs(c.r.Context(), reach)
	if err != nil {
		c.refuse("what waits for a person could not be listed", err)
		return
	}
	health, err := s.desk.Health(c.r.Context(), reach)
	if err != nil {
		c.refuse("the health could not be read", err)
		return
	}
	_, one := reach.Scope()
	c.show(http.StatusOK, view{Page: "home", Title: "Support", Needs: c.needsOf(needs), Due: worksOf(health), All: !one})
}

func (s *site) search(c *call) {
	hits, err := c.find()
	if err != nil {
		c.refuse("a search failed", err)
		return
	}
	found := c.hitsOf(hits)
	v := view{Page: "search", Title: "Search", Query: c.hide(c.query.Get("q")), Hits: found}
	if len(found) == 1 { // straight there: relative, so that a mount is kept
		v.show303(c, found[0])
		return
	}
	c.show(http.StatusOK, v)
}

// show303 goes to the one thing that was found.
func (v view) show303(c *call, h hit) {
	if c.scope != c.caller.Scope {
		v.Tenant = string(c.scope)
	}
	c.w.Header().Set("Location", v.Of(h.About))
	c.w.WriteHeader(http.StatusSeeOther)
}

// maxVerdicts is how many types a person's page says a verdict of.
const maxVerdicts = 3

func (s *site) story(c *call) {
	about, p, ok := c.about()
	if !ok {
		return
	}
	got, err := s.desk.Story(c.r.Context(), c.scope, about, p)
	if err != nil {
		c.refuse("a story could not be told", err)
		return
	}
	told := c.storyOf(got)
	v := view{Page: "story", Title: "Story", Story: &told}
	if c.scope != c.caller.Scope {
		v.Tenant = string(c.scope)
	}
	_, v.Back, _ = strings.Cut(v.Of(told.About), "?") // not as it was asked for, which may be personal
	if about.Person != "" && p.After == "" {
		for _, typ := range typesOf(got) {
			verdict, err := s.desk.Verdict(c.r.Context(), c.scope, about.Person, typ)
			if err != nil {
				c.refuse("a verdict could not be found", err)
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
	rows, next, err := s.desk.Waiting(c.r.Context(), c.scope, of, p)
	if err != nil {
		c.refuse("the rows of a cause could not be listed", err)
		return
	}
	n := c.needsOf([]support.Need{of})[0]
	v := view{Page: "needs", Title: "Waits for a person", Need: n, Rows: c.entriesOf(rows), Back: c.r.URL.RawQuery}
	if c.scope != c.caller.Scope {
		v.Tenant = string(c.scope)
	}
	if next != "" {
		v.Next = v.Link("needs", "kind", string(n.Kind), "domain", n.Domain, "table", n.Table, "reason", n.Reason, "name", n.Name, "after", s.seal.close(c.scope, next))
	}
	c.show(http.StatusOK, v)
}

// calendar shows what goes out.
func (s *site) calendar(c *call) {
	days, more, err := s.desk.Calendar(c.r.Context(), c.scope, fortnight)
	if err != nil {
		c.refuse("the calendar could not be read", err)
		return
	}
	c.show(http.StatusOK, view{Page: "calendar", Title: "What goes out", Days: calendarOf(days, more)})
}

// list shows a page of a list.
func (s *site) list(c *call) {
	in, ok := c.opened("after")
	if !ok {
		return
	}
	of := support.List(c.query.Get("of"))
	all, next, err := s.desk.List(c.r.Context(), c.scope, of, storage.Page{After: in[0]})
	if errors.Is(err, support.ErrAbout) {
		c.fail(http.StatusNotFound, nothing)
		return
	}
	if err != nil {
		c.refuse("a list could not be read", err)
		return
	}
	v := view{Page: "list", Title: listed(of), List: of, Rows: c.entriesOf(all), Back: c.r.URL.RawQuery}
	if c.scope != c.caller.Scope {
		v.Tenant = string(c.scope)
	}
	if next != "" {
		v.Next = v.Link("list", "of", string(of), "after", s.seal.close(c.scope, next))
	}
	c.show(http.StatusOK, v)
}

// listed is the name of a list, for people.
func listed(l support.List) string { return title(string(l)) }

// title is a name of ours or of a host's page, for people.
func title(name string) string {
	text := strings.ReplaceAll(name, "-", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}

func (s *site) reasons(c *call) {
	v := view{Page: "reasons", Title: "Reason codes"}
	for _, r := range support.Codes() {
		v.Codes = append(v.Codes, code(r))
	}
	c.show(http.StatusOK, v)
}

func (s *site) style(c *call) {
	c.w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = c.w.Write(styleSheet) // the client is gone
}
