package notifyhttp

import (
	"cmp"
	_ "embed" // the page
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/notify"
)

//go:embed unsubscribe.html
var unsubscribeHTML string

var unsubscribePage = template.Must(template.New("unsubscribe").Parse(unsubscribeHTML))

// The states of the page.
const (
	pageAsk  = "ask"
	pageDone = "done"
	pageVoid = "void"
)

// Unsubscribe serves the links of notify.Options.Unsubscribe with a plain English page;
// [Preferences] offers more. A GET shows a page and changes nothing, since mail scanners
// open links. A POST unsubscribes. With the body of RFC 8058 (List-Unsubscribe=One-Click)
// that mail programs send, with an empty body, and with the page's first button, it
// unsubscribes from the message's group, or from its type if it has no group. Other
// buttons unsubscribe from everything by this method that is not mandatory, or choose
// among notify.Options.Groups. The token is the last element of the path and the only
// credential. Malformed, forged and unknown links give the same page. Mount it at the
// path of UnsubscribeOptions.URL, followed by a slash. It panics without a notifier.
func Unsubscribe(n *notify.Notifier) http.Handler {
	if n == nil {
		panic("notifyhttp: Unsubscribe needs a notifier")
	}
	s := unsubscriber{n}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", s.ask)
	mux.HandleFunc("POST /", s.act)
	return mux
}

type unsubscriber struct{ n *notify.Notifier }

func tokenIn(r *http.Request) string { return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] }

func (s unsubscriber) ask(w http.ResponseWriter, r *http.Request) {
	groups, err := s.n.Contacts().GroupChoices(r.Context(), tokenIn(r))
	groups = slices.DeleteFunc(groups, func(g notify.GroupChoice) bool { return g.Name == "" })
	s.show(w, err, page{State: pageAsk, Groups: groups})
}

// page is the data of the template.
type page struct {
	State  string
	Groups []notify.GroupChoice
}

// Asked is the title of the message's group; empty: none.
func (p page) Asked() string {
	for _, g := range p.Groups {
		if g.Asked {
			return cmp.Or(g.Title, g.Name)
		}
	}
	return ""
}

func (s unsubscriber) act(w http.ResponseWriter, r *http.Request) {
	oneClick, err := readForm(w, r)
	if err != nil {
		http.Error(w, "the form cannot be read: open the page again", http.StatusBadRequest)
		return
	}
	what := r.PostForm.Get("what")
	if oneClick {
		what = string(notify.LeaveGroup)
	}
	switch notify.Leave(what) {
	case notify.LeaveGroup, notify.LeaveType, notify.LeaveAll:
		err = s.n.Contacts().Unsubscribe(r.Context(), tokenIn(r), notify.Leave(what))
	case choose:
		err = s.n.Contacts().ChooseGroups(r.Context(), tokenIn(r), r.PostForm["group"]...)
	default:
		http.Error(w, "the form names no choice: open the page again", http.StatusBadRequest)
		return
	}
	s.show(w, err, page{State: pageDone})
}

// readForm reads the body of a POST, and reports whether it is a mail program's one-click
// request (RFC 8058). Some programs send no body, no type, or plain text.
func readForm(w http.ResponseWriter, r *http.Request) (oneClick bool, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	switch httpapi.Media(r) {
	case "multipart/form-data":
		err = r.ParseMultipartForm(maxBody)
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
	default:
		var body []byte
		if body, err = io.ReadAll(r.Body); err == nil {
			r.PostForm, err = url.ParseQuery(strings.TrimSpace(string(body)))
		}
	}
	click := strings.TrimSpace(r.PostForm.Get("List-Unsubscribe"))
	return click == "One-Click" || len(r.PostForm) == 0, err
}

// choose handles the button below the list of groups.
const choose = "choose"

// show answers with the page in a state, or in the void state if the link is invalid.
func (s unsubscriber) show(w http.ResponseWriter, err error, p page) {
	status := http.StatusOK
	switch {
	case errors.Is(err, notify.ErrUnsubscribeToken):
		p, status = page{State: pageVoid}, http.StatusNotFound
	case err != nil:
		http.Error(w, "not available now, please try again later", http.StatusServiceUnavailable)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	private(h)
	w.WriteHeader(status)
	_ = unsubscribePage.Execute(w, p) // the client is gone
}

// private keeps a page out of caches and search engines, and its address from linked
// pages.
func private(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
}
