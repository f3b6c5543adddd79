package supporthttp

import (
	"bytes"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

//go:embed page
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"when": when, "stamp": stamp, "words": words, "shown": shown, "listed": listed, "weekday": weekday, "clock": clock, "effects": effects, "list": func(all ...any) []any { return all },
}).ParseFS(files, "page/*.html"))

var styleSheet, _ = files.ReadFile("page/style.css") // it is embedded

// view is what a page shows; each uses its part.
type view struct {
	Page    string // which: the name of its template
	Title   string
	Note    string
	Tenant  string // a part of every link, where another one is looked at
	Scope   string
	Problem string
	Caller  Caller
	Back    string

	Query string
	Hits  []hit
	Needs []need
	Due   []work
	All   bool // of all tenants

	Story    *story
	Verdicts []verdict
	Need     need
	Rows     []entry
	Next     string // link to the next page
	Codes    []code

	Order order
	Acted acted
	Done  bool
	// Request names the order that is about to be confirmed, so that it is done once.
	Request string
	Lists   []support.List
	Days    calendar
	List    support.List
	Picked  []string // targets as a form hands them back
}

// show answers with a page.
func (c *call) show(status int, v view) {
	v.Lists = support.Lists()
	v.Note, v.Caller, v.Scope = c.s.o.Note, c.caller, string(c.scope)
	if c.scope != c.caller.Scope {
		v.Tenant = string(c.scope)
	}
	if v.Page == "" {
		v.Page = "problem"
	}
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, "layout.html", v); err != nil {
		c.w.WriteHeader(http.StatusInternalServerError)
		return
	}
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.WriteHeader(status)
	_, _ = out.WriteTo(c.w) // the client is gone
}

// Link is a relative address with parameters, those that are empty left out, and the tenant
// that is looked at.
func (v view) Link(page string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if v.Tenant != "" {
		q.Set("tenant", v.Tenant)
	}
	if page == "" {
		page = "./"
	}
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

// May reports whether the caller may take an action.
func (v view) May(a string) bool { return v.Caller.may(support.Action(a)) }

// Of is the link to the story of what was found.
func (v view) Of(a about) string {
	return v.Link("story", "person", a.Person, "method", a.Method, "address", a.Address, "type", a.Type, "id", a.ID, "key", a.Key, "message", a.Message, "provider", a.Provider)
}

// Row is the link to the story of a row.
func (v view) Row(e entry) string {
	switch e.Kind {
	case support.KindReminder, support.KindLink:
		return v.Link("story", "key", e.Key)
	case support.KindMessage:
		return v.Link("story", "message", e.MessageID)
	}
	return ""
}

// RowsOf is the link to the rows of a cause; empty: there are none to list.
func (v view) RowsOf(n need) string {
	if n.Reason != "" || n.Kind == support.NeedDead {
		return v.Link("needs", "kind", string(n.Kind), "domain", n.Domain, "table", n.Table, "reason", n.Reason, "name", n.Name)
	}
	return ""
}

// shown are the words of a handle, or that it is hidden.
func shown(handle string) string {
	if strings.HasPrefix(handle, sealed) {
		return "hidden"
	}
	return handle
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("Mon 2 Jan 2006, 15:04 UTC")
}

func weekday(t time.Time) string { return t.UTC().Format("Monday, 2 January") }

func clock(t time.Time) string { return t.UTC().Format("15:04") }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// words are an outcome for people.
func words(o support.Outcome) string {
	switch o {
	case support.Planned:
		return "to come"
	case support.UnderWay:
		return "under way"
	case support.Sent:
		return "sent"
	case support.Reached:
		return "arrived"
	case support.Withheld:
		return "not sent"
	case support.Failed:
		return "failed"
	}
	return "needs you"
}

// effects are what an action does, for people: one line for each thing that would happen,
// and to how many it would.
func effects(a acted) (out []string) {
	counts := map[string]int{}
	for _, t := range a.Targets {
		if t.Done && counts[t.Effect] == 0 {
			out = append(out, t.Effect)
		}
		if t.Done {
			counts[t.Effect]++
		}
	}
	for i, text := range out {
		if n := counts[text]; n > 1 {
			out[i] = fmt.Sprintf("%d times: %s", n, text)
		}
	}
	return out
}

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
func listed(l support.List) string {
	text := strings.ReplaceAll(string(l), "-", " ")
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

// rehearsed stands for the reason that a dry run is asked without, and is never stored.
const rehearsed = "dry run"

// act shows what an action would do, and with a confirmation does it.
func (s *site) act(c *call) {
	if httpapi.Media(c.r) != "application/x-www-form-urlencoded" {
		c.fail(http.StatusUnsupportedMediaType, "the body is no form")
		return
	}
	body, refused := httpapi.PlainBody(c.w, c.r, maxBody)
	if refused != nil {
		c.fail(refused.Status, refused.Title)
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		c.fail(http.StatusBadRequest, "the form cannot be read")
		return
	}
	if form.Has("tenant") {
		c.query.Set("tenant", form.Get("tenant"))
		if !c.tenant() {
			return
		}
	}
	want := ordered(form)
	if want.Action != support.Resolve {
		want.Evidence = ""
	}
	confirmed := form.Get("confirm") == "yes"
	if !confirmed {
		want.DryRun, want.Reason = true, rehearsed
	}
	o, ok := c.order(want)
	if !ok {
		return
	}
	if o.Request = form.Get("request"); o.Request != "" && !token(o.Request) {
		c.fail(http.StatusUnprocessableEntity, "the form was not made here")
		return
	}
	got, err := s.desk.Act(c.r.Context(), c.scope, o)
	if err != nil {
		c.refuse("an action failed", err)
		return
	}
	v := view{Page: "act", Title: string(want.Action), Order: want, Acted: c.actedOf(got, o.DryRun), Done: confirmed, Back: backTo(form.Get("back")), Request: rand.Text()}
	for _, t := range v.Acted.Targets { // as the caller may have them, however they came
		if t.Part == nil {
			v.Picked = append(v.Picked, string(t.Kind)+" "+t.Key)
		}
	}
	c.show(http.StatusOK, v)
}

// ordered is what a form asks for. A target is its kind and its key; a part of the work has
// fields of its own.
func ordered(form url.Values) order {
	want := order{Action: support.Action(form.Get("action")), Decision: form.Get("decision"), Reason: strings.TrimSpace(form.Get("reason")),
		Evidence: strings.TrimSpace(form.Get("evidence")), Confirm: strings.TrimSpace(form.Get("typed"))}
	if action, decision, ok := strings.Cut(string(want.Action), " "); ok { // of one button
		want.Action, want.Decision = support.Action(action), decision
	}
	for _, t := range form["target"] {
		kind, key, _ := strings.Cut(t, " ")
		want.Targets = append(want.Targets, target{Kind: support.Kind(kind), Key: key})
	}
	if form.Get("domain") != "" {
		p := &part{Domain: form.Get("domain"), Setting: form.Get("setting"), Subscriber: form.Get("subscriber"), Everywhere: form.Get("everywhere") == "true"}
		if name := strings.TrimSpace(form.Get("name")); form.Get("of") == "channel" {
			p.Channel = name
		} else {
			p.Type = name
		}
		want.Targets = append(want.Targets, target{Part: p})
	}
	return want
}

// backTo is where a form came from: one of our own pages with its parameters.
func backTo(text string) string {
	page, query, _ := strings.Cut(text, "?")
	if page != "story" && page != "needs" && page != "list" {
		return "./"
	}
	if _, err := url.ParseQuery(query); err != nil {
		return "./"
	}
	return page + "?" + query
}
