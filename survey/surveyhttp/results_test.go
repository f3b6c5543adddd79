package surveyhttp_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// desk lets people in who know a word.
func desk(r *http.Request) (surveyhttp.Caller, error) {
	c := surveyhttp.Caller{Scope: "tenant", Results: true}
	switch r.Header.Get("Authorization") {
	case "Bearer reader":
	case "Bearer lead":
		c.Responses = true
	case "Bearer cork":
		c.Responses, c.BusinessUnits = true, []string{"cork"}
	case "Bearer other":
		c.Scope = "another"
	case "Bearer program":
		c = surveyhttp.Caller{Scope: "tenant", Ingest: true, Tick: true}
	default:
		return c, errors.New("who is that?")
	}
	return c, nil
}

// shows is the handler of results over the host's surveys, with n responses.
func (h *host) shows(n int) http.Handler {
	h.Helper()
	h.publish(strings.Replace(csiGR, `"questions":`, `"dimensions": ["candidate.city"], "questions":`, 1))
	for i := range n {
		report, err := h.survey.Ingest(h.Context(), survey.Batch{Scope: "tenant", EventKind: "service-visit-closed", Items: []survey.Item{{
			Payload:   json.RawMessage(fmt.Sprintf(`{"wip":"%d","dealerId":"1","jobType":"GR","city":"=Cork %d"}`, i, i%2)),
			Recipient: survey.Recipient{Address: "+964 770 000 0001", Locale: "en", CustomerRef: "cust-123"},
		}}})
		if err != nil {
			h.Fatal(err)
		}
		answers := fmt.Sprintf(`{"rate": %d, "has-a-complaint": "yes", "complaint": "<b>slow</b>", "by": "car", "hours": 1.5}`, 1+i%10)
		if _, err := h.survey.Complete(h.Context(), "tenant", report.Items[0].Instances[0].PublicID, survey.Response{Answers: json.RawMessage(answers)}); err != nil {
			h.Fatal(err)
		}
	}
	return surveyhttp.Results(h.survey, desk, &surveyhttp.ResultOptions{Logger: logTo(&locked{h: h})})
}

func see(t testing.TB, handler http.Handler, who, path string) answer {
	t.Helper()
	return call(t, handler, "GET", path, "", "Authorization", "Bearer "+who)
}

// The page says how many, and what of it; a table stands beside each picture.
func TestResultsAreShown(t *testing.T) {
	eachHost(t, func(h *host) {
		site := h.shows(20)
		got := see(h, site, "lead", "/4523?by=candidate.city&step=week")
		for _, want := range []string{
			"<h1><bdi>Your visit</bdi></h1>", "<dt>Responses</dt><dd>20</dd>", "<th scope=\"row\">Answered</th><td class=\"bar\"><svg",
			"CSAT <b>20 %</b>", "n = 20, mean 5.5<", "<bdi>By car</bdi></th><td class=\"bar\"><svg", "</td><td>20</td><td>100</td>", "<polyline", "<rect", "<bdi>=Cork 1</bdi></th><td>10</td>",
			`<th scope="row">2026-05-11</th><td>20</td>`, `href="4523/results.csv?by=candidate.city`, "4523/responses.csv",
		} {
			if !strings.Contains(got.Body, want) {
				h.Errorf("no %s in\n%s", want, got.Body)
			}
		}
		if got.Status != 200 || strings.Contains(got.Body, "<script") || strings.Contains(got.Body, "style=") || strings.Contains(got.Body, "slow") {
			h.Errorf("%d\n%s", got.Status, got.Body)
		}
		if policy := got.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script") {
			h.Error(policy)
		}
		if page := see(h, site, "reader", "/4523"); strings.Contains(page.Body, "responses.csv") {
			h.Error("who may not read responses is shown where they are")
		}
		if page := see(h, site, "cork", "/4523"); !strings.Contains(page.Body, "<dt>Responses</dt><dd>0</dd>") {
			h.Errorf("another unit's responses are counted:\n%s", page.Body)
		}
		if page := see(h, site, "reader", "/4523?since=2026-05-14&until=2026-05-14"); !strings.Contains(page.Body, "<dt>Responses</dt><dd>20</dd>") {
			h.Errorf("the last day is not one of them:\n%s", page.Body)
		}
	})
}

