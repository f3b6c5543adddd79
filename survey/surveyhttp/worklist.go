package surveyhttp

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// WorklistOptions are the settings of [Worklist]; nil and every zero value are useful.
type WorklistOptions struct {
	// Style is the style sheet of the pages; empty: the one that comes with the package.
	Style template.CSS
	// Ticket is the address of a response's ticket in the host's own system; nil, and empty:
	// there is none. It is called from several goroutines.
	Ticket func(survey.WorkItem) string
	// Logger gets what failed; default slog.Default().
	Logger *slog.Logger
}

// Worklist shows unhappy responses, the newest first, to whom the host lets in by
// [Caller].Responses, and lets those with a [Caller].Actor take them and note what they did:
//
//	GET  /{survey}              the list, in pages (after): state (open, assigned or handled),
//	                            mine, queue, since and until (days such as 2026-05-14, both
//	                            included, in UTC)
//	GET  /{survey}/{publicId}   one response, and what is known of its event
//	POST /{survey}/{publicId}   do=take and do=release change who deals with it, unless another
//	                            than from does; do=handle: note says what was done
//
// It shows personal data. A caller sees those of its BusinessUnits; others look absent.
// What was handled before stays as it is. Actions are audited. The pages need no JavaScript and
// load nothing. What is refused is application/problem+json, with the statuses of [API].
// Requests of other origins are refused. It panics without a service or without who.
func Worklist(s *survey.Service, who Authorise, opts *WorklistOptions) http.Handler {
	if s == nil || who == nil {
		panic("surveyhttp: Worklist needs a service and an Authorise")
	}
	var o WorklistOptions
	if opts != nil {
		o = *opts
	}
	style := cmp.Or(o.Style, shippedResultStyle+shippedWorkStyle)
	h := &worklist{results{s: s, style: style, logger: loglimit.Limited(o.Logger), policy: pagePolicy(style)}, o.Ticket}
	reads := func(c Caller) bool { return c.Responses }
	handles := func(c Caller) bool { return c.Responses && c.Actor != "" }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{survey}", httpapi.Known(who, reads, h.serve(h.list)))
	mux.HandleFunc("GET /{survey}/{response}", httpapi.Known(who, reads, h.serve(h.one)))
	mux.HandleFunc("POST /{survey}/{response}", httpapi.Known(who, handles, h.serve(h.act)))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpapi.Fail(w, http.StatusNotFound, "there is nothing here")
	})
	return h.guarded(httpapi.Guarded(mux, "a request of another origin"))
}

