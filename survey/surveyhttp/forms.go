package surveyhttp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/httpapi"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// FormOptions are the settings of [Forms]; nil and every zero value are useful.
type FormOptions struct {
	// Template makes the pages from a [Page], in all of its states; nil: the one
	// that comes with the package.
	Template *template.Template
	// Style is the style sheet of the pages; empty: the one that comes with the
	// package, which [DefaultStyle] returns for hosts that add to it.
	Style template.CSS
	// Texts replace the fixed texts of the pages, by language ("de") or by locale
	// ("de-CH"), and add languages. What is empty in them is taken from the texts
	// that come with the package.
	Texts map[string]Texts
	// Logo is the address of a picture above the pages, of the same origin as they, such as
	// "/logo.svg"; empty: there is none.
	Logo string
	// LogoText says what the picture shows, for those who cannot see it.
	LogoText string
	// Privacy is the address of a page that says what becomes of the answers; empty: there is
	// none.
	Privacy string
	// Contact says on pages without a form, such as that of a link that has expired, how to
	// reach you; nil: nothing.
	Contact form.Text
	// Limit is asked about every request before anything is looked up; an error
	// refuses it with 429 and is not shown. Nil: no limit. It is called from several
	// goroutines. A token has 160 bits and cannot be guessed, so this protects the
	// database and not the links.
	Limit func(r *http.Request) error
	// Address says where a request comes from on the network, for [survey.Options].OpenPerHour: of a
	// server that is reached itself the host of RemoteAddr, behind a proxy what the proxy says. Nil: open
	// links have no such limit. It is called from several goroutines.
	Address func(r *http.Request) string
	// Logger gets what failed, without links and answers; default slog.Default().
	Logger *slog.Logger
}

func (o *FormOptions) withDefaults() FormOptions {
	var out FormOptions
	if o != nil {
		out = *o
	}
	if out.Template == nil {
		out.Template = shippedTemplate
	}
	if out.Style == "" {
		out.Style = DefaultStyle()
	}
	if out.Address == nil {
		out.Address = func(*http.Request) string { return "" }
	}
	out.Texts = withShipped(out.Texts)
	out.Logger = loglimit.Limited(out.Logger)
	return out
}

// withShipped fills in what own leaves open, a locale from its language.
func withShipped(own map[string]Texts) map[string]Texts {
	texts := maps.Clone(shippedTexts)
	for _, locale := range slices.Sorted(maps.Keys(own)) { // "de" before "de-CH"
		at := canonical(locale)
		if at == "" {
			panic(fmt.Sprintf("surveyhttp: Forms: Texts for %q, which is not a locale", locale))
		}
		texts[at] = own[locale].over(textsFor(texts, at))
	}
	return texts
}

// Forms serves the links of surveys to customers:
//
//	GET  /s/{token}                            the form
//	POST /s/{token}/opened                     the page says that it was shown
//	POST /SurveyInstances/{token}/responses    the answers
//	GET  /s/{token}/unsubscribe                asks whether the customer wants no more
//	POST /s/{token}/unsubscribe                and he does not: one click (RFC 8058) or the page's
//
// The form works without JavaScript, is drawn from the version that the link is
// pinned to, in the recipient's language, and runs from right to left where that
// does. A GET and a HEAD change nothing, so that mail scanners may follow links;
// that a customer has opened one is told by the page's own script, or by the
// answers.
//
// Answers come as the form sends them, which is answered with a page (303 to the link's
// own, where it says thanks), or as JSON:
//
//	{"answers": {"rate": 9}, "meta": {"agentId": "...", "completedAt": "...", "locale": "..."}}
//	200 {"publicId": "...", "completedAt": "..."}
//
// where meta may be left out, and a header Idempotency-Key tells repeats. What is
// wrong is listed as application/problem+json, status 422. A repeat of the same
// answers is answered as the first time was, others with 409. A body has at most
// 128 KiB, or as much as the longest answers need, and is not compressed.
// The page of a fault holds what was typed, to be sent again or copied; to that end up
// to 3 MiB of a form are read even where [FormOptions.Limit] refuses it. No server keeps
// what was typed: the page that answers a POST may stay in the customer's own browser, for
// its Back; all others are not to be kept.
//
// A link that is unknown, malformed or deleted gets one and the same answer, 404, so that
// nothing tells which tokens exist. So does the form of a survey without questions, which
// is kept elsewhere. A link that has expired answers 410.
//
// The links within the pages are relative, so that the handler may be mounted with
// http.StripPrefix. How slowly a customer may send is for the host's server to
// bound (http.Server.ReadTimeout). Forms panics without a service, and on Texts for what is
// no locale.
func Forms(s *survey.Service, opts *FormOptions) http.Handler {
	if s == nil {
		panic("surveyhttp: Forms needs a service")
	}
	f := &forms{s: s, o: opts.withDefaults()}
	f.policy = contentPolicy(f.o.Style)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /s/{token}", f.ask)
	mux.HandleFunc("POST /s/{token}/opened", f.opened)
	mux.HandleFunc("GET /s/{token}/unsubscribe", f.leave)
	mux.HandleFunc("POST /s/{token}/unsubscribe", f.left)
	mux.HandleFunc("POST /SurveyInstances/{token}/responses", f.submit)
	mux.HandleFunc("GET /SurveyInstances/{token}/responses", f.back)
	mux.HandleFunc("GET /", f.nothing)
	mux.HandleFunc("POST /", f.nothing)
	return f.guarded(mux)
}

