package surveyhttp

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// Worklist shows responses that nobody has handled, the unhappiest first, to whom the host
// lets in by [Caller].Responses, and lets those with a [Caller].Actor note what they did:
//
//	GET  /{survey}              the list, in pages (after)
//	GET  /{survey}/{publicId}   one response, handled or not, and what is known of its event
//	POST /{survey}/{publicId}   it is handled: note says how, and is audited
//
// It shows personal data. A caller sees those of its BusinessUnits; others look absent.
// What somebody has handled before stays as it is. The pages need no JavaScript and load
// nothing. What is refused is application/problem+json, with the statuses of [API].
// Requests of other origins are refused. It panics without a service or without who.
func Worklist(s *survey.Service, who Authorise, opts *ResultOptions) http.Handler {
	if s == nil || who == nil {
		panic("surveyhttp: Worklist needs a service and an Authorise")
	}
	style := shippedResultStyle + shippedWorkStyle
	if opts != nil && opts.Style != "" {
		style = opts.Style
	}
	var logger *slog.Logger
	if opts != nil {
		logger = opts.Logger
	}
	h := &worklist{results{s: s, style: style, logger: loglimit.Limited(logger), policy: pagePolicy(style)}}
	reads := func(c Caller) bool { return c.Responses }
	handles := func(c Caller) bool { return c.Responses && c.Actor != "" }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{survey}", httpapi.Known(who, reads, h.serve(h.list)))
	mux.HandleFunc("GET /{survey}/{response}", httpapi.Known(who, reads, h.serve(h.one)))
	mux.HandleFunc("POST /{survey}/{response}", httpapi.Known(who, handles, h.serve(h.handle)))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpapi.Fail(w, http.StatusNotFound, "there is nothing here")
	})
	return h.guarded(httpapi.Guarded(mux, "a request of another origin"))
}

// pagePolicy allows a page its style sheet, and nothing else.
func pagePolicy(style template.CSS) string {
	return "default-src 'none'; style-src " + hashOf(string(style)) + "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

type worklist struct{ results }

var (
	workTemplate     = template.Must(template.New("page.html").Funcs(template.FuncMap{"moment": instantText}).ParseFS(assets, "page/worklist/page.html"))
	shippedWorkStyle = template.CSS(asset("page/worklist/page.css"))
)

// work is what the pages are made from.
type work struct {
	Title   string
	Items   []survey.WorkItem
	Next    string
	One     bool // Item is shown
	Item    survey.WorkItem
	Facts   []fact
	Handles bool
	Fault   string
	Style   template.CSS
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
		case err != nil:
			httpapi.LogFailure(r, h.logger, "the worklist could not be served", err)
			httpapi.Fail(w, http.StatusServiceUnavailable, "try again")
		}
	}
}

func (h *worklist) list(w http.ResponseWriter, r *http.Request, c Caller, id int64) error {
	items, next, err := h.s.Support().Worklist(r.Context(), c.Scope, survey.WorklistQuery{
		SurveyID: id, BusinessUnits: c.BusinessUnits, Page: storage.Page{After: r.URL.Query().Get("after"), Limit: 50},
	})
	if err != nil {
		return err
	}
	return h.show(w, http.StatusOK, work{Title: "To be handled", Items: items, Next: next})
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
	return h.show(w, status, work{
		Title: "Response of " + item.PublicID, One: true, Item: item, Facts: append(factsOf(item.Event, "event"), factsOf(item.Answers, "answer")...),
		Handles: c.Actor != "", Fault: fault,
	})
}

// factsOf are the values of an object in the order of their names.
func factsOf(object []byte, of string) (out []fact) {
	values, err := form.Flatten(object)
	if err != nil {
		return nil // erased
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		if _, parted := values[path].(form.Object); parted {
			continue // its values come by themselves
		}
		out = append(out, fact{of + ": " + strings.TrimPrefix(path, "candidate."), fmt.Sprint(values[path])})
	}
	return out
}

// maxForm bounds what a desk fills in, in bytes as a form spells it.
const maxForm = 16 << 10

func (h *worklist) handle(w http.ResponseWriter, r *http.Request, c Caller, id int64) error {
	item, err := h.item(r, c, id)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	by := survey.By{Actor: c.Actor, Reason: strings.TrimSpace(r.PostFormValue("note"))}
	if err := by.Check(); err != nil {
		return h.showOne(w, http.StatusUnprocessableEntity, c, item, "Say in a few words what was done.")
	}
	err = h.s.Support().Handle(r.Context(), c.Scope, item.PublicID, by)
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
