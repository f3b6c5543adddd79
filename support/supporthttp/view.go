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

	"github.com/belfry-go/belfry/internal/sentence"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/support"
)

//go:embed page
var files embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"when": when, "stamp": stamp, "shown": shown, "listed": listed, "weekday": weekday, "date": date, "clock": clock, "effects": effects, "title": title, "span": span,
	"word": word, "state": func(s string) support.State { return support.State(s) }, "sign": sign, "role": role, "label": label, "capital": sentence.Capital, "via": via, "age": age, "bytes": bytesOf, "giver": giverOfHold, "list": func(all ...any) []any { return all },
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
	More  bool // what is older was not looked at
	Needs []need
	Due   []work
	All   bool // of all tenants

	Story    *story
	Verdicts []verdict
	Need     need
	Doubts   []outage // of a cause of doubts
	Next     string   // link to the next page
	Codes    []code

	Filter   filter
	Unhappy  unhappyList
	Counts   []count
	Spans    []count
	Channels []string
	Days     []dayRows
	Message  *entry
	BackTo   string // the page that Back are the parameters of
	Work     []channelWork
	Coming   []day
	Log      []entry
	Now      time.Time

	Order   order
	Named   []entry // the first targets
	Wrong   string  // the field of a form that is wrong
	Fault   string  // what to do about it
	Reasons []string
	Acted   acted
	Done    bool
	// Request names the order that is about to be confirmed, so that it is done once.
	Request string
	Pages   []string // of others
	Plan    calendar
	List    support.List
	Picked  []string // targets as a form hands them back
}

// view begins a page.
func (c *call) view(page, title string) view {
	v := view{
		Page: page, Title: title, Pages: slices.Sorted(maps.Keys(c.s.o.Pages)),
		Note: c.s.o.Note, Caller: c.caller, Scope: string(c.scope), Now: c.s.desk.Now().In(c.zone()), BackTo: page,
	}
	if c.scope != c.caller.Scope {
		v.Tenant = string(c.scope)
	}
	return v
}

// zone is where the caller reads the clock.
func (c *call) zone() *time.Location {
	if c.caller.Zone == nil {
		return time.UTC
	}
	return c.caller.Zone
}

// at is a time as an answer has it: in UTC for programs, in their zone for people.
func (c *call) at(t time.Time) time.Time {
	if c.json || t.IsZero() {
		return t.UTC()
	}
	return t.In(c.zone())
}

