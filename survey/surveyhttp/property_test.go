package surveyhttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/form"
)

// property is a property of a definition in use, from the page to the export.
type property struct {
	definition string     // its members
	page       string     // what the form shows
	sent       url.Values // what a customer sends
	refused    string     // what the page answers; empty: the answers are taken
	stored     string     // the answers
	thanks     string     // what the page says after them
	results    string     // a line of the counts
	export     string     // the end of the header of the export, and of its line
	listed     string     // the score and the queue on the worklist; empty: whatever they are
}

// properties have one entry for each property of what a form is made of.
var properties = map[string]property{
	"title":  {definition: `"title": "About {{.Value \"city\"}}", "questions": [{"id": "q", "type": "text"}]`, page: `<h1 dir="auto">About Cork</h1>`, stored: `{}`},
	"intro":  {definition: `"intro": "Two minutes.", "questions": [{"id": "q", "type": "text"}]`, page: "Two minutes.", stored: `{}`},
	"thanks": {definition: `"thanks": "See you, {{.Value \"city\"}}.", "questions": [{"id": "q", "type": "text"}]`, thanks: "See you, Cork.", stored: `{}`},
	"endings": {
		definition: `"endings": [{"when": {"questionId": "q", "op": ">=", "value": 5}, "text": "Tell others", "link": "https://review.example/", "label": "Write"}], "questions": [{"id": "q", "type": "rating"}]`,
		sent:       url.Values{"q.q": {"5"}}, stored: `{"q":5}`, thanks: `<a href="https://review.example/" rel="noreferrer" dir="auto">Write</a>`,
	},
	"endings.when": {
		definition: `"endings": [{"when": {"questionId": "q", "op": ">=", "value": 5}, "text": "Tell others"}, {"text": "We are sorry"}], "questions": [{"id": "q", "type": "rating"}]`,
		sent:       url.Values{"q.q": {"4"}}, stored: `{"q":4}`, thanks: "We are sorry",
	},
	"dimensions": {definition: `"dimensions": ["candidate.city"], "questions": [{"id": "q", "type": "rating"}]`, sent: url.Values{"q.q": {"4"}}, stored: `{"q":4}`, results: "q,q,5,4.00"},
	"anonymous":  {definition: `"anonymous": true, "questions": [{"id": "q", "type": "rating"}]`, page: "Your answers are anonymous", sent: url.Values{"q.q": {"4"}}, results: "q,q,5,4.00", export: "answers.q|,,,,,2026-05-14T00:00:00Z,2026-05-14T00:00:00Z,4"},
	"questions":  {definition: `"questions": [{"id": "a", "type": "text"}, {"id": "b", "type": "longText"}]`, sent: url.Values{"q.a": {"x"}, "q.b": {"y\r\nz\v\x00w"}}, stored: `{"a":"x","b":"y\nz\nw"}`, results: "b,b,5", export: "answers.a,answers.b|x,\"y\r\nz\r\nw\""},

	"questions.id":          {definition: `"questions": [{"id": "one.two-3", "type": "text"}]`, page: `name="q.one.two-3"`, sent: url.Values{"q.one.two-3": {"x"}}, stored: `{"one.two-3":"x"}`, results: "one.two-3", export: "answers.one.two-3|x"},
	"questions.type":        {definition: `"questions": [{"id": "q", "type": "date"}]`, page: `<input type="date"`, sent: url.Values{"q.q": {"2026-05-14"}}, stored: `{"q":"2026-05-14"}`, results: "q,q,5", export: "answers.q|2026-05-14"},
	"questions.label":       {definition: `"questions": [{"id": "q", "type": "text", "label": "Who in {{.Value \"city\"}}?"}]`, page: "<bdi>Who in Cork?</bdi>", sent: url.Values{"q.q": {"Sam"}}, stored: `{"q":"Sam"}`, results: "q,Who in", export: "answers.q|Sam"},
	"questions.help":        {definition: `"questions": [{"id": "q", "type": "text", "help": "As on the card."}]`, page: "As on the card.", stored: `{}`},
	"questions.required":    {definition: `"questions": [{"id": "q", "type": "text", "required": true}]`, page: ` required`, refused: "Please answer this question."},
	"questions.options":     {definition: `"questions": [{"id": "q", "type": "choice", "options": [{"value": "a"}, {"value": "b"}]}]`, page: `value="b"`, sent: url.Values{"q.q": {"b"}}, stored: `{"q":"b"}`, results: "q,q,5,,,,,b,b,5", export: "answers.q|b"},
	"questions.min":         {definition: `"questions": [{"id": "q", "type": "number", "min": 2, "max": 9}]`, page: "2", sent: url.Values{"q.q": {"1"}}, refused: "2"},
	"questions.max":         {definition: `"questions": [{"id": "q", "type": "rating", "max": 7}]`, page: `value="7"`, sent: url.Values{"q.q": {"7"}}, stored: `{"q":7}`, results: "q,q,5,7.00", export: "answers.q|7"},
	"questions.maxLength":   {definition: `"questions": [{"id": "q", "type": "text", "maxLength": 3}]`, page: "3", sent: url.Values{"q.q": {"four"}}, refused: "3"},
	"questions.low":         {definition: `"questions": [{"id": "q", "type": "rating", "low": "Bad", "high": "Good"}]`, page: `data-step="1">Bad<`, stored: `{}`},
	"questions.high":        {definition: `"questions": [{"id": "q", "type": "nps", "low": "Never", "high": "Sure"}]`, page: `data-step="10">Sure<`, stored: `{}`},
	"unhappy":               {definition: `"unhappy": {"questionId": "q", "op": "==", "value": "no"}, "questions": [{"id": "q", "type": "yesNo"}]`, sent: url.Values{"q.q": {"yes"}}, stored: `{"q":"yes"}`, listed: "not"},
	"queue":                 {definition: `"unhappy": {"questionId": "q", "op": "==", "value": 1}, "queue": "candidate.city", "questions": [{"id": "q", "type": "rating"}]`, sent: url.Values{"q.q": {"1"}}, stored: `{"q":1}`, listed: "0 Cork"},
	"questions.lowIsBetter": {definition: `"unhappy": {"questionId": "q", "op": "==", "value": 2}, "questions": [{"id": "q", "type": "rating", "lowIsBetter": true}]`, sent: url.Values{"q.q": {"2"}}, stored: `{"q":2}`, listed: "75"},
	"questions.metric":      {definition: `"questions": [{"id": "q", "type": "rating", "metric": "csat"}]`, sent: url.Values{"q.q": {"4"}}, stored: `{"q":4}`, results: "q,q,5,4.00,,100.00"},
	"questions.prefill":     {definition: `"questions": [{"id": "q", "type": "text", "prefill": "candidate.city"}]`, page: `name="q.q" value="Cork"`, stored: `{}`},
	"questions.when": {
		definition: `"questions": [{"id": "q", "type": "yesNo"}, {"id": "why", "type": "text", "when": {"questionId": "q", "op": "==", "value": "no"}}]`,
		page:       `name="shown" value="why"`, sent: url.Values{"q.q": {"yes"}, "q.why": {"dropped"}}, stored: `{"q":"yes"}`, export: "answers.q,answers.why|yes,",
	},

	"questions.rows": {
		definition: `"unhappy": {"questionId": "q.b", "op": "<=", "value": 2}, "questions": [{"id": "q", "type": "grid", "label": "How was", "max": 4, "low": "Bad", "high": "Good", "rows": [{"id": "a"}, {"id": "b", "label": "the {{.Value \"city\"}} desk"}]}]`,
		page:       `the Cork desk</p>`, sent: url.Values{"q.q.a": {"4"}, "q.q.b": {"2"}}, stored: `{"q.a":4,"q.b":2}`, results: "q.b,How was: the … desk,5,2.00,,,,2,2,5", export: "answers.q.a,answers.q.b|4,2", listed: "33",
	},
	"rows.id":                  {definition: `"questions": [{"id": "q", "type": "grid", "rows": [{"id": "x"}]}]`, page: `name="q.q.x"`, sent: url.Values{"q.q.x": {"5"}}, stored: `{"q.x":5}`, results: "q.x,x,5,5.00", export: "answers.q.x|5"},
	"rows.label":               {definition: `"questions": [{"id": "q", "type": "grid", "low": "Bad", "rows": [{"id": "x", "label": "The desk"}]}]`, page: `<p class="hint" id="q1-hint">1: Bad.</p>`, sent: url.Values{"q.q.x": {"5"}}, stored: `{"q.x":5}`, results: "q.x,The desk,5,5.00"},
	"questions.rows, required": {definition: `"questions": [{"id": "q", "type": "grid", "required": true, "rows": [{"id": "x"}, {"id": "y", "label": "The desk"}]}]`, sent: url.Values{"q.q.x": {"1"}}, refused: `<li><a href="#q3-1"><bdi>The desk</bdi></a> Please answer this question.</li>`},
	"questions.rows, hidden": {definition: `"questions": [{"id": "n", "type": "yesNo"}, {"id": "q", "type": "grid", "rows": [{"id": "x"}], "when": {"questionId": "n", "op": "==", "value": "yes"}}, {"id": "z", "type": "text", "when": {"questionId": "q.x", "op": "exists"}}]`,
		page: `name="shown" value="q"`, sent: url.Values{"q.n": {"no"}, "q.q.x": {"1"}, "q.z": {"dropped"}}, stored: `{"n":"no"}`, export: "answers.n,answers.q.x,answers.z|no,,"},
	"questions.type ranking": {
		definition: `"questions": [{"id": "q", "type": "ranking", "options": [{"value": "a"}, {"value": "b", "label": "Bees"}, {"value": "c"}]}]`,
		page:       `<option>3</option>`, sent: url.Values{"q.q": {"2", "١", "3"}}, stored: `{"q":["b","a","c"]}`, results: "q,q,5,1.00,,,,b,Bees,5", export: "answers.q|b; a; c",
	},
	"questions.type ranking of some":  {definition: `"questions": [{"id": "q", "type": "ranking", "options": [{"value": "a"}, {"value": "b"}]}]`, sent: url.Values{"q.q": {"1", ""}}, refused: "from 1 (the first) to 2"},
	"questions.type ranking of twins": {definition: `"questions": [{"id": "q", "type": "ranking", "options": [{"value": "a"}, {"value": "b"}]}]`, sent: url.Values{"q.q": {"1", "1"}}, refused: "<option selected>1</option>"},
	"questions.type ranking of none":  {definition: `"questions": [{"id": "q", "type": "ranking", "options": [{"value": "a"}, {"value": "b"}]}]`, sent: url.Values{"q.q": {"", ""}}, stored: `{}`},

	"options.value":     {definition: `"questions": [{"id": "q", "type": "choice", "options": [{"value": "a b"}]}]`, page: `<bdi>a b</bdi>`, sent: url.Values{"q.q": {"a b"}}, stored: `{"q":"a b"}`, results: "a b,a b,5", export: "answers.q|a b"},
	"options.label":     {definition: `"questions": [{"id": "q", "type": "choice", "options": [{"value": "a", "label": "Apples"}]}]`, page: `<bdi>Apples</bdi>`, sent: url.Values{"q.q": {"a"}}, stored: `{"q":"a"}`, results: "a,Apples,5", export: "answers.q|a"},
	"options.exclusive": {definition: `"questions": [{"id": "q", "type": "multiple", "options": [{"value": "a"}, {"value": "none", "exclusive": true}]}]`, page: "data-alone", sent: url.Values{"q.q": {"a", "none"}}, refused: "cannot be combined"},
	"options.other": {
		definition: `"questions": [{"id": "q", "type": "choice", "label": "How?", "options": [{"value": "ad"}, {"value": "o", "label": "Something else", "other": true}]}]`,
		page:       `name="q.q.other"`, sent: url.Values{"q.q": {"o"}, "q.q.other": {"a friend"}, "shown": {"q.other"}}, stored: `{"q":"o","q.other":"a friend"}`,
		results: "q.other,Something else,5", export: "answers.q,answers.q.other|o,a friend",
	},
	"options.other of several": {
		definition: `"questions": [{"id": "q", "type": "multiple", "options": [{"value": "ad"}, {"value": "o", "other": true}]}]`,
		page:       `name="q.q.other"`, sent: url.Values{"q.q": {"ad", "o"}, "q.q.other": {"a friend"}, "shown": {"q.other"}}, stored: `{"q":["ad","o"],"q.other":"a friend"}`,
		results: "q.other,o,5", export: "answers.q,answers.q.other|ad; o,a friend",
	},
	"options.other by the authors": {
		definition: `"questions": [{"id": "q", "type": "choice", "options": [{"value": "o", "other": true}]}, {"id": "q.other", "type": "longText", "label": "Which?", "when": {"questionId": "q", "op": "==", "value": "o"}}]`,
		page:       `<textarea id="q2" name="q.q.other"`, sent: url.Values{"q.q": {"o"}, "q.q.other": {"a friend"}, "shown": {"q.other"}}, stored: `{"q":"o","q.other":"a friend"}`,
		results: "q.other,Which?,5", export: "answers.q,answers.q.other|o,a friend",
	},

	"endings.text":  {definition: `"endings": [{"text": "Bye, {{.Value \"city\"}}"}], "questions": [{"id": "q", "type": "text"}]`, thanks: "Bye, Cork", stored: `{}`},
	"endings.link":  {definition: `"endings": [{"text": "Bye", "link": "https://review.example/x"}], "questions": [{"id": "q", "type": "text"}]`, thanks: `href="https://review.example/x"`, stored: `{}`},
	"endings.label": {definition: `"endings": [{"text": "Bye", "link": "https://review.example/x", "label": "On we go"}], "questions": [{"id": "q", "type": "text"}]`, thanks: ">On we go<", stored: `{}`},
}

