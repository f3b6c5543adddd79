package notify_test

import (
	"encoding/json"
	"errors"
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify"
)

func render(t *testing.T, tmpl notify.Template, event string) (notify.Content, error) {
	t.Helper()
	return tmpl.Render(t.Context(), notify.Job{EventData: []byte(event)}, notify.Recipient{Name: "O'Neil <sam>", Locale: "de-AT"})
}

//spec:f-014
func TestTemplatesRenderTheMembersOfEventData(t *testing.T) {
	t.Parallel()
	got, err := render(t, notify.Template{
		Subject: "{{.Source.ID}} on {{.On}}",
		Text:    "Dear {{.Recipient.Name}}, {{.Amount}}",
		HTML:    "<p title=\"{{.On}}\">Dear {{.Recipient.Name}}</p>",
	}, `{"Source":{"ID":"first-aid"},"On":"2026-05-01","Amount":9007199254740993}`)
	want := notify.Content{
		Subject: "first-aid on 2026-05-01",
		Text:    "Dear O'Neil <sam>, 9007199254740993",
		HTML:    "<p title=\"2026-05-01\">Dear O&#39;Neil &lt;sam&gt;</p>",
		Locale:  "de-AT",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What somebody has typed into a form is neither a template nor HTML, nor a script in
// an attribute.
func TestTemplateInjectionIsText(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{`{{.Recipient.Name}}`, `{{range 1000000}}x{{end}}`, `{{template "x"}}`} {
		event, err := json.Marshal(map[string]string{"Typed": typed + `<script>`, "Link": "javascript:alert(1)"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := render(t, notify.Template{Subject: "{{.Typed}}", Text: "{{.Typed}}", HTML: `<p>{{.Typed}}</p><a href="{{.Link}}">`}, string(event))
		want := notify.Content{
			Subject: typed + "<script>", Text: typed + "<script>", Locale: "de-AT",
			HTML: "<p>" + html.EscapeString(typed+"<script>") + `</p><a href="#ZgotmplZ">`,
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

//spec:f-015
func TestAnEntityIDIsEventData(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]string{`42`: "42", `"car-7"`: "car-7", `null`: "<no value>", ``: "<no value>"} {
		got, err := render(t, notify.Template{Text: "{{.EventData}}"}, event)
		if err != nil || got.Text != want {
			t.Errorf("%s: %q, %v", event, got.Text, err)
		}
	}
}

func TestTheDataMayHaveARecipientOfItsOwn(t *testing.T) {
	t.Parallel()
	got, err := render(t, notify.Template{Text: "{{.Recipient}}"}, `{"Recipient":"the archive"}`)
	if err != nil || got.Text != "the archive" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestTemplatesRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tmpl    notify.Template
		event   string
		content bool // refused as content, so that no try follows
	}{
		"a name that is missing":      {notify.Template{Text: "{{.Sourse}}"}, `{"Source":1}`, false},
		"data that is no JSON":        {notify.Template{Text: "x"}, `{`, false},
		"a template that is none":     {notify.Template{Subject: "{{"}, `{}`, false},
		"HTML that cannot be escaped": {notify.Template{HTML: `<a href={{if .A}}"{{end}}>`}, `{"A":true}`, false},
		"a subject that is too long":  {notify.Template{Subject: "{{.A}}"}, `{"A":"` + strings.Repeat("x", notify.MaxSubject+1) + `"}`, true},
		"a text without end":          {notify.Template{Text: `{{range 1000000}}12345678{{end}}`}, `{}`, true},
		"HTML that is too long":       {notify.Template{HTML: `{{range 100000}}12345678{{end}}`}, `{}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := render(t, c.tmpl, c.event)
			if err == nil || errors.Is(err, notify.ErrContent) != c.content {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Integers can be compared, at any depth; what no int64 holds prints as it was.
func TestNumbersOfTheDataAreNumbers(t *testing.T) {
	t.Parallel()
	got, err := render(t, notify.Template{
		Text: "{{if gt .Days 0}}before{{else}}after{{end}} {{index .Rows 0}} {{if eq .In.N 2}}two{{end}} {{.Big}} {{.Price}}",
	}, `{"Days":-1,"Rows":[3],"In":{"N":2},"Big":92233720368547758070,"Price":1.50}`)
	if want := "after 3 two 92233720368547758070 1.50"; err != nil || got.Text != want {
		t.Errorf("%q, %v, want %q", got.Text, err, want)
	}
}
