package supporthttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/sentence"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// site is the console and the API.
type site struct {
	desk *support.Desk
	o    Options
	seal sealer
}

// route is one address, by the last parts of its path: whatever is before them is where
// the host has mounted it. What it takes and gives, in JSON, is what the document of the
// API says of it; a page has neither.
type route struct {
	method, path string
	acts         bool // needs an action, else the right to read
	serve        func(*call)
	says         string
	takes        []string // parameters, by their names
	body, gives  any
}

// api begins the path of the routes that answer in JSON.
const api = "api/v1/"

func (s *site) routes() []route {
	out := []route{
		{method: "GET", path: "", serve: s.home},
		{method: "GET", path: "search", serve: s.search},
		{method: "POST", path: "search", serve: s.sealSearch},
		{method: "GET", path: "story", serve: s.story},
		{method: "GET", path: "messages", serve: s.messages},
		{method: "GET", path: "messages.csv", serve: s.sheet},
		{method: "GET", path: "reminders", serve: s.reminders},
		{method: "GET", path: "unhappy", serve: s.unhappy},
		{method: "GET", path: "message", serve: s.message},
		{method: "GET", path: "mail", serve: s.mail},
		{method: "GET", path: "needs", serve: s.needs},
		{method: "GET", path: "list", serve: s.list},
		{method: "GET", path: "calendar", serve: s.calendar},
		{method: "GET", path: "reasons", serve: s.reasons},
		{method: "GET", path: "style.css", serve: s.style},
		{method: "POST", path: "act", acts: true, serve: s.act},
		{method: "GET", path: "openapi.json", serve: s.document},
		{
			method: "GET", path: api + "story", serve: s.apiStory, gives: story{}, says: "What happened about a person, an address, an entity or a row, and what is planned. Name one of them.",
			takes: []string{"person", "method", "address", "type", "id", "key", "message", "provider", "after"},
		},
		{
			method: "GET", path: api + "verdict", serve: s.apiVerdict, gives: verdict{}, says: "Whether a person got something and, if not, why: in a sentence.",
			takes: []string{"person", "type"},
		},
		{method: "POST", path: api + "search", serve: s.apiSearch, body: wanted{}, gives: found{}, says: "Finds a person's id, an address, a key, an id, an order's number or a name."},
		{method: "GET", path: api + "needs", serve: s.apiNeeds, gives: needs{}, says: "What needs attention, by cause, the most urgent first.", takes: []string{"everywhere"}},
		{
			method: "GET", path: api + "waiting", serve: s.apiWaiting, gives: rows{}, says: "The rows of one cause, as needs names it.",
			takes: []string{"kind", "domain", "table", "reason", "name", "after"},
		},
		{method: "GET", path: api + "health", serve: s.apiHealth, gives: atWork{}, says: "How the due rows of each channel and type are doing.", takes: []string{"everywhere"}},
		{
			method: "GET", path: api + "calendar", serve: s.apiCalendar, gives: calendar{},
			says: "What goes out on each of the next 14 days, of UTC, as it is planned now; the gates have not been asked yet.",
		},
		{
			method: "GET", path: api + "upcoming", serve: s.apiUpcoming, gives: rows{}, takes: []string{"from", "to", "after"},
			says: "The reminders and reports that are planned on the days from one to another, in the caller's zone.",
		},
		{method: "GET", path: api + "reasons", serve: s.apiReasons, gives: codes{}, says: "All reason codes of Belfry, with what they mean."},
		{
			method: "POST", path: api + "act", acts: true, serve: s.apiAct, body: order{}, gives: acted{},
			says: "Does an action on up to a hundred targets, or says what it would do. Each target has an answer of its own: a refused one does not stop the others.",
		},
	}
	for _, l := range support.Lists() {
		takes := []string{"after", "limit"}
		if l == support.Messages {
			takes = append(takes, "from", "to", "state", "type", "unit", "channel")
		}
		says := "A page of the " + strings.ReplaceAll(string(l), "-", " ") + " of the tenant."
		if l == support.Reminders {
			takes = append(takes, "from", "to", "type", "unit")
			says += " With from or to: those that were planned for these days and ended without a message, the last first."
		}
		out = append(out, route{
			method: "GET", path: api + string(l), gives: rows{}, takes: takes,
			says:  says,
			serve: func(c *call) { s.apiList(c, l) },
		})
	}
	return out
}