// Counts and responses come as files that spreadsheets and programs read.
func TestResultsAreExported(t *testing.T) {
	eachHost(t, func(h *host) {
		site := h.shows(12)
		for file, lines := range map[string]int{"results.csv?by=candidate.city": 1 + 2*(5+2+1+1+2), "responses.csv": 13} {
			got := see(h, site, "lead", "/4523/"+file)
			text, marked := strings.CutPrefix(got.Body, "\ufeff")
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if !marked || err != nil || len(rows) != lines || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/csv") {
				h.Errorf("%s: marked %t, %v, %d lines:\n%s", file, marked, err, len(rows), got.Body)
			}
			for _, row := range rows {
				for _, cell := range row {
					if strings.HasPrefix(cell, "=") {
						h.Errorf("%s: a formula: %s", file, cell)
					}
				}
			}
		}
		var counted struct {
			Groups []struct {
				Responses int
				Questions []struct {
					ID     string
					Mean   float64
					Counts map[string]int
				}
			}
		}
		got := see(h, site, "reader", "/4523/results.json")
		if err := json.Unmarshal([]byte(got.Body), &counted); err != nil || len(counted.Groups) != 1 || counted.Groups[0].Responses != 12 ||
			counted.Groups[0].Questions[0].ID != "rate" || counted.Groups[0].Questions[0].Counts["1"] != 2 {
			h.Errorf("%v\n%s", err, got.Body)
		}
		if got := see(h, site, "lead", "/4523/responses.jsonl"); strings.Count(got.Body, "\n") != 12 || got.Status != 200 {
			h.Errorf("%d\n%s", got.Status, got.Body)
		}
		if got := see(h, site, "cork", "/4523/responses.jsonl"); got.Body != "" || got.Status != 200 {
			h.Errorf("another unit's responses: %d\n%s", got.Status, got.Body)
		}
	})
}

// Nobody sees results but whom the host lets in, and only those of the tenant.
func TestResultsAreForWhomTheHostLetsIn(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	site := h.shows(6)
	for _, c := range []struct {
		who, path string
		status    int
	}{
		{"nobody", "/4523", 401}, {"program", "/4523", 403}, {"reader", "/4523/responses.csv", 403}, {"reader", "/4523/responses.jsonl", 403},
		{"other", "/4523", 404}, {"other", "/4523/results.json", 404}, {"reader", "/4524", 404}, {"reader", "/0", 400}, {"reader", "/x", 400},
		{"reader", "/4523?since=tomorrow", 400}, {"reader", "/4523?step=hour", 400}, {"reader", "/4523?since=2026-05-14&until=2026-05-01", 400},
		{"reader", "/4523?until=2026-13-01", 400}, {"reader", "/4523?compare=week", 400}, {"program", "/", 403}, {"reader", "/?after=%00", 400}, {"reader", "/4523/else", 404}, {"reader", "/4523?by=%00", 400},
	} {
		got := see(t, site, c.who, c.path)
		if got.Status != c.status || got.Header.Get("Content-Type") != "application/problem+json" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %s, want %d\n%s", c.who, c.path, got.Status, got.Header.Get("Content-Type"), c.status, got.Body)
		}
	}
	if _, err := h.survey.Publish(h.Context(), survey.Version{Scope: "tenant", SurveyID: 4600, Name: "Galway", BusinessUnit: "galway", Definition: json.RawMessage(csiGR)}); err != nil {
		t.Fatal(err)
	}
	for who, want := range map[string]bool{"reader": true, "lead": true, "cork": false, "other": false} {
		if got := see(t, site, who, "/"); strings.Contains(got.Body, "Galway") != want {
			t.Errorf("%s: %s", who, got.Body)
		}
	}
	for who, want := range map[string]bool{"reader": true, "lead": true, "cork": true, "other": false} {
		got := see(t, site, who, "/")
		if has := strings.Contains(got.Body, `<a href="4523">`); got.Status != 200 || has != want {
			t.Errorf("%s lists %d %s", who, got.Status, got.Body)
		}
	}
	if got := call(t, site, "POST", "/4523", "", "Authorization", "Bearer lead"); got.Status != 405 && got.Status != 404 {
		t.Errorf("a POST: %d", got.Status)
	}
}

// An export that fails half-way does not look like a whole one.
func TestAnExportThatBreaksOffIsNoWholeOne(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	site := h.shows(150) // two pages
	spy := h.store.(*storetest.Spy)
	selects := 0
	spy.SetHook(func(c storetest.Call) error {
		if c.Verb == storetest.Select && c.Table == "survey_response" && c.Columns == nil {
			if selects++; selects == 2 {
				return errors.New("the database is away")
			}
		}
		return nil
	})
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Error(err)
		}
	}()
	got := see(t, site, "lead", "/4523/responses.jsonl")
	t.Errorf("%d, %d lines", got.Status, strings.Count(got.Body, "\n"))
}

