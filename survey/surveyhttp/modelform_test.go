package surveyhttp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// modelQuestion is a question of a random form, and what its author means by it.
type modelQuestion struct {
	id, kind    string
	page        int
	required    bool
	least, most int
	options     []string
	exclusive   string // the option that stands alone; empty: none
	when        *modelWhen
	order       bool // its options are ranked
}

// modelWhen is a condition: all of its parts, or not.
type modelWhen struct {
	parts []modelPart
	not   bool
}

// modelPart says that the answer to a question compares with a value.
type modelPart struct {
	id, op string
	value  any
}

// modelForm is a random form.
type modelForm struct {
	*rand.Rand
	definition string
	questions  []*modelQuestion // those with an answer, in order
	pages      int
	unhappy    *modelWhen
	anonymous  bool
	open       bool // customers come by an open link, and not by one of their own
}

// said is what a customer types or chooses, and what is to be stored of it: a string, a float64 or
// []string; nil: no answer.
type said struct {
	values []string
	stored any
	wrong  bool
}

func newModelForm(r *rand.Rand) *modelForm {
	m := &modelForm{Rand: r, pages: 1}
	var written []map[string]any
	for n := range 1 + r.IntN(9) {
		if n > 0 && r.IntN(5) == 0 {
			m.pages++
			written = append(written, map[string]any{"id": fmt.Sprint("page", n), "type": "page", "label": fmt.Sprint("Page ", n)})
		}
		written = append(written, m.question(n)...)
	}
	all := map[string]any{
		"title": "Random", "questions": written, "openLinks": []any{map[string]any{"id": "poster", "enabled": true}},
		"triggers": []any{map[string]any{
			"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": []string{"templateId", "candidate.wip"}, "schedule": map[string]any{"initialDelay": "0d"}, "channel": "memory:default",
		}},
	}
	m.open, m.anonymous = m.IntN(3) == 0, m.IntN(3) == 0
	if all["anonymous"] = m.anonymous; !m.anonymous {
		all["dimensions"] = []string{"candidate.city"}
		if m.unhappy = m.condition(); m.unhappy != nil {
			all["unhappy"] = m.unhappy.filter()
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		panic(err)
	}
	m.definition = string(text)
	return m
}

var modelKinds = []string{"text", "longText", "number", "rating", "nps", "yesNo", "choice", "multiple", "ranking", "date", "grid"}

// question adds a question, and gives what an author writes for it.
func (m *modelForm) question(n int) []map[string]any {
	q := &modelQuestion{id: fmt.Sprint("q", n), kind: modelKinds[m.IntN(len(modelKinds))], page: m.pages, required: m.IntN(3) == 0, when: m.condition()}
	written := map[string]any{"id": q.id, "type": q.kind, "required": q.required}
	if m.IntN(2) == 0 {
		written["label"] = fmt.Sprintf("Question %d, \"<%d>\"?", n, n)
	}
	if q.when != nil {
		written["when"] = q.when.filter()
	}
	switch q.kind {
	case "text", "longText":
		if q.most = 4000; m.IntN(2) == 0 {
			q.most = 20
			written["maxLength"] = q.most
		}
	case "number":
		q.least, q.most = -5, 2000
		written["min"], written["max"] = q.least, q.most
	case "nps":
		q.least, q.most = 0, 10
	case "rating", "grid":
		q.least = m.IntN(2)
		q.most = q.least + 1 + m.IntN(9)
		written["min"], written["max"] = q.least, q.most
	case "yesNo":
		q.options = []string{"yes", "no"}
	case "choice", "multiple", "ranking":
		m.options(q, written)
	}
	if q.kind == "grid" {
		return m.rows(q, written)
	}
	m.questions = append(m.questions, q)
	if other, ok := written["other"].(string); ok {
		delete(written, "other")
		op := "=="
		if q.kind == "multiple" {
			op = "contains"
		}
		m.questions = append(m.questions, &modelQuestion{id: q.id + ".other", kind: "text", page: q.page, most: 500, when: &modelWhen{parts: []modelPart{{q.id, op, other}}}})
	}
	return []map[string]any{written}
}

// options adds those of a choice; "other" of what is written is the one that asks for a text.
func (m *modelForm) options(q *modelQuestion, written map[string]any) {
	var options []map[string]any
	for i := range 2 + m.IntN(5+7*m.IntN(2)) {
		value := fmt.Sprintf("o%d & co", i)
		q.options = append(q.options, value)
		options = append(options, map[string]any{"value": value, "label": fmt.Sprint("Option ", i)})
	}
	last := options[len(options)-1]
	switch {
	case q.kind == "ranking":
		q.order = true
	case m.IntN(3) == 0:
		last["other"], written["other"] = true, last["value"]
	case q.kind == "multiple" && m.IntN(2) == 0:
		last["exclusive"], q.exclusive = true, last["value"].(string)
	}
	if q.kind == "multiple" {
		q.most = len(options)
		if m.IntN(2) == 0 {
			q.most = 1 + m.IntN(len(options))
			written["max"] = q.most
		}
	}
	written["options"] = options
}

// rows adds those of a grid.
func (m *modelForm) rows(grid *modelQuestion, written map[string]any) []map[string]any {
	var rows []map[string]any
	for i := range 1 + m.IntN(4) {
		id := fmt.Sprint("r", i)
		rows = append(rows, map[string]any{"id": id})
		row := *grid
		row.id, row.kind = grid.id+"."+id, "rating"
		m.questions = append(m.questions, &row)
	}
	written["rows"] = rows
	return []map[string]any{written}
}

// condition is a random one on questions before, or none.
func (m *modelForm) condition() *modelWhen {
	if len(m.questions) == 0 || m.IntN(3) > 0 {
		return nil
	}
	w := &modelWhen{not: m.IntN(6) == 0}
	for range 1 + m.IntN(2) {
		q := m.questions[m.IntN(len(m.questions))]
		p := modelPart{id: q.id, op: "exists", value: m.IntN(3) > 0}
		switch q.kind {
		case "rating", "nps", "number":
			p.op, p.value = []string{"<=", ">", "=="}[m.IntN(3)], float64(q.least+m.IntN(min(q.most-q.least, 10)+1))
		case "yesNo", "choice":
			p.op, p.value = []string{"==", "!="}[m.IntN(2)], q.options[m.IntN(len(q.options))]
		case "multiple", "ranking":
			p.op, p.value = "contains", q.options[m.IntN(len(q.options))]
		}
		w.parts = append(w.parts, p)
	}
	return w
}

func (w *modelWhen) filter() any {
	var parts []any
	for _, p := range w.parts {
		parts = append(parts, map[string]any{"questionId": p.id, "op": p.op, "value": p.value})
	}
	all := any(map[string]any{"all": parts})
	if w.not {
		all = map[string]any{"not": all}
	}
	return all
}

func (w *modelWhen) holds(values map[string]any) bool {
	if w == nil {
		return true
	}
	for _, p := range w.parts {
		if !p.holds(values[p.id]) {
			return w.not
		}
	}
	return !w.not
}

func (p modelPart) holds(is any) bool {
	switch p.op {
	case "exists":
		return (is != nil) == p.value.(bool)
	case "!=":
		return is != p.value
	case "==":
		return is == p.value
	case "contains":
		list, _ := is.([]string)
		return slices.Contains(list, p.value.(string))
	}
	number, ok := is.(float64)
	return ok && (p.op == "<=" && number <= p.value.(float64) || p.op == ">" && number > p.value.(float64))
}

// answered is what the form takes of what a customer typed, what is wrong with it, and which
// questions are asked; of a wrong answer nothing is known.
func (m *modelForm) answered(given map[string]said) (values map[string]any, wrong, asked []*modelQuestion) {
	values = map[string]any{}
	for _, q := range m.questions {
		if !q.when.holds(values) {
			continue
		}
		asked = append(asked, q)
		switch t := given[q.id]; {
		case t.wrong, t.stored == nil && q.required:
			wrong = append(wrong, q)
		case t.stored != nil:
			values[q.id] = t.stored
		}
	}
	return values, wrong, asked
}

// any is what a customer says to a question: right, wrong, or nothing.
func (m *modelForm) any(q *modelQuestion, locale string) said {
	switch roll := m.IntN(12); {
	case roll < 3:
		return said{}
	case roll == 3:
		if t, ok := m.wrong(q); ok {
			return t
		}
	}
	return m.right(q, locale)
}

var modelTexts = []string{"It was late", "=1+1", "+49 1", "שלום", "a\tb", "<b>&amp;", `"quoted"`, "ελλάδα", "x"}

func (m *modelForm) right(q *modelQuestion, locale string) said {
	one := func(text string, stored any) said { return said{values: []string{text}, stored: stored} }
	switch q.kind {
	case "text", "longText":
		text := modelTexts[m.IntN(len(modelTexts))]
		if q.kind == "longText" && m.IntN(2) == 0 {
			return one("a\r\n"+text, "a\n"+text)
		}
		return one(text, text)
	case "number":
		n := float64(2*q.least+m.IntN(2*(q.most-q.least)+1)) / 2
		text := strconv.FormatFloat(n, 'f', -1, 64)
		return one(modelNumber(text, locale), n)
	case "rating", "nps":
		n := q.least + m.IntN(q.most-q.least+1)
		return one(strconv.Itoa(n), float64(n))
	case "date":
		text := fmt.Sprintf("2026-%02d-%02d", 1+m.IntN(12), 1+m.IntN(28))
		return one(text, text)
	case "ranking":
		t := said{values: make([]string, len(q.options))}
		order := make([]string, len(q.options))
		for place, option := range m.Perm(len(q.options)) {
			t.values[option], order[place] = strconv.Itoa(place+1), q.options[option]
		}
		t.stored = order
		return t
	case "multiple":
		return m.several(q, 1+m.IntN(q.most))
	}
	option := q.options[m.IntN(len(q.options))]
	return one(option, option)
}

// several chooses n options of a multiple choice, in its order.
func (m *modelForm) several(q *modelQuestion, n int) said {
	chosen := slices.Sorted(slices.Values(m.Perm(len(q.options))[:n]))
	var list []string
	for _, i := range chosen {
		if q.options[i] != q.exclusive || n == 1 {
			list = append(list, q.options[i])
		}
	}
	return said{values: list, stored: list}
}

// wrong is an answer that a browser can send and the form does not take; false: there is none.
func (m *modelForm) wrong(q *modelQuestion) (said, bool) {
	t := said{wrong: true}
	switch {
	case q.kind == "text" || q.kind == "longText":
		t.values = []string{strings.Repeat("ab", 3000)[:q.most+1]}
	case q.kind == "number":
		t.values = []string{"five"}
	case q.kind == "ranking":
		t.values = make([]string, len(q.options))
		t.values[0], t.values[1] = "1", []string{"", "1"}[m.IntN(2)]
	case q.kind == "multiple" && q.most < len(q.options):
		t.values = q.options[:q.most+1]
	case q.exclusive != "":
		t.values = []string{q.options[0], q.exclusive}
	default:
		return t, false
	}
	return t, true
}

// modelNumber is a number as the language of a page writes it.
func modelNumber(text, locale string) string {
	switch locale {
	case "de":
		return strings.Replace(text, ".", ",", 1)
	case "ar":
		return strings.Map(func(r rune) rune {
			switch {
			case r == '.':
				return '٫'
			case r >= '0' && r <= '9':
				return r - '0' + '٠'
			}
			return r
		}, text)
	}
	return text
}

// modelJSON is how answers are stored.
func modelJSON(values map[string]any) string {
	parts := []string{}
	for _, id := range slices.Sorted(maps.Keys(values)) {
		value := values[id]
		if n, ok := value.(float64); ok {
			value = json.Number(strconv.FormatFloat(n, 'f', -1, 64))
		}
		text, err := json.Marshal(map[string]any{id: value})
		if err != nil {
			panic(err)
		}
		parts = append(parts, string(text[1:len(text)-1]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}
