package supporthttp

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/support"
)

//go:embed page
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"when": when, "stamp": stamp, "words": words, "badge": badge, "shown": shown, "listed": listed, "weekday": weekday, "clock": clock, "effects": effects, "title": title, "span": span, "bar": bar, "list": func(all ...any) []any { return all },
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
	Pages   []string // of others
	Days    calendar
	List    support.List
	Picked  []string // targets as a form hands them back
}

// show answers with a page.
func (c *call) show(status int, v view) {
	v.Lists, v.Pages = support.Lists(), slices.Sorted(maps.Keys(c.s.o.Pages))
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
	switch {
	case e.Kind == support.KindReminder, e.Kind == support.KindLink, e.Kind == support.KindCampaign,
		e.Kind == support.KindAudit && e.Key != "" && e.Type == "automation_scheduler":
		return v.Link("story", "key", e.Key)
	case e.Kind == support.KindMessage:
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

// span is how long something takes, for people.
func span(seconds int) string { return (time.Duration(seconds) * time.Second).String() }

// bar is how wide the bar of a number is, in hundredths of the widest; what is there is
// seen.
func bar(n, most int) int {
	if n == 0 {
		return 0
	}
	return max(100*n/max(most, 1), 1)
}

// Most is the greatest number of what is due, and of a day of the calendar.
func (v view) Most() (most int) {
	for _, w := range v.Due {
		most = max(most, w.Rows)
	}
	for _, d := range v.Days.Days {
		most = max(most, d.Total())
	}
	return most
}

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

// badge is the outcome of a row, for people: what goes to nobody does not arrive.
func badge(k support.Kind, o support.Outcome) string {
	if o == support.Reached && (k == support.KindAudit || k == support.KindReplan || k == support.KindErasure) {
		return "done"
	}
	return words(o)
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