// show answers with a page.
func (c *call) show(status int, v view) {
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
func (v view) May(a string) bool { return v.Caller.allowed(support.Action(a)) }

// Of is the link to the story of what was found.
func (v view) Of(a about) string {
	return v.Link("story", "person", a.Person, "method", a.Method, "address", a.Address, "type", a.Type, "id", a.ID, "key", a.Key, "message", a.Message, "provider", a.Provider)
}

// Row is the link to the story of a row.
func (v view) Row(e entry) string {
	switch {
	case e.Kind == support.KindReminder, e.Kind == support.KindLink, e.Kind == support.KindResponse, e.Kind == support.KindCampaign,
		e.Kind == support.KindAudit && e.Key != "" && e.Type == "automation_scheduler":
		return v.Link("story", "key", e.Key)
	case e.Kind == support.KindMessage:
		return v.Link("message", "id", e.MessageID)
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
	return t.Format("Mon 2 Jan 2006, 15:04")
}

func weekday(t time.Time) string { return t.Format("Monday, 2 January") }

func date(t time.Time) string { return t.Format(dateOnly) }

func clock(t time.Time) string { return t.Format("15:04") }

// Brief is a time at the beginning of a line, and Since one within it.
func (v view) Brief(t time.Time) string { return sentence.Capital(v.Since(t)) }

// Since is a time beside others, for people: without what it shares with now.
func (v view) Since(t time.Time) string {
	switch {
	case t.Format(dateOnly) == v.Now.Format(dateOnly):
		return t.Format("today, 15:04")
	case t.Year() == v.Now.Year():
		return t.Format("Mon 2 Jan, 15:04")
	}
	return t.Format("2 Jan 2006, 15:04")
}

// via is a channel by its method, for people.
func via(key string) string {
	method, _, _ := strings.Cut(key, ":")
	if name := map[string]string{"email": "Mail", "sms": "SMS", "whatsapp": "WhatsApp", "push": "Push", "inbox": "Inbox"}[method]; name != "" {
		return name
	}
	return key
}

// age is how long ago something was, for people.
func age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
}

// bytesOf is a size, for people.
func bytesOf(n int) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", (n+500)/1000)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// giverOfHold is the ReasonBy of a hold: Belfry, unless the page of reason codes does not
// have its code.
func giverOfHold(code string) string {
	if slices.ContainsFunc(support.Codes(), func(c support.Code) bool { return c.Code == code }) {
		return "belfry"
	}
	return "program"
}

// span is how long something takes, for people.
func span(seconds int) string { return (time.Duration(seconds) * time.Second).String() }

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

// Nav are the lists in the navigation. The others are reached from their causes.
func (v view) Nav() (out []count) {
	for _, l := range []support.List{support.Reminders, support.Links, support.Reports, support.Audit} {
		link := v.Link("list", "of", string(l))
		if l == support.Reminders {
			link = v.Link("reminders")
		}
		out = append(out, count{Name: listed(l), Link: link, Here: v.List == l})
	}
	return out
}

// Whole are the rows of a page that stand for one cause, or one state, and may be acted on
// at once.
func (v view) Whole() (out []entry) {
	if v.Page != "needs" && (v.Filter.State == "" || v.Filter.State == string(notify.StageMissing)) {
		return nil
	}
	for _, d := range v.Days {
		for _, e := range d.Rows {
			if len(e.Can) > 0 && e.Part == nil && e.Key != "" {
				out = append(out, e)
			}
		}
	}
	if len(v.Actions()) == 0 {
		return nil
	}
	return out
}

// Actions are those that the rows of a table know.
func (v view) Actions() (out []support.Action) {
	for _, d := range v.Days {
		for _, e := range d.Rows {
			for _, a := range e.Can {
				if e.Part == nil && a != support.SendTo && !slices.Contains(out, a) { // that is for one alone
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// Heading is what a cause is, for people.
func (n need) Heading() string {
	if n.Kind == support.NeedDoubt {
		return "It is unknown whether these " + rowWord(n.Table) + " were sent"
	}
	return sentence.Capital(n.What)
}

func rowWord(table string) string {
	if table == "survey_instance" {
		return "survey links"
	}
	return "messages"
}

// Sign is the state whose symbol and colour a cause has.
func (n need) Sign() support.State {
	switch n.Kind {
	case support.NeedDoubt:
		return support.StateUnknown
	case support.NeedHold, support.NeedPaused, support.NeedUnserved:
		return support.StateOnHold
	}
	return support.StateFailed
}

// Heading is what the cause of a page of rows is.
func (v view) Heading() string {
	n := v.Need
	if n.What == "" && n.Reason != "" {
		return support.ReasonWords(n.Reason)
	}
	return or(n.Name, string(n.Kind))
}

// FirstField reports whether a field is before the reason.
func (v view) FirstField() bool {
	return v.Order.Action == support.SendTo || v.Order.Action == support.Erase
}

// Refusals reports whether any target was refused.
func (v view) Refusals() bool {
	return slices.ContainsFunc(v.Acted.Targets, func(r result) bool { return !r.Done })
}

// Naming is what a target of an order is, for people.
func (v view) Naming(i int) string {
	one := v
	one.Order.Targets = v.Order.Targets[i : i+1]
	if i >= len(v.Named) {
		return string(v.Order.Targets[i].Kind) + " " + shown(v.Acted.Targets[i].Key)
	}
	one.Named = v.Named[i : i+1]
	return one.subject()
}