// pagePolicy allows a page its style sheet, and nothing else.
func pagePolicy(style template.CSS) string {
	return "default-src 'none'; style-src " + hashOf(string(style)) + "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

type worklist struct {
	results
	ticket func(survey.WorkItem) string
}

var (
	workTemplate     = template.Must(template.New("page.html").Funcs(template.FuncMap{"moment": instantText}).ParseFS(assets, "page/worklist/page.html"))
	shippedWorkStyle = template.CSS(asset("page/worklist/page.css"))
)

// work is what the pages are made from.
type work struct {
	Title string
	Style template.CSS
	Actor string // empty: it may only look

	// The list.
	survey.WorklistPage
	More           string // leads to the next page; empty: none
	Most           bool   // Total is the least that there are
	Silent         bool   // the latest version does not say what is unhappy
	Since, Until   string
	Mine           bool
	States, Queued []choice

	// The page of a response.
	One    bool
	Item   survey.WorkItem
	Ticket string
	Facts  []fact
	Fault  string
}

type fact struct{ Name, Value string }

// serve reads which survey is asked for, and answers what failed.
func (h *worklist) serve(f func(http.ResponseWriter, *http.Request, Caller, int64) error) httpapi.Handler[Caller] {
	return func(w http.ResponseWriter, r *http.Request, c Caller) {
		id, err := strconv.ParseInt(r.PathValue("survey"), 10, 64)
		if err != nil || id < 1 {
			httpapi.Fail(w, http.StatusBadRequest, "the survey is not a number above zero")
			return
		}
		switch err := f(w, r, c, id); {
		case errors.Is(err, storage.ErrNotFound):
			httpapi.Fail(w, http.StatusNotFound, "there is no such response")
		case errors.Is(err, storage.ErrPage):
			httpapi.Fail(w, http.StatusBadRequest, "after is not a place in the list")
		case errors.Is(err, errList):
			httpapi.Fail(w, http.StatusBadRequest, err.Error())
		case err != nil:
			httpapi.LogFailure(r, h.logger, "the worklist could not be served", err)
			httpapi.Fail(w, http.StatusServiceUnavailable, "try again")
		}
	}
}

// workStates are the states that a list may be of, by their parameters.
var workStates = []struct {
	name  string
	state survey.WorkState
	label string
}{
	{"", "", "to be handled"}, {"open", survey.WorkOpen, "not assigned"}, {"assigned", survey.WorkAssigned, "assigned"}, {"handled", survey.WorkHandled, "handled"},
}

// errList is a parameter of a list that cannot be read.
var errList = errors.New("state is not one of open, assigned and handled, or since or until is not a day such as 2026-05-14")

// readList reads which list is asked for.
func readList(p url.Values, c Caller, id int64) (q survey.WorklistQuery, err error) {
	q = survey.WorklistQuery{SurveyID: id, BusinessUnits: c.BusinessUnits, Queue: p.Get("queue"), Page: storage.Page{After: p.Get("after"), Limit: 50}}
	if p.Has("mine") {
		q.Assignee = c.Actor
	}
	known := false
	for _, s := range workStates {
		if s.name == p.Get("state") {
			q.State, known = s.state, true
		}
	}
	var bad, worse error
	q.Since, bad = readDay(p.Get("since"), "since")
	q.Until, worse = readDay(p.Get("until"), "until")
	if !known || bad != nil || worse != nil || !utf8.ValidString(q.Queue) || strings.ContainsFunc(q.Queue, unicode.IsControl) {
		return q, errList
	}
	if !q.Until.IsZero() {
		q.Until = q.Until.AddDate(0, 0, 1)
	}
	return q, nil
}

func (h *worklist) list(w http.ResponseWriter, r *http.Request, c Caller, id int64) error {
	asked := r.URL.Query()
	q, err := readList(asked, c, id)
	if err != nil {
		return err
	}
	page, err := h.s.Support().Worklist(r.Context(), c.Scope, q)
	if err != nil {
		return err
	}
	p := work{
		Title: "Unhappy responses", Actor: c.Actor, WorklistPage: page, Most: page.Total >= survey.WorklistCounted,
		Since: asked.Get("since"), Until: asked.Get("until"), Mine: asked.Has("mine"),
	}
	if page.Next != "" {
		asked.Set("after", page.Next)
		p.More = "?" + asked.Encode()
	}
	for _, s := range workStates {
		p.States = append(p.States, choice{s.name, s.label, s.state == q.State})
	}
	p.Queued = queueChoices(page.Queues, q.Queue)
	if len(page.Items) == 0 {
		latest, err := h.latest(r, c.Scope, id)
		p.Silent = err == nil && latest.Unhappy == nil
	}
	return h.show(w, http.StatusOK, p)
}

// queueChoices are the queues that a list may be parted by; none, if there is but one.
func queueChoices(queues []survey.QueueCount, chosen string) (out []choice) {
	out = append(out, choice{"", "all", chosen == ""})
	known := chosen == ""
	for _, q := range queues {
		if q.Queue != "" {
			out = append(out, choice{q.Queue, fmt.Sprintf("%s (%d)", q.Queue, q.N), q.Queue == chosen})
			known = known || q.Queue == chosen
		}
	}
	if !known {
		out = append(out, choice{chosen, chosen + " (0)", true})
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

// item is a response that the caller may see.
func (h *worklist) item(r *http.Request, c Caller, id int64) (survey.WorkItem, error) {
	item, err := h.s.Support().Work(r.Context(), c.Scope, strings.ToValidUTF8(r.PathValue("response"), ""))
	if err == nil && (item.SurveyID != id || c.BusinessUnits != nil && !slices.Contains(c.BusinessUnits, item.BusinessUnit)) {
		err = storage.ErrNotFound
	}
	return item, err
}

func (h *worklist) one(w http.ResponseWriter, r *http.Request, c Caller, id int64) error {
	item, err := h.item(r, c, id)
	if err != nil {
		return err
	}
	return h.showOne(w, http.StatusOK, c, item, "")
}

func (h *worklist) showOne(w http.ResponseWriter, status int, c Caller, item survey.WorkItem, fault string) error {
	p := work{Title: "Unhappy response", Actor: c.Actor, One: true, Item: item, Facts: factsOf(item.Event), Fault: fault}
	if !item.Unhappy {
		p.Title = "Response"
	}
	if h.ticket != nil {
		p.Ticket = h.ticket(item)
	}
	return h.show(w, status, p)
}

// factsOf are the values of an event in the order of their names.
func factsOf(event []byte) (out []fact) {
	values, err := form.Flatten(event)
	if err != nil {
		return nil // erased
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if _, parted := values[path].(form.Object); parted {
			continue // its values come by themselves
		}
		out = append(out, fact{strings.TrimPrefix(path, "candidate."), fmt.Sprint(values[path])})
	}
	return out
}

// maxForm bounds what a desk fills in, in bytes as a form spells it.
const maxForm = 16 << 10

func (h *worklist) act(w http.ResponseWriter, r *http.Request, c Caller, id int64) error {
	item, err := h.item(r, c, id)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	desk, by := h.s.Support(), survey.By{Actor: c.Actor, Reason: strings.TrimSpace(r.PostFormValue("note"))}
	switch r.PostFormValue("do") {
	case "take":
		by.Reason = "taken on the worklist"
		err = desk.Assign(r.Context(), c.Scope, item.PublicID, survey.Assignment{From: r.PostFormValue("from"), To: c.Actor}, by)
	case "release":
		by.Reason = "released on the worklist"
		err = desk.Assign(r.Context(), c.Scope, item.PublicID, survey.Assignment{From: r.PostFormValue("from")}, by)
	case "handle":
		if by.Check() != nil {
			return h.showOne(w, http.StatusUnprocessableEntity, c, item, "Say in a few words what was done.")
		}
		err = desk.Handle(r.Context(), c.Scope, item.PublicID, by)
	default:
		httpapi.Fail(w, http.StatusBadRequest, "do is not one of take, release and handle")
		return nil
	}
	if err != nil && !errors.Is(err, survey.ErrActionRefused) { // the page says who was first
		return err
	}
	w.Header().Set("Location", item.PublicID)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (h *worklist) show(w http.ResponseWriter, status int, p work) error {
	var out bytes.Buffer
	p.Style = h.style
	if err := workTemplate.Execute(&out, p); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", fallbackLocale)
	w.WriteHeader(status)
	_, _ = out.WriteTo(w) // the reader is gone
	return nil
}
