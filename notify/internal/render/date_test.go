package render

import (
	"strings"
	"testing"
)

func TestDatesAreWrittenByLocale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ locale, template, want string }{
		{"", `{{.Day | date "long"}} {{.Day | date "short"}}`, "1 May 2026 01/05/2026"},
		{"en-IE", `{{.Day | date "long"}}`, "1 May 2026"},
		{"en-US", `{{.Day | date "long"}} {{.Day | date "short"}}`, "May 1, 2026 05/01/2026"},
		{"de-AT", `{{.Day | date "long"}} {{.Day | date "short"}}`, "1. Mai 2026 01.05.2026"},
		{"pt-BR", `{{.Day | date "long"}}`, "1 de maio de 2026"},
		{"ja", `{{.Day | date "long"}}`, "2026年5月1日"},
		{"nn", `{{.Day | date "long"}}`, "1. mai 2026"},
		{"de", `{{.Day | date "long" "fr"}}`, "1 mai 2026"},
		{"tlh", `{{.Day | date "long"}}`, "2026-05-01"},
		{"de", `{{.None | date "long"}}`, ""},
	} {
		for kind, tmpl := range both(t, c.template) {
			got, err := tmpl.Execute(In(t.Context(), c.locale), map[string]any{"Day": "2026-05-01", "None": ""}, 1<<10)
			if err != nil || got != c.want {
				t.Errorf("%s %s %s: %q, %v", kind, c.locale, c.template, got, err)
			}
		}
	}
	for template, want := range map[string]string{
		`{{.Name | date "long"}}`: "not a date", `{{.Name | date "huge"}}`: "long or short", `{{date "long"}}`: "takes a style",
		`{{.Long | printf "%s%s%s%s%s" .Long .Long .Long .Long | date "long"}}`: ErrLimit.Error(),
	} {
		if _, err := both(t, template)["text"].Execute(t.Context(), sample, 1<<10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", template, err)
		}
	}
}

// Every language has twelve months.
func TestEveryLanguageHasItsMonths(t *testing.T) {
	t.Parallel()
	for locale, d := range languages {
		if n := len(strings.Fields(d.months)); n != 12 {
			t.Errorf("%s: %d months", locale, n)
		}
	}
}