// call is one request of a caller who was let in.
type call struct {
	w      http.ResponseWriter
	r      *http.Request
	caller Caller
	scope  storage.Scope
	query  url.Values
	json   bool
	s      *site
}

func (s *site) handler() http.Handler {
	routes := s.routes()
	return httpapi.Guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, inJSON := place(r.URL.Path)
		c := &call{w: w, r: r, json: inJSON, s: s}
		caller, err := s.o.Authorise(r)
		if other, rest := s.otherPage(r.URL.Path); other != nil && err == nil && caller.Read {
			http.StripPrefix(strings.TrimSuffix(r.URL.Path, rest), other).ServeHTTP(w, r)
			return
		}
		c.headers()
		if err != nil {
			c.fail(http.StatusUnauthorized, "not signed in")
			return
		}
		c.caller, c.scope = caller, caller.Scope
		if r.URL.Path == "" { // the host has taken the mount from it, and links are relative to its slash
			mount, _, _ := strings.Cut(r.RequestURI, "?")
			w.Header().Set("Location", path.Base(mount)+"/")
			w.WriteHeader(http.StatusPermanentRedirect)
			return
		}
		var allowed []string
		for _, to := range routes {
			if to.path != page {
				continue
			}
			if to.method == r.Method || to.method == "GET" && r.Method == http.MethodHead {
				s.enter(c, to)
				return
			}
			allowed = append(allowed, to.method)
		}
		switch {
		case !caller.Read && len(caller.Act) == 0:
			c.fail(http.StatusForbidden, "not allowed")
		case len(allowed) > 0:
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			c.fail(http.StatusMethodNotAllowed, "this route does not take that method")
		default:
			c.fail(http.StatusNotFound, nothing)
		}
	}), "requests from other sites are refused")
}

// otherPage is the handler of another package that a path leads to, and its path there.
// Whatever is before "pages" is where the host has mounted the console.
func (s *site) otherPage(full string) (h http.Handler, rest string) {
	parts := strings.Split(full, "/")
	for i := len(parts) - 3; i >= 0; i-- {
		if h = s.o.Pages[parts[i+1]]; h != nil && parts[i] == "pages" {
			return h, "/" + strings.Join(parts[i+2:], "/")
		}
	}
	return nil, ""
}

// place is which route a path means.
func place(full string) (page string, inJSON bool) {
	parts := strings.Split(full, "/")
	page = parts[len(parts)-1]
	if n := len(parts); n >= 3 && parts[n-3]+"/"+parts[n-2]+"/" == api {
		return api + page, true
	}
	return page, false
}

// nothing is what is said of all that is not there, and of what is another tenant's.
const nothing = "this row or page does not exist"

// enter lets those in who may, and reads what they ask for.
func (s *site) enter(c *call, to route) {
	if to.acts && len(c.caller.Act) == 0 || !to.acts && !c.caller.Read {
		c.fail(http.StatusForbidden, "not allowed")
		return
	}
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		c.fail(http.StatusBadRequest, "the query cannot be read")
		return
	}
	c.query = query
	if !c.tenant() {
		return
	}
	to.serve(c)
}

// tenant takes the tenant that the request names, of those who may. It answers for itself
// unless it is true.
func (c *call) tenant() bool {
	if !c.query.Has("tenant") || storage.Scope(c.query.Get("tenant")) == c.caller.Scope {
		return true
	}
	if !c.caller.Everywhere {
		c.fail(http.StatusForbidden, "not allowed")
		return false
	}
	c.scope = storage.Scope(c.query.Get("tenant"))
	return true
}

// headers keep a page from running or loading anything but its own style.
func (c *call) headers() {
	h := c.w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
}

// fail answers with a problem, or with a page that says it.
func (c *call) fail(status int, title string) {
	if c.json {
		httpapi.Fail(c.w, status, title)
		return
	}
	v := c.view("problem", sentence.Capital(title))
	v.Problem = sentence.Capital(title) + "."
	c.show(status, v)
}

