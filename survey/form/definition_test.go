package form_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/survey/form"
)

// csiGR is the document's survey: General Repair, one reminder after a day.
//
//go:embed testdata/csi-gr.json
var csiGR string

// definitionCase is a definition and what is wrong with it.
type definitionCase struct {
	definition string
	faults     []string // none: it is valid
	// blind says that a JSON Schema cannot see the fault.
	blind bool
}

const (
	rateJSON = `{"id": "rate", "type": "rating"}`
	askJSON  = `{"id": "ask", "type": "yesNo"}`
)

// questionsJSON is a definition with those questions.
func questionsJSON(list ...string) string { return `{"questions": [` + strings.Join(list, ", ") + `]}` }

// questionJSON is a definition with one question q and more members.
func questionJSON(kind, more string) string {
	if more != "" {
		more = ", " + more
	}
	return questionsJSON(fmt.Sprintf(`{"id": "q", "type": %q%s}`, kind, more))
}

func messageJSON(members string) string { return `{"messages": [{` + members + `}]}` }

func times(n int, f func(i int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

const (
	visible = "1 to 100 of A-Z a-z 0-9 _ . -, the first a letter or digit"
	nowhere = "is not one of templateId, recipient.address, recipient.locale, recipient.customerRef and candidate.…"
	noKey   = `is not a key of a channel, such as "email:smtp": the delivery method, a colon, the transport`
)

// definitionCases are what Validate, the JSON Schema and Publish agree about.
var definitionCases = map[string]definitionCase{
	"the document's":      {definition: csiGR},
	"nothing":             {definition: `{}`},
	"for an editor":       {definition: `{"$schema": "./definition.schema.json"}`},
	"texts":               {definition: `{"title": "Hi", "intro": {"": "Two\nlines", "ar": "مرحبا", "pt-BR": "olá"}, "thanks": {"en": "Thanks"}}`},
	"an unknown member":   {definition: `{"Questions": []}`, faults: []string{"Questions: is unknown; it is spelled questions"}},
	"no JSON":             {definition: `{"questions": [}`, faults: []string{"is not JSON: invalid character '}' looking for beginning of value (line 1, column 16)"}, blind: true},
	"text behind":         {definition: `{} {}`, faults: []string{"is not JSON: invalid character '{' after top-level value (line 1, column 4)"}, blind: true},
	"a list":              {definition: `[]`, faults: []string{"is a list, not an object"}},
	"a member twice":      {definition: `{"title": "a", "title": "b"}`, faults: []string{"title: is there twice"}, blind: true},
	"null":                {definition: `{"title": null}`, faults: []string{"title: is null; leave it out instead"}},
	"too long":            {definition: `{"title": "a"` + strings.Repeat(" ", 1<<20) + `}`, faults: []string{"has 1048590 bytes, more than 1048576"}, blind: true},
	"a large one":         {definition: `{"messages": [{"ordinal": 0, "text": "a", "html": {` + strings.Join(localesJSON(3, strings.Repeat("<", 15_000)), ", ") + `}}]}`, faults: []string{"takes 270072 bytes when it is stored, more than 262144"}, blind: true},
	"an empty text":       {definition: `{"title": "", "intro": {"en": ""}, "thanks": {}}`, faults: []string{"title: is empty", "intro.en: is empty", "thanks: has no text in any locale"}},
	"a control character": {definition: `{"title": "a\nb", "intro": "a\u0000b", "thanks": "a\u0085"}`, faults: []string{"title: holds the control character U+000A", "intro: holds the control character U+0000", "thanks: holds the control character U+0085"}},
	"a long title":        {definition: `{"title": "` + strings.Repeat("é", 1001) + `"}`, faults: []string{"title: has 1001 characters, more than 1000"}},
	"a locale":            {definition: `{"title": {"a b": "x"}}`, faults: []string{`title["a b"]: is for "a b", which is not a BCP 47 language tag`}},
	"an unusual locale":   {definition: `{"title": {"pt-br": "x", "iw": "x"}}`, faults: []string{"title.iw: is for a locale that is written he", "title.pt-br: is for a locale that is written pt-BR"}, blind: true},

	"a question of each type": {definition: questionsJSON(rateJSON, askJSON,
		`{"id": "a.1_b-c", "type": "text", "maxLength": 4000, "label": {"en": "A", "ar": "ا"}, "help": "h", "required": true}`,
		`{"id": "2", "type": "longText", "maxLength": 0, "when": {"all": [{"questionId": "rate", "op": "<", "value": 3}, {"not": {"questionId": "ask", "op": "exists"}}]}}`,
		`{"id": "3", "type": "number", "min": -1.5, "max": 9007199254740993.25}`, `{"id": "4", "type": "rating", "min": 0, "max": 1e1}`,
		`{"id": "5", "type": "choice", "options": [{"value": "a"}, {"value": "b", "label": "B"}]}`,
		`{"id": "6", "type": "multiple", "options": [{"value": "a"}], "min": 1, "max": 1}`, `{"id": "7", "type": "date"}`)},
	"a question without": {definition: questionsJSON(`{}`), faults: []string{"questions[0].id: is missing", "questions[0].type: is missing"}},
	"a bad id":           {definition: questionsJSON(`{"id": "a b", "type": "date"}`, `{"id": "", "type": "date"}`), faults: []string{`questions[0].id: "a b" is not an id: ` + visible, `questions[1].id: "" is not an id: ` + visible}},
	"an id twice":        {definition: questionsJSON(rateJSON, rateJSON), faults: []string{"questions[1].id: is the same as questions[0].id"}, blind: true},
	"an unknown type":    {definition: questionJSON("slider", ""), faults: []string{`questions[0].type: "slider" is not a type of question: take one of choice, date, grid, longText, multiple, nps, number, page, ranking, rating, text, yesNo`}},
	"too many questions": {definition: questionsJSON(times(201, func(i int) string { return fmt.Sprintf(`{"id": "q%d", "type": "date"}`, i) })...), faults: []string{"questions: has 201 elements, more than 200"}},
	"nothing to choose":  {definition: questionJSON("choice", ""), faults: []string{"questions[0].options: is empty: there is nothing to choose from"}},
	"no options":         {definition: questionJSON("multiple", `"options": []`), faults: []string{"questions[0].options: is empty: there is nothing to choose from"}},
	"options of a date":  {definition: questionJSON("date", `"options": []`), faults: []string{"questions[0].options: are for choice, multiple and ranking only"}},
	"an option twice":    {definition: questionJSON("choice", `"options": [{"value": "a"}, {"value": "b"}, {"value": "a"}]`), faults: []string{"questions[0].options[2].value: is the same as questions[0].options[0].value"}, blind: true},
	"bad options":        {definition: questionJSON("choice", `"options": [{"value": ""}, {"label": "x"}, {"value": "a\tb"}]`), faults: []string{"questions[0].options[1].value: is missing", "questions[0].options[0].value: is empty", "questions[0].options[2].value: holds the control character U+0009"}},
	"min of a text":      {definition: questionJSON("text", `"min": 1, "max": 2`), faults: []string{"questions[0].min: is for number, rating, grid and multiple only", "questions[0].max: is for number, rating, grid and multiple only"}},
	"length of a number": {definition: questionJSON("number", `"maxLength": 5`), faults: []string{"questions[0].maxLength: is for questions of text only"}},
	"a bad length":       {definition: questionJSON("text", `"maxLength": 4001`), faults: []string{"questions[0].maxLength: is not from 1 to 4000"}},
	"a negative length":  {definition: questionJSON("longText", `"maxLength": -1`), faults: []string{"questions[0].maxLength: is not from 1 to 4000"}},
	"min above max":      {definition: questionJSON("number", `"min": 0.30000000000000001, "max": 0.3`), faults: []string{"questions[0].min: is 0.30000000000000001, above max, which is 0.3"}, blind: true},
	"a huge number":      {definition: questionJSON("number", `"min": 1e999999999`), faults: []string{"questions[0].min: is beyond what a number may be: 64 digits, an exponent of 100"}, blind: true},
	"a number as text":   {definition: questionJSON("number", `"min": "1"`), faults: []string{`questions[0].min: is the text "1", not a number`}},
	"half a star":        {definition: questionJSON("rating", `"min": 0.5`), faults: []string{"questions[0].min: is not a whole number of at most 9 digits"}},
	"no scale":           {definition: questionJSON("rating", `"min": 5`), faults: []string{"questions[0].min: is 5, not below max, which is 5"}, blind: true},
	"a long scale":       {definition: questionJSON("rating", `"max": 101`), faults: []string{"questions[0].max: makes a scale of more than 100 steps"}, blind: true},
	"more than there is": {definition: questionJSON("multiple", `"options": [{"value": "a"}], "max": 2`), faults: []string{"questions[0].max: is not from 0 to the number of options, 1"}, blind: true},
	"less than none":     {definition: questionJSON("multiple", `"options": [{"value": "a"}], "min": -1`), faults: []string{"questions[0].min: is not from 0 to the number of options, 1"}},
	"a later question":   {definition: questionsJSON(`{"id": "a", "type": "date", "when": {"any": [{"questionId": "rate", "op": "exists"}, {"questionId": "a", "op": "exists"}]}}`, rateJSON), faults: []string{"questions[0].when.any[0].questionId: is not a question before this one", "questions[0].when.any[1].questionId: is not a question before this one"}, blind: true},
	"a bad when":         {definition: questionsJSON(rateJSON, `{"id": "a", "type": "date", "when": {"questionId": "rate", "op": "~", "value": 1, "x": 2}}`), faults: []string{"questions[1].when.x: is unknown", `questions[1].when.op: "~" is not one of [== != > >= < <= in notIn contains startsWith exists]`}},
	"types all wrong":    {definition: questionsJSON(`{"id": 5, "type": [], "required": "yes", "label": 7, "options": {}, "when": []}`), faults: []string{"questions[0].id: is the number 5, not a text", "questions[0].type: is a list, not a text", `questions[0].required: is the text "yes", not true or false`, "questions[0].label: is neither a text nor an object of texts by locale", "questions[0].options: is an object, not a list", "questions[0].when: is a list, not an object"}},

	"messages":              {definition: `{"messages": [{"ordinal": 0, "subject": "{{.Survey}}", "text": {"en": "{{.URL}}", "ar": "{{.URL}}"}, "html": "<p>{{.URL}}</p>"}, {"ordinal": 20, "text": "again\n{{.URL}}"}]}`},
	"a message without":     {definition: messageJSON(``), faults: []string{"messages[0].ordinal: is missing", "messages[0].text: is missing"}},
	"an ordinal twice":      {definition: `{"messages": [{"ordinal": 1, "text": "a"}, {"ordinal": 1, "text": "b"}]}`, faults: []string{"messages[1].ordinal: is the same as messages[0].ordinal"}, blind: true},
	"a bad ordinal":         {definition: messageJSON(`"ordinal": 21, "text": "a"`), faults: []string{"messages[0].ordinal: is not from 0 to 20"}},
	"half an ordinal":       {definition: messageJSON(`"ordinal": 0.5, "text": "a"`), faults: []string{"messages[0].ordinal: is the number 0.5, not a whole number"}},
	"a bad template":        {definition: messageJSON(`"ordinal": 0, "subject": "{{", "text": {"en": "{{.URL}}", "ar": "{{if}}"}, "html": "{{end}}"`), faults: []string{"messages[0].subject: is not a template: template: subject:1: unclosed action", "messages[0].text.ar: is not a template: template: text:1: missing value for if", "messages[0].html: is not a template: template: html:1: unexpected {{end}}"}, blind: true},
	"a misspelt field":      {definition: messageJSON(`"ordinal": 0, "subject": "{{.URI}}", "text": {"en": "{{.URL}}", "ar": "{{.Value}} {{.URL}}"}, "html": "<p>{{.Url}}"`), faults: []string{"messages[0].subject: cannot be run: template: subject:1:2: executing \"subject\" at <.URI>: can't evaluate field URI in type form.sample", "messages[0].text.ar: cannot be run: template: text:1:2: executing \"text\" at <.Value>: wrong number of args for Value: want 1 got 0", "messages[0].html: cannot be run: template: html:1:5: executing \"html\" at <.Url>: can't evaluate field Url in type form.sample"}, blind: true},
	"metrics":               {definition: `{"unhappy": {"questionId": "a", "op": "<=", "value": 2}, "questions": [{"id": "a", "type": "rating", "metric": "csat"}, {"id": "b", "type": "rating", "lowIsBetter": true, "metric": "ces"}, {"id": "c", "type": "rating", "min": 0, "max": 10, "metric": "nps"}, {"id": "d", "type": "nps"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`},
	"metrics that are none": {definition: `{"questions": [{"id": "a", "type": "rating", "metric": "nps"}, {"id": "b", "type": "rating", "min": 0, "max": 10, "lowIsBetter": true, "metric": "nps"}, {"id": "c", "type": "rating", "max": 2, "metric": "csat"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[0].metric: nps needs a scale from 0 to 10 whose high end is the good one", "questions[1].metric: nps needs a scale from 0 to 10 whose high end is the good one", "questions[2].metric: csat counts the two best steps of a scale that has more"}, blind: true},
	"metrics of no rating":  {definition: `{"questions": [{"id": "a", "type": "nps", "metric": "nps"}, {"id": "b", "type": "nps", "lowIsBetter": true}, {"id": "c", "type": "rating", "metric": "smile"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[0].metric: is for rating only; nps has its own", "questions[1].lowIsBetter: is for rating and grid only", `questions[2].metric: "smile" is not one of csat, nps and ces`}},
	"a grid":                {definition: `{"questions": [{"id": "a", "type": "grid", "low": "x", "lowIsBetter": true, "max": 11, "rows": [{"id": "x"}, {"id": "y", "label": {"en": "Y"}}]}, {"id": "b", "type": "text", "when": {"questionId": "a.x", "op": "<", "value": 3}}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`},
	"a grid of nothing":     {definition: `{"questions": [{"id": "a", "type": "grid", "rows": []}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[0].rows: is empty: there is nothing to rate"}},
	"rows of a rating":      {definition: `{"questions": [{"id": "a", "type": "rating", "rows": [{"id": "x"}]}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[0].rows: are for grid only"}},
	"grids": {definition: `{"unhappy": {"questionId": "a", "op": "exists"}, "questions": [{"id": "a", "type": "grid", "max": 12, "metric": "csat", "prefill": "candidate.x", "rows": [{"id": "x"}, {"id": "x"}, {"id": " "}]}, {"id": "a.x", "type": "text", "when": {"questionId": "a", "op": "exists"}}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`,
		faults: []string{
			"questions[0].metric: is for rating only; nps has its own", "questions[0].prefill: is for questions with one answer", "questions[0].max: makes a scale of more than 11 steps",
			`questions[0].rows[1].id: is the same as questions[0].rows[0].id`, `questions[0].rows[2].id: "a. " is not an id: ` + visible, "questions[1].when.questionId: is not a question before this one", "questions[1].id: is the same as questions[0].rows[0].id", "unhappy.questionId: is not a question of this survey"}},
	"pages":            {definition: `{"questions": [{"id": "p", "type": "page", "label": "One", "help": "x"}, {"id": "a", "type": "text"}, {"id": "p2", "type": "page"}, {"id": "b", "type": "text"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`},
	"empty pages":      {definition: `{"questions": [{"id": "p", "type": "page"}, {"id": "p2", "type": "page"}, {"id": "b", "type": "text", "when": {"questionId": "p", "op": "exists"}}, {"id": "p3", "type": "page"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[2].when.questionId: is not a question before this one", "questions[0]: is a page without questions", "questions[3]: is a page without questions"}, blind: true},
	"a page that asks": {definition: `{"questions": [{"id": "b", "type": "text"}, {"id": "p", "type": "page", "required": true, "when": {"questionId": "b", "op": "exists"}, "prefill": "candidate.x"}, {"id": "c", "type": "text"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[1].prefill: is for questions with one answer", "questions[1].required: is not for page", "questions[1].when: is not for page: a page whose questions are not asked is passed over"}},
	"anonymous":        {definition: `{"anonymous": true, "questions": [{"id": "a", "type": "text"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`},
	"anonymous and joined": {
		definition: `{"anonymous": true, "unhappy": {"questionId": "a", "op": "exists"}, "questions": [{"id": "a", "type": "text", "prefill": "candidate.x"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`,
		faults:     []string{"unhappy: is not for an anonymous survey: a response is not joined with its link", "questions[0].prefill: is not for an anonymous survey: the answer would have what the event says"},
	},
	"anonymous in queues": {definition: `{"anonymous": true, "queue": "candidate.x", "questions": [{"id": "a", "type": "text"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"queue: is not for an anonymous survey: a response is not joined with its link"}},
	"anonymous by place":  {definition: `{"anonymous": true, "dimensions": ["candidate.x"], "questions": [{"id": "a", "type": "text"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"dimensions: is not for an anonymous survey: a response is not joined with its link"}},
	"anonymous and ended": {definition: `{"anonymous": true, "endings": [{"text": "x"}], "questions": [{"id": "a", "type": "text"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"endings: is not for an anonymous survey: a response is not joined with its link"}},
	"an open link":        {definition: `{"questions": [{"id": "a", "type": "text"}], "openLinks": [{"id": "poster", "enabled": true, "subscribers": [{"key": "k", "filter": {"questionId": "a", "op": "exists"}}]}]}`},
	"open links": {definition: `{"questions": [{"id": "a", "type": "text"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `], "openLinks": [{"id": "t", "enabled": true, "subscribers": [{"key": "k", "filter": {"questionId": "x", "op": "exists"}}]}]}`,
		faults: []string{"openLinks[0].id: is the same as triggers[0].id", "openLinks[0].subscribers[0].filter.questionId: is not a question of this survey"}, blind: true},
	"a ranking":          {definition: `{"questions": [{"id": "a", "type": "ranking", "options": [{"value": "x"}, {"value": "y"}]}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`},
	"a ranking of one":   {definition: `{"questions": [{"id": "a", "type": "ranking", "options": [{"value": "x"}]}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[0].options: has one element: a ranking needs two"}},
	"a ranking of else":  {definition: `{"questions": [{"id": "a", "type": "ranking", "prefill": "candidate.x", "options": [{"value": "x"}, {"value": "y", "other": true, "exclusive": true}]}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"questions[0].prefill: is for questions with one answer", "questions[0].options[1].exclusive: is for multiple only", "questions[0].options[1].other: is for choice and multiple only"}, blind: true},
	"a queue":            {definition: `{"queue": "candidate.queue", "questions": [{"id": "a", "type": "yesNo"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`},
	"a queue of people":  {definition: `{"queue": "recipient.address", "questions": [{"id": "a", "type": "yesNo"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"queue: is not a path of an event's payload, such as candidate.dealerId"}},
	"unhappy of nothing": {definition: `{"unhappy": {"questionId": "x", "op": "==", "value": "no"}, "questions": [{"id": "a", "type": "yesNo"}], "triggers": [` + oneTrigger(`"channel": "email:x"`) + `]}`, faults: []string{"unhappy.questionId: is not a question of this survey"}, blind: true},
	"no such template":   {definition: messageJSON(`"ordinal": 0, "text": "a", "html": "{{template \"x\"}}"`), faults: []string{"messages[0].html: cannot be run: html/template:html:1:11: no such template \"x\""}, blind: true},
	"a range":            {definition: messageJSON(`"ordinal": 0, "subject": "{{range 9000000000}}{{end}}", "text": "a\n{{if .URL}}b{{else}}{{with .Survey}}{{range $.Metadata}}c{{end}}{{end}}{{end}}", "html": "{{define \"row\"}}{{range .SurveyID}}{{end}}{{end}}{{template \"row\" .}}"`), faults: []string{"messages[0].subject: cannot be run: subject:1:8: there is no list for a range to go through", "messages[0].text: cannot be run: text:2:44: there is no list for a range to go through", "messages[0].html: cannot be run: html:1:24: there is no list for a range to go through"}, blind: true},
	"recursion":          {definition: messageJSON(`"ordinal": 0, "subject": "{{template \"subject\" .}}", "text": "{{define \"a\"}}{{template \"b\"}}{{end}}{{define \"b\"}}{{template \"a\"}}{{end}}{{template \"a\"}}", "html": "{{define \"a\"}}{{if .}}{{template \"a\" slice . 1}}{{template \"a\" slice . 1}}{{end}}{{end}}{{template \"a\" .Survey}}"`), faults: []string{`messages[0].subject: cannot be run: subject:1:11: template "subject" runs itself`, `messages[0].text: cannot be run: text:1:62: template "a" runs itself`, `messages[0].html: cannot be run: html:1:33: template "a" runs itself`}, blind: true},
	"too many runs":      {definition: messageJSON(`"ordinal": 0, "text": "` + doubling + `"`), faults: []string{"messages[0].text: cannot be run: text:1:706: templates run each other more than 1000 times"}, blind: true},
	"many runs":          {definition: messageJSON(`"ordinal": 0, "text": "{{define \"a\"}}a{{end}}{{define \"b\"}}{{template \"a\"}}{{template \"a\"}}{{end}}{{if .URL}}` + strings.Repeat(`{{template \"b\"}}`, 300) + `{{else}}` + strings.Repeat(`{{template \"b\"}}`, 300) + `{{end}}"`)},
	"parts of a value":   {definition: messageJSON(`"ordinal": 0, "text": "{{slice (.Value \"vin\") 9 17}} {{.LinkData.Value \"x\"}} {{with $}}{{.Lang}}{{end}} {{.SurveyID}} {{.URL}}"`)},
	"a subject of two":   {definition: messageJSON(`"ordinal": 0, "subject": "a\r\nBcc: b", "text": "a"`), faults: []string{"messages[0].subject: holds the control character U+000D"}},
	"many messages":      {definition: `{"messages": [` + strings.Join(times(22, func(i int) string { return fmt.Sprintf(`{"ordinal": %d, "text": "a"}`, i) }), ", ") + `]}`, faults: []string{"messages: has 22 elements, more than 21", "messages[21].ordinal: is not from 0 to 20"}},
	"everything at once": {definition: `{"title": "", "questions": [{"id": "!", "type": "date"}], "triggers": [` + oneTrigger(`"channel": "sms"`) + `], "messages": [{"ordinal": -1, "text": "a"}], "more": 1}`, faults: []string{"more: is unknown", "title: is empty", `questions[0].id: "!" is not an id: ` + visible, `triggers[0].channel: "sms" ` + noKey, "messages[0].ordinal: is not from 0 to 20"}},
}

func localesJSON(n int, text string) []string {
	return times(n, func(i int) string { return fmt.Sprintf(`"%s": %q`, []string{"en", "ar", "ku"}[i], text) })
}

// doubling is a text of little more than a thousand characters that would print its
// last word a million times.
var doubling = func() string {
	text := `{{define \"t20\"}}{{end}}{{template \"t0\"}}`
	for i := range 20 {
		text += fmt.Sprintf(`{{define \"t%d\"}}{{template \"t%d\"}}{{template \"t%[2]d\"}}{{end}}`, i, i+1)
	}
	return text
}()

// compiledSchema is the JSON Schema as an editor sees it.
var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(form.DefinitionSchema()))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("definition.json", text); err != nil {
		panic(err)
	}
	return c.MustCompile("definition.json")
})

// schemaRefuses is what the JSON Schema has against a definition; nil: nothing.
func schemaRefuses(definition string) error {
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(definition))
	if err != nil {
		return err
	}
	return compiledSchema().Validate(instance)
}

// The schema refuses what Validate refuses, and nothing else, unless a schema cannot
// see it.
func TestTheSchemaAgreesWithValidate(t *testing.T) {
	t.Parallel()
	eachDefinition(t, func(t *testing.T, c definitionCase) {
		if c.blind && len(c.faults) == 0 {
			t.Fatal("there is nothing to be blind for")
		}
		if c.blind && !json.Valid([]byte(c.definition)) || strings.Contains(c.definition, "e999999999") {
			return // no instance of anything, and a number that the checker would write out
		}
		err := schemaRefuses(c.definition)
		if want := len(c.faults) > 0 && !c.blind; (err != nil) != want {
			t.Errorf("%.300s: %v", c.definition, err)
		}
	})
}

// The objects of a definition and where the schema has them.
var schemaObjects = map[string]reflect.Type{
	"":                 reflect.TypeFor[form.Definition](),
	"question":         reflect.TypeFor[form.Question](),
	"row":              reflect.TypeFor[form.Row](),
	"choice":           reflect.TypeFor[form.Choice](),
	"ending":           reflect.TypeFor[form.Ending](),
	"openLink":         reflect.TypeFor[form.OpenLink](),
	"trigger":          reflect.TypeFor[form.Trigger](),
	"schedule":         reflect.TypeFor[form.Schedule](),
	"contact":          reflect.TypeFor[form.Contact](),
	"providerTemplate": reflect.TypeFor[form.ProviderTemplate](),
	"route":            reflect.TypeFor[form.Route](),
	"message":          reflect.TypeFor[form.MessageText](),
	"filter":           reflect.TypeFor[form.Filter](),
}

type objectSchema struct {
	Type                 string
	AdditionalProperties *bool
	Required             []string
	Properties           map[string]json.RawMessage
	Defs                 map[string]json.RawMessage `json:"$defs"`
}

func readSchema(t *testing.T, text []byte) (s objectSchema) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A field that is added to a struct and not to the schema, or the other way round,
// fails here.
func TestEveryFieldIsInTheSchema(t *testing.T) {
	t.Parallel()
	root := readSchema(t, form.DefinitionSchema())
	for name, object := range schemaObjects {
		s := root
		if name != "" {
			s = readSchema(t, root.Defs[name])
		}
		var members, required []string
		for _, f := range strictjson.Fields(object) {
			members = append(members, f.Name)
			if f.Required {
				required = append(required, f.Name)
			}
		}
		slices.Sort(members)
		if diff := cmp.Diff(members, slices.Sorted(maps.Keys(s.Properties))); diff != "" {
			t.Errorf("%s: members (-struct +schema):\n%s", object, diff)
		}
		if diff := cmp.Diff(required, s.Required); diff != "" {
			t.Errorf("%s: required (-struct +schema):\n%s", object, diff)
		}
		if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
			t.Errorf("%s: the schema lets other members through", object)
		}
	}
}

// Every struct that a definition consists of is among schemaObjects.
func TestEveryStructIsInTheSchema(t *testing.T) {
	t.Parallel()
	listed := map[reflect.Type]bool{}
	for _, object := range schemaObjects {
		listed[object] = true
	}
	var visit func(reflect.Type)
	visit = func(at reflect.Type) {
		switch at.Kind() {
		case reflect.Pointer, reflect.Slice:
			visit(at.Elem())
		case reflect.Struct:
			if !listed[at] {
				t.Errorf("%s is not", at)
			}
			if at == reflect.TypeFor[form.Filter]() {
				return // holds itself
			}
			for _, f := range strictjson.Fields(at) {
				visit(f.Type)
			}
		}
	}
	visit(reflect.TypeFor[form.Definition]())
}

func TestTheSchemaIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	form.DefinitionSchema()[0] = 'x'
	if got := form.DefinitionSchema()[0]; got != '{' {
		t.Errorf("it begins with %q", got)
	}
}

// wantConsistent: what Validate accepts the JSON Schema accepts, and it is written and
// read back as the same; what it refuses has faults to show.
func wantConsistent(t *testing.T, definition string) {
	t.Helper()
	_, err := form.Validate(json.RawMessage(definition))
	if err != nil {
		var listed *form.DefinitionError
		if !errors.As(err, &listed) || len(listed.Faults) == 0 || err.Error() == "" {
			t.Fatalf("%q: %v", definition, err)
		}
		return
	}
	if err := schemaRefuses(definition); err != nil {
		t.Fatalf("%s is accepted, but not by the schema: %v", definition, err)
	}
	var d form.Definition
	if err := json.Unmarshal([]byte(definition), &d); err != nil {
		t.Fatalf("%s: %v", definition, err)
	}
	wantSameDefinition(t, definition, d)
}

func FuzzDefinition(f *testing.F) {
	f.Add(csiGR)
	for _, c := range definitionCases {
		if len(c.definition) < 2000 {
			f.Add(c.definition)
		}
	}
	f.Fuzz(wantConsistent)
}
