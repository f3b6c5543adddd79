package surveyhttp

import (
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"slices"
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
	out.Texts = withShipped(out.Texts)
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	return out
}

// withShipped fills in what own leaves open, a locale from its language.
func withShipped(own map[string]Texts) map[string]Texts {
	texts := maps.Clone(shippedTexts)
	for _, locale := range slices.Sorted(maps.Keys(own)) { // "de" before "de-CH"
		at := canonical(locale)
		if at == "" {
			panic(fmt.Sprintf("surveyhttp: Forms: Texts for %q, which is no locale", locale))
		}
		texts[at] = own[locale].over(textsFor(texts, at))
	}
	return texts
}