// refuse answers a call that returned an error. Only what is our own failure is logged, by
// its cause.
func (c *call) refuse(what string, err error) {
	var value *storage.ValueError
	switch {
	case errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrPage), errors.As(err, &value):
		c.fail(http.StatusNotFound, nothing)
	case errors.Is(err, support.ErrAbout):
		c.fail(http.StatusUnprocessableEntity, "invalid request: name one thing, with all of its parameters")
	case errors.Is(err, support.ErrRequest):
		c.fail(http.StatusUnprocessableEntity, "this Idempotency-Key was used for another request")
	case errors.Is(err, support.ErrOrder):
		c.fail(http.StatusUnprocessableEntity, invalid)
	default:
		if c.r.Context().Err() == nil {
			c.s.o.Logger.ErrorContext(c.r.Context(), "belfry: support: "+what, slog.String("cause", cause(err)))
		}
		c.fail(http.StatusServiceUnavailable, "try again")
	}
}

// invalid is what is said of an order that makes no sense.
const invalid = "invalid request: check action, targets, decision and reason"

// passing are failures of a database that say nothing of a row.
var passing = []error{
	storage.ErrUnavailable, storage.ErrBusy, storage.ErrRetryTx, storage.ErrOutcomeUnknown, storage.ErrStale, storage.ErrSchema, context.DeadlineExceeded,
}

// cause says why a call failed in words of ours alone: the text of an error may be
// personal, if it is a host's, and may hold what was looked for, if it is a database's.
func cause(err error) string {
	var hook *sweep.HookError
	if errors.As(err, &hook) {
		return hook.Error()
	}
	for _, known := range passing {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return "SQLSTATE " + coded.SQLState()
	}
	return fmt.Sprintf("an error of type %T", innermost(err))
}

func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// opened is a parameter that may be sealed. It answers for itself unless it is true.
func (c *call) opened(names ...string) (out []string, ok bool) {
	for _, name := range names {
		text, ok := c.s.seal.open(c.scope, c.query.Get(name))
		if !ok {
			c.fail(http.StatusNotFound, nothing)
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}

// about is what a story is asked about.
func (c *call) about() (a support.About, p storage.Page, ok bool) {
	in, ok := c.opened("person", "method", "address", "type", "id", "key", "message", "provider", "after")
	if !ok {
		return a, p, false
	}
	if in[2] != "" && !strings.HasPrefix(c.query.Get("address"), sealed) {
		c.fail(http.StatusUnprocessableEntity, openAddress)
		return a, p, false
	}
	a = support.About{Person: in[0], Key: in[5], MessageID: in[6], ProviderID: in[7]}
	a.Address.Method, a.Address.Address = in[1], in[2]
	a.Entity.Type, a.Entity.ID = in[3], in[4]
	return a, storage.Page{After: in[8]}, true
}

// openAddress is what is said of an address in a URL, which others can read.
const openAddress = "a URL must not hold an address: search for it, and use the sealed one of the answer"

// need is what a list is asked about.
func (c *call) need() (n support.Need, p storage.Page, ok bool) {
	in, ok := c.opened("after")
	if !ok {
		return n, p, false
	}
	q := c.query
	return support.Need{Kind: support.NeedKind(q.Get("kind")), Domain: q.Get("domain"), Table: q.Get("table"), Reason: q.Get("reason"), Name: q.Get("name")},
		storage.Page{After: in[0], Limit: support.DefaultPage}, true
}

// reach is the tenant, or all of them where that is asked for.
func (c *call) reach() (storage.ScopeFilter, bool) {
	if c.query.Get("everywhere") != "true" {
		return storage.Within(c.scope), true
	}
	if !c.caller.Everywhere {
		c.fail(http.StatusForbidden, "not allowed")
		return storage.ScopeFilter{}, false
	}
	return storage.Everywhere(), true
}

// hide is a personal text as the caller may see it.
func (c *call) hide(text string) string {
	if c.caller.Personal {
		return text
	}
	return ""
}

// handle is a key as the caller may have it: as it is, or sealed.
func (c *call) handle(text string) string {
	if c.caller.Personal && !strings.HasPrefix(text, sealed) {
		return text
	}
	return c.s.seal.close(c.scope, text)
}

// can are the actions that make sense and that the caller may take.
func (c *call) can(all []support.Action) []support.Action {
	return slices.DeleteFunc(slices.Clone(all), func(a support.Action) bool { return !c.caller.allowed(a) })
}