// board is a survey whose page a lead shows to others.
const board = `{"title": "Your request {{.Value \"wip\"}}", "dimensions": ["candidate.queue"], "unhappy": {"questionId": "solved", "op": "==", "value": "no"}, "questions": [
	{"id": "csat", "type": "rating", "metric": "csat", "label": "How was {{.Value \"agent\"}}?"}, {"id": "nps", "type": "nps", "label": "Would you recommend us?"},
	{"id": "ease", "type": "rating", "max": 7, "metric": "ces", "label": "How easy was it?"}, {"id": "plain", "type": "rating", "min": 0, "max": 10},
	{"id": "often", "type": "choice", "options": [{"value": "weekly", "label": "Weekly"}, {"value": "monthly", "label": "Monthly"}, {"value": "never", "label": "Never"}, {"value": "daily", "label": "Daily"}]},
	{"id": "solved", "type": "yesNo"}, {"id": "what", "type": "longText", "label": "What should {{.Value \"agent\"}} do better?"}
], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

// The page of results says what the survey is called, each figure once and where it means
// something, and all that could be answered in the order of its authors, a bar in each row.
func TestTheResultsPageIsReadByALead(t *testing.T) {
	t.Parallel()
	h := onMemory(t, board)
	for n, often := range []string{"weekly", "never", "monthly", "weekly", "weekly", "monthly"} {
		token := h.visitOf(fmt.Sprintf(`{"wip": "%d", "queue": "Q1", "agent": "Sam"}`, n), survey.Recipient{Address: "a", CustomerRef: "c", Locale: "en"})
		if status, page := h.form(token, "q.csat=5&q.nps=9&q.ease=6&q.plain=3&q.solved=no&q.what=listen&q.often="+often); status != 200 {
			t.Fatal(status, page)
		}
	}
	site := surveyhttp.Results(h.survey, desk, nil)
	page := see(t, site, "lead", "/4523?by=candidate.queue").Body
	for of, text := range map[string]string{"page": page, "CSV": see(t, site, "lead", "/4523/results.csv").Body} {
		if strings.Contains(text, "{{") {
			t.Errorf("the %s shows a template", of)
		}
	}
	flat := html.UnescapeString(strings.Join(strings.Fields(page), " "))
	for _, want := range []string{
		`<h1><bdi>Your request …</bdi></h1>`, "<h2><bdi>How was …?</bdi></h2>", "CSAT <b>100 %</b>", "n = 6, mean 5.0<", "NPS <b>+100</b>", "n = 6, mean 9.0<", "CES <b>6.0</b>", "Mean <b>3.0</b>", "n = 6<",
		`<th scope="col">CSAT</th><th scope="col">NPS</th><th scope="col">CES</th>`, `<bdi>Q1</bdi></th><td>6</td><td>100 %</td><td>100 %</td><td>+100</td><td>6.0</td>`,
		`<bdi>Weekly</bdi></th><td class="bar"><svg viewBox="0 0 100 10" preserveAspectRatio="none" role="presentation" aria-hidden="true"><rect width="50.00" height="10"/></svg></td><td>3</td><td>50</td>`,
		`<bdi>Yes</bdi></th>`, "<h2>By <bdi>queue</bdi></h2>",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %s in\n%s", want, shown(page))
		}
	}
	last := 0
	for _, label := range []string{"<bdi>Weekly<", "<bdi>Monthly<", "<bdi>Never<", "<bdi>Daily<"} {
		at := strings.Index(page, label)
		if at < last {
			t.Errorf("%s stands at %d, behind %d", label, at, last)
		}
		last = at
	}
	got, err := h.survey.Results().Get(t.Context(), "tenant", survey.ResultQuery{SurveyID: 4523})
	if err != nil || fmt.Sprint(got.Groups[0].Questions[4].Counts) != "[{weekly 3 0} {monthly 2 0} {never 1 0} {daily 0 0}]" {
		t.Errorf("%+v, %v", got.Groups[0].Questions[4].Counts, err)
	}
}

// The page compares the time that is asked for with the one before, in each of its figures, and of fewer
// than five answers says nothing but how many there were.
func TestResultsAreComparedWithAnEarlierTime(t *testing.T) {
	t.Parallel()
	h := onMemory(t, board)
	answer := func(n int, answers string) {
		token := h.visitOf(fmt.Sprintf(`{"wip": "%d-%d", "queue": "Q1", "agent": "Sam"}`, h.clock.Now().Unix(), n), survey.Recipient{Address: "a", CustomerRef: "c", Locale: "en"})
		if n%2 == 0 {
			if status, _ := h.get("/s/" + token + "/opened"); status != 404 && status != 405 {
				t.Error("a GET has opened it:", status)
			}
			call(h, h.forms, "POST", "/s/"+token+"/opened", "", "Content-Type", "text/plain")
		}
		if answers == "" {
			return
		}
		if status, page := h.form(token, answers); status != 200 {
			t.Fatal(status, page)
		}
	}
	for n := range 8 { // in May
		answer(n, []string{"q.csat=2&q.nps=9&q.often=never", ""}[n/5%2])
	}
	h.clock.Set(time.Date(2026, 6, 3, 9, 0, 0, 0, time.UTC))
	for n := range 10 {
		answer(n, "q.csat=5&q.often=weekly")
	}
	site := surveyhttp.Results(h.survey, desk, nil)
	see := func(query string) string {
		return html.UnescapeString(strings.Join(strings.Fields(see(t, site, "reader", "/4523?"+query).Body), " "))
	}
	june := see("since=2026-06-01&until=2026-06-30&compare=before&step=day")
	for _, want := range []string{
		"“Before” is 2026-05-01 to 2026-05-31.", "<dd>10 <span class=\"was\">before: 5</span>", `<option value="before" selected>`,
		"CSAT <b>100 %</b> <span class=\"was\">before: 0 %, n = 5; change: +100</span>", "<td>10</td><td>100</td><td>100</td></tr>", "<td>10</td><td>100</td><td>75</td></tr>", "<td>10</td><td>100</td><td>62</td></tr>",
		`<th scope="row">% before</th><td>0</td><td>100</td>`, `<bdi>Never</bdi></th>`, "<td>0</td><td>0</td><td>100</td></tr>",
	} {
		if !strings.Contains(june, want) {
			t.Errorf("no %s in\n%s", want, shown(june))
		}
	}
	for query, want := range map[string]string{
		"compare=before": "Choose From and To to compare with another time.", "since=2026-06-02&until=2026-06-03&compare=before": "“Before” is 2026-05-31 to 2026-06-01.",
		"since=2026-06-01&until=2026-06-30&compare=year": "“Before” is 2025-06-01 to 2025-06-30.", "since=2026-05-01&until=2026-06-30&compare=before": "“Before” is 2026-03-01 to 2026-04-30.",
	} {
		if page := see(query); !strings.Contains(page, want) {
			t.Errorf("%s: no %s in\n%s", query, want, shown(page))
		}
	}
}

// The labels are in the language that is asked for.
func TestResultsAreLabelledInALanguage(t *testing.T) {
	t.Parallel()
	h := onMemory(t, `{"title": {"en": "Your visit", "de": "Ihr Besuch", "ar": "زيارتك"}, "questions": [{"id": "q", "type": "yesNo", "label": {"en": "Solved?", "de": "Gelöst?", "ar": "هل حُلّت؟"}}],
		"triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`)
	for n := range 5 {
		h.form(h.visit(fmt.Sprint(n), "en"), "q.q=yes")
	}
	site := surveyhttp.Results(h.survey, desk, nil)
	for locale, want := range map[string][]string{"": {"Your visit", "Solved?", "Yes"}, "de": {"Ihr Besuch", "Gelöst?", "Ja", `<option value="de" selected>`, "locale=de"}, "ar-IQ": {"زيارتك", "هل حُلّت؟", "نعم", `<option value="ar" selected>`}} {
		h.says(see(t, site, "lead", "/4523?locale="+locale).Body, want...)
	}
}