type forms struct {
	s      *survey.Service
	o      FormOptions
	policy string // Content-Security-Policy
}

// guarded sets what every answer has, and asks the limiter before anything is
// looked up.
func (f *forms) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", f.policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Robots-Tag", "noindex, nofollow")
		if f.o.Limit != nil && f.o.Limit(r) != nil {
			f.answer(w, r, http.StatusTooManyRequests, StateBusy)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ask shows the form.
func (f *forms) ask(w http.ResponseWriter, r *http.Request) {
	form, err := f.s.Form(r.Context(), r.PathValue("token"))
	switch {
	case err != nil:
		f.failed(w, r, "a form could not be shown", err)
	case form.State == survey.FormAnswered && r.URL.Query().Has("sent"):
		f.show(w, r, http.StatusOK, f.page(r, form, StateThanks))
	case form.State == survey.FormAnswered:
		f.show(w, r, http.StatusOK, f.page(r, form, StateAnswered))
	case elsewhere(form):
		f.nothing(w, r)
	case form.State == survey.FormExpired:
		f.show(w, r, http.StatusGone, f.page(r, form, StateExpired))
	default:
		p := f.page(r, form, StateForm)
		p.Action = "../SurveyInstances/" + r.PathValue("token") + "/responses" + f.query(r)
		if p.Open || p.Anonymous {
			p.Nonce = rand.Text()
		}
		if !p.Open {
			p.Opened = r.PathValue("token") + "/opened"
		}
		given := prefilled(form, r.URL.Query(), p.Lang)
		answers, err := answersOf(form.Definition.Questions, given, p.Lang)
		if err != nil {
			f.failed(w, r, "a form could not be shown", err)
			return
		}
		p.ask(form, answers, given, nil)
		f.show(w, r, http.StatusOK, p)
	}
}

// prefilled are the answers that were clicked in the message, by the query, and those that
// the event gives. A value that the question does not accept is left out. Nothing of it is
// stored before the form is sent: mail scanners follow links too.
func prefilled(link survey.Form, query url.Values, locale string) url.Values {
	out := url.Values{}
	for _, q := range link.Definition.Questions {
		name := fieldName(q.ID)
		if value := query.Get(name); value != "" && q.Type.Chosen() && q.Accepts(value) {
			out.Set(name, value)
			continue
		}
		if value := link.Event.Value(strings.TrimPrefix(q.Prefill, "candidate.")); q.Prefill != "" && value != "" && q.Accepts(value) {
			if q.Type == form.NumberQuestion {
				value = spelled(value, locale)
			}
			out.Set(name, value)
		}
	}
	return out
}

// elsewhere says that the form of a survey is not kept here: it asks nothing.
func elsewhere(form survey.Form) bool { return len(form.Definition.Questions) == 0 }

// opened takes the word of the page that it was shown.
func (f *forms) opened(w http.ResponseWriter, r *http.Request) {
	if err := f.s.Opened(r.Context(), r.PathValue("token")); err != nil {
		f.failed(w, r, "an opened form could not be noted", err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (f *forms) nothing(w http.ResponseWriter, r *http.Request) {
	f.answer(w, r, http.StatusNotFound, StateNothing)
}

// failed answers what has neither a form nor answers. What is logged names no link.
func (f *forms) failed(w http.ResponseWriter, r *http.Request, what string, err error) {
	if errors.Is(err, survey.ErrNoSurvey) {
		f.nothing(w, r)
		return
	}
	httpapi.LogFailure(r, f.o.Logger, what, err)
	f.answer(w, r, http.StatusServiceUnavailable, StateBusy)
}
