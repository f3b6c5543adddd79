package notifyhttp

import (
	"bytes"
	_ "embed" // the page
	"errors"
	"html/template"
	"net/http"
	"strconv"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/templates"
)

// Sample is a message to look at: a job with sample data, and its recipient.
type Sample struct {
	Name      string // in the list; empty: the job's type
	Job       notify.Job
	Recipient notify.Recipient
}

// PreviewsOptions are the settings of [Previews]. Authorise or Development is required.
type PreviewsOptions struct {
	// Authorise says who is calling; samples are rendered in the caller's Scope. The zero
	// Caller sees nothing, so with one tenant set the caller's Inbox.
	Authorise Authorise
	// Development shows the samples without Authorise, each in its own Scope. Use it only on
	// a developer's machine.
	Development bool
	Samples     []Sample
	// Locales are the languages offered for each sample.
	Locales []string
	// Templates has the versions for ?version=; nil: none.
	Templates *templates.Table
}

//go:embed previews.html
var previewsHTML string

var previewsPage = template.Must(template.New("previews").Parse(previewsHTML))

// Previews renders messages without sending or storing them:
//
//	GET /              the samples
//	GET /{n}           one of them: subject, texts, attachments; what refuses it
//	                   ?locale=de for another language, ?version=3 for one of the
//	                   versions in Templates instead of the type's renderer
//	GET /{n}/html      its HTML, without scripts and without anything from elsewhere
//
// Mount it with http.StripPrefix and a path that ends without a slash. It panics
// without a notifier, and without Authorise or Development.
func Previews(n *notify.Notifier, o PreviewsOptions) http.Handler {
	if n == nil || o.Authorise == nil && !o.Development {
		panic("notifyhttp: Previews needs a notifier, and Authorise or Development")
	}
	s := previews{n, o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.allowed(s.list))
	mux.HandleFunc("GET /{sample}", s.allowed(s.one))
	mux.HandleFunc("GET /{sample}/html", s.allowed(s.html))
	return mux
}

type previews struct {
	n *notify.Notifier
	o PreviewsOptions
}

// allowed authorises the caller before anything else.
func (s previews) allowed(serve func(http.ResponseWriter, *http.Request, Caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var caller Caller
		if s.o.Authorise != nil {
			var err error
			if caller, err = s.o.Authorise(r); err != nil || caller.isZero() {
				http.Error(w, "not signed in", http.StatusUnauthorized)
				return
			}
		}
		h := w.Header()
		private(h)
		serve(w, r, caller)
	}
}

// errNoVersions is the answer to ?version= without PreviewsOptions.Templates.
var errNoVersions = errors.New("PreviewsOptions.Templates is not set, so there are no versions")

// preview is the data of the page.
type preview struct {
	Samples []Sample // of the list
	Locales []string
	Locale  string // that was asked for
	Version string // likewise
	Sample  Sample
	Frame   string // where its HTML is, relative to its page
	Content notify.Content
	Refused string // why rendering failed
	Style   template.CSS
}

func (s previews) list(w http.ResponseWriter, _ *http.Request, _ Caller) {
	s.show(w, preview{Samples: s.o.Samples})
}

func (s previews) one(w http.ResponseWriter, r *http.Request, c Caller) {
	sample, content, err := s.render(r, c)
	if sample == nil {
		http.NotFound(w, r)
		return
	}
	p := preview{
		Sample: *sample, Locales: s.o.Locales, Locale: sample.Recipient.Locale, Version: r.URL.Query().Get("version"), Frame: r.PathValue("sample") + "/html", Content: content,
	}
	if err != nil {
		p.Refused = err.Error()
	}
	if r.URL.RawQuery != "" {
		p.Frame += "?" + r.URL.Query().Encode()
	}
	s.show(w, p)
}

// html answers with the HTML part only; its policy isolates it.
func (s previews) html(w http.ResponseWriter, r *http.Request, c Caller) {
	sample, content, err := s.render(r, c)
	if sample == nil || err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'")
	_, _ = w.Write([]byte(content.HTML)) // the client is gone
}

// render returns no sample if the path names none.
func (s previews) render(r *http.Request, c Caller) (*Sample, notify.Content, error) {
	i, err := strconv.Atoi(r.PathValue("sample"))
	if err != nil || i < 1 || i > len(s.o.Samples) {
		return nil, notify.Content{}, nil
	}
	sample := s.o.Samples[i-1]
	if s.o.Authorise != nil {
		sample.Job.Scope = c.Scope
	}
	q := r.URL.Query()
	if locale := q.Get("locale"); locale != "" {
		sample.Recipient.Locale = locale
	}
	version := q.Get("version")
	if version == "" {
		content, err := s.n.Preview(r.Context(), sample.Job, sample.Recipient)
		return &sample, content, err
	}
	if s.o.Templates == nil {
		return &sample, notify.Content{}, errNoVersions
	}
	set, err := s.o.Templates.At(r.Context(), sample.Job.Scope, sample.Job.Type, version)
	if err != nil {
		return &sample, notify.Content{}, err
	}
	content, err := set.Render(r.Context(), sample.Job, sample.Recipient)
	return &sample, content, err
}

func (s previews) show(w http.ResponseWriter, p preview) {
	p.Style = preferenceStyle
	var out bytes.Buffer
	if err := previewsPage.Execute(&out, p); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", preferencePolicy+"; frame-src 'self'")
	_, _ = out.WriteTo(w) // the client is gone
}

// Number is the number of a sample in its path.
func (preview) Number(i int) int { return i + 1 }