// A CSV is called by its survey and its days, and is written as the caller's spreadsheet wants.
func TestAFileOfResultsHasANameAndASeparator(t *testing.T) {
	t.Parallel()
	h := memoryHost(t)
	site := h.shows(12)
	got := see(h, site, "lead", "/4523/responses.csv?since=2026-05-01&until=2026-05-31&separator=semicolon&labels&zone=Europe/Berlin")
	if name := got.Header.Get("Content-Disposition"); name != `attachment; filename="survey-4523-2026-05-01-2026-05-31-responses.csv"` {
		t.Error(name)
	}
	h.says(got.Body, ";city;How was it?;", ";2026-05-14 07:12:34;", ";'=Cork 1;", ";By car;", ";1,5;")
	if got = see(h, site, "reader", "/4523/results.csv?separator=semicolon"); !strings.Contains(got.Body, ";6,00;") && !strings.Contains(got.Body, ";1,50;") {
		t.Error(got.Body)
	}
	for _, query := range []string{"separator=tab", "zone=Nowhere", "locale=../x"} {
		if got := see(h, site, "lead", "/4523/responses.csv?"+query); got.Status != 400 {
			t.Errorf("%s: %d", query, got.Status)
		}
	}
	h.says(see(h, site, "lead", "/4523").Body, `href="4523/responses.csv?labels=&amp;separator=semicolon&amp;zone=UTC"`, `href="4523/responses.csv?labels=&amp;zone=UTC"`)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	site = surveyhttp.Results(h.survey, desk, &surveyhttp.ResultOptions{Zone: berlin})
	h.says(see(h, site, "lead", "/4523").Body, `href="4523/responses.csv?labels=&amp;zone=Europe%2FBerlin"`)
}
