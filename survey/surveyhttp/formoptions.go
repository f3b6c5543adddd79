package surveyhttp

import (
	_ "embed" // the page
	"html/template"
	"log/slog"
	"maps"
	"net/http"
)

// FormOptions are the settings of [Forms]; nil and every zero value are useful.
type FormOptions struct {
	// Template makes the pages from a [Page], in all of its states; nil: the one
	// that comes with the package.
	Template *template.Template
	// Style is the style sheet of the pages; empty: the one that comes with the
	// package, which [DefaultStyle] gives to whoever wants to add to it.
	Style template.CSS
	// Texts replace the fixed texts of the pages, by language ("de") or by locale
	// ("de-CH"), and add languages. What is empty in them is taken from the texts
	// that come with the package.
	Texts map[string]Texts
	// Limit is asked about every request before anything is looked up; an error
	// refuses it with 429 and is not shown. Nil: no limit. It is called from several
	// goroutines. A token has 160 bits and cannot be guessed, so this protects the
	// database and not the links.
	Limit func(r *http.Request) error
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
	texts := maps.Clone(shippedTexts)
	for locale, t := range out.Texts {
		texts[canonical(locale)] = t.over(textsFor(texts, locale))
	}
	out.Texts = texts
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	return out
}