// Beside the form: tests of form and of triggers and messages have them.
var beside = []string{"$schema", "triggers", "messages"}

// What Parse knows, a published version has; and each property shows in the form, in what
// is taken, counted and exported.
func TestEachPropertyOfADefinitionIsInUse(t *testing.T) {
	t.Parallel()
	for prefix, of := range map[string]reflect.Type{
		"": reflect.TypeFor[form.Definition](), "questions.": reflect.TypeFor[form.Question](), "rows.": reflect.TypeFor[form.Row](),
		"options.": reflect.TypeFor[form.Choice](), "endings.": reflect.TypeFor[form.Ending](),
	} {
		for _, f := range strictjson.Fields(of) {
			if _, ok := properties[prefix+f.Name]; !ok && !strings.Contains(" "+strings.Join(beside, " ")+" ", " "+prefix+f.Name+" ") {
				t.Errorf("no case for %s%s", prefix, f.Name)
			}
		}
	}
	for name, p := range properties {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.isInUse(memoryHost(t))
		})
	}
}

func (p *property) isInUse(h *host) {
	definition := `{` + p.definition + `, "triggers": [{
		"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`
	h.publish(definition)
	parsed, faults := form.Parse(json.RawMessage(definition))
	stored, err := h.survey.Definition(h.Context(), "tenant", 4523, 0)
	if diff := cmp.Diff(parsed, stored); diff != "" || len(faults) > 0 || err != nil {
		h.Errorf("a published version is not what was parsed: %v %v\n%s", faults, err, diff)
	}
	for n := range survey.MinResponses - 1 { // of fewer nothing is counted
		h.form(h.visitOf(fmt.Sprintf(`{"wip": "%d", "city": "Cork"}`, n), survey.Recipient{Address: "a", Locale: "en"}), p.sent.Encode())
	}
	token := h.visitOf(`{"wip": "last", "city": "Cork"}`, survey.Recipient{Address: "a", Locale: "en"})
	if status, page := h.get("/s/" + token); status != 200 || !strings.Contains(page, p.page) {
		h.Errorf("%d: no %s in\n%s", status, p.page, shown(page))
	}
	status, page := h.form(token, p.sent.Encode())
	if p.refused != "" {
		if status != 422 || !strings.Contains(page, p.refused) || h.answers() != "" {
			h.Errorf("%d: no %s in\n%s", status, p.refused, shown(page))
		}
		return
	}
	if got := h.answers(); status != 200 || got != p.stored || !strings.Contains(page, p.thanks) {
		h.Fatalf("%d, stored %s, want %s\n%s", status, got, p.stored, shown(page))
	}
	var counts, export bytes.Buffer
	if err := h.survey.Results().ExportCSV(h.Context(), "tenant", &counts, survey.ResultQuery{SurveyID: 4523}, nil); err != nil || !strings.Contains(counts.String(), p.results) {
		h.Errorf("no %q in\n%s%v", p.results, &counts, err)
	}
	if _, err := h.survey.Responses().ExportCSV(h.Context(), "tenant", &export, survey.ResponseQuery{SurveyID: 4523}, nil); err != nil {
		h.Error(err)
	}
	list, err := h.survey.Support().Worklist(h.Context(), "tenant", survey.WorklistQuery{SurveyID: 4523})
	score := "not"
	if len(list.Items) > 0 {
		score = strings.TrimSpace(strconv.Itoa(list.Items[0].Score) + " " + list.Items[0].Queue)
	}
	if p.listed != "" && score != p.listed || err != nil {
		h.Errorf("%s is listed, want %s: %v", score, p.listed, err)
	}
	header, line, _ := strings.Cut(p.export, "|")
	if !strings.Contains(export.String(), header+"\r\n") || !strings.HasSuffix(export.String(), line+"\r\n") {
		h.Errorf("no %q in\n%s", p.export, &export)
	}
}

// shown is the part of a page that people see.
func shown(page string) string {
	_, page, _ = strings.Cut(page, "<main>")
	page, _, _ = strings.Cut(page, "</main>")
	return page
}
