package surveyhttp_test

import (
	"bytes"
	"flag"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/survey/surveyhttp"
)

var update = flag.Bool("update", false, "write the golden pages")

// plain is a survey that is written for nobody in particular.
const plain = `{
	"title": "How was it?",
	"questions": [{"id": "rate", "type": "rating", "label": "Rate it", "required": true}],
	"triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"],
		"schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]
}`

// A page speaks the recipient's language where the survey does, else the browser's,
// and runs the way that language does.
func TestAPageIsInTheCustomersLanguage(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	for i, c := range []struct{ definition, recipient, browser, html, button string }{
		{csiGR, "en", "ar", `lang="en" dir="ltr"`, "Send answers"},
		{csiGR, "ar-IQ", "en", `lang="ar" dir="rtl"`, "إرسال الإجابات"},
		{csiGR, "AR_iq", "", `lang="ar" dir="rtl"`, "إرسال الإجابات"},
		{csiGR, "", "fr, en;q=0.5, ar;q=0.2", `lang="en" dir="ltr"`, "Send answers"},
		{plain, "de-CH", "en", `lang="de-ch" dir="ltr"`, "Antworten senden"},
		{plain, "fr", "", `lang="fr" dir="ltr"`, "Envoyer les réponses"},
		{plain, "es-MX", "", `lang="es-mx" dir="ltr"`, "Enviar respuestas"},
		{plain, "vi", "", `lang="vi" dir="ltr"`, "Gửi câu trả lời"},
		{plain, "", "tlh, vi;q=0.9", `lang="vi" dir="ltr"`, "Gửi câu trả lời"},
		{plain, "", "", `lang="en" dir="ltr"`, "Send answers"},
		{plain, "he", "", `lang="he" dir="rtl"`, "Send answers"},
		{plain, "uz-Arab", "", `lang="uz-arab" dir="rtl"`, "Send answers"},
		{plain, "ar-Latn", "", `lang="ar-latn" dir="ltr"`, "إرسال الإجابات"},
	} {
		h.publish(c.definition)
		token := h.visit(string(rune('a'+i)), c.recipient)
		page := call(t, h.forms, "GET", "/s/"+token, "", "Accept-Language", c.browser).Body
		if !strings.Contains(page, "<html "+c.html+">") || !strings.Contains(page, `<button type="submit">`+c.button+`</button>`) {
			t.Errorf("%s, %s: %.80s", c.recipient, c.browser, page)
		}
	}
	for browser, want := range map[string]string{"": "There is no survey here", "ar": "لا يوجد استبيان هنا", "xx, de-AT": "Hier gibt es keine Umfrage"} {
		if page := call(t, h.forms, "GET", "/s/x", "", "Accept-Language", browser).Body; !strings.Contains(page, "<h1 dir=\"auto\">"+want) {
			t.Errorf("%s: %s", browser, page)
		}
	}
}

// A host has pages, a style and words of its own.
func TestAHostReplacesThePages(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	token := h.link("en")
	h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{
		Texts: map[string]surveyhttp.Texts{"en": {Submit: "Off it goes"}, "PT_br": {Submit: "Enviar", NothingTitle: "Nada aqui"}},
		Style: surveyhttp.DefaultStyle() + "\nmain { color: navy }",
	})
	if _, page := h.get("/s/" + token); !strings.Contains(page, ">Off it goes<") || !strings.Contains(page, "(optional)") || !strings.Contains(page, "main { color: navy }") {
		t.Error(page)
	}
	if page := call(t, h.forms, "GET", "/s/x", "", "Accept-Language", "pt-BR").Body; !strings.Contains(page, "Nada aqui") || !strings.Contains(page, "The link may be incomplete") {
		t.Error(page)
	}
	h.publish(plain)
	h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Texts: map[string]surveyhttp.Texts{"de-CH": {Survey: "Umfrog"}, "de": {Submit: "Ab damit"}}})
	if _, page := h.get("/s/" + h.visit("ch", "de-CH")); !strings.Contains(page, ">Ab damit<") {
		t.Error(page)
	}
	h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{
		Template: template.Must(template.New("mine").Parse(`{{.State}} {{.Heading}}{{range .Fields}} {{.Name}}={{.Control}}{{end}}`)),
	})
	if _, page := h.get("/s/" + token); page != "form Your visit q.rate=scale q.has-a-complaint=radio q.complaint=lines q.hours=number q.name=line q.by=radio q.liked=check q.next=date" {
		t.Error(page)
	}
	var log bytes.Buffer
	h.forms = surveyhttp.Forms(h.survey, &surveyhttp.FormOptions{Template: template.Must(template.New("bad").Parse(`half of {{.Nothing}}`)), Logger: logTo(&log)})
	if status, page := h.get("/s/" + token); status != 503 || strings.Contains(page, "half") || !strings.Contains(log.String(), "template") {
		t.Error(status, page, log.String())
	}
}

// The pages are as they were when somebody looked at them last.
func TestThePagesAreAsTheyWere(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	h.publish(csiGR)
	for name, page := range map[string]func(token string) (int, string){
		"form": func(token string) (int, string) { return h.get("/s/" + token) },
		"faults": func(token string) (int, string) {
			return h.form(token, "q.has-a-complaint=yes&shown=complaint&q.hours=%3Cscript%3E")
		},
		"more":   func(token string) (int, string) { return h.form(token, "q.has-a-complaint=yes&q.name=%22%3E") },
		"thanks": func(token string) (int, string) { return h.form(token, good) },
		"none":   func(string) (int, string) { return h.get("/s/x") },
	} {
		for _, locale := range []string{"en", "ar"} {
			token := h.visit(name+locale, locale)
			_, got := page(token)
			got = strings.ReplaceAll(strings.ReplaceAll(got, token, "TOKEN"), string(surveyhttp.DefaultStyle()), "STYLE")
			if before, rest, ok := strings.Cut(got, "<script>"); ok {
				_, after, _ := strings.Cut(rest, "</script>")
				got = before + "<script>SCRIPT</script>" + after
			}
			compare(t, filepath.Join("testdata", name+"."+locale+".html"), got)
		}
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test -update writes it): %s", file, diff)
	}
}
