package browsertest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry/survey/form"
)

// filters are conditions on the first five questions of a form, and one on another
// condition's question.
var filters = []string{
	`{"questionId":"text","op":"==","value":"abc"}`, `{"questionId":"text","op":"!=","value":"abc"}`, `{"questionId":"text","op":"<","value":"b"}`,
	`{"questionId":"text","op":">=","value":"abd"}`, `{"questionId":"text","op":"==","value":10}`, `{"questionId":"text","op":">","value":9}`,
	`{"questionId":"text","op":"contains","value":"b"}`, `{"questionId":"text","op":"startsWith","value":"ab"}`, `{"questionId":"text","op":"exists"}`,
	`{"questionId":"text","op":"exists","value":false}`, `{"questionId":"text","op":"in","value":["abc",10]}`, `{"questionId":"text","op":"notIn","value":["abc",10]}`,
	`{"questionId":"number","op":"==","value":10}`, `{"questionId":"number","op":"==","value":"10.0"}`, `{"questionId":"number","op":"<","value":0.3}`,
	`{"questionId":"number","op":"<=","value":-2.5}`, `{"questionId":"number","op":">","value":1e1}`, `{"questionId":"number","op":"in","value":[1,"10"]}`,
	`{"questionId":"number","op":"contains","value":"1"}`, `{"questionId":"number","op":"!=","value":true}`, `{"questionId":"number","op":"startsWith","value":"1"}`,
	`{"questionId":"multiple","op":"contains","value":"b"}`, `{"questionId":"multiple","op":"==","value":"b"}`, `{"questionId":"multiple","op":"exists"}`,
	`{"questionId":"multiple","op":"notIn","value":["b"]}`, `{"questionId":"choice","op":"==","value":"a"}`, `{"questionId":"choice","op":"in","value":["b","c"]}`,
	`{"questionId":"yes","op":"==","value":"yes"}`, `{"questionId":"yes","op":"==","value":true}`, `{"not":{"questionId":"yes","op":"==","value":"yes"}}`,
	`{"all":[{"questionId":"text","op":"exists"},{"questionId":"number","op":">","value":1}]}`, `{"any":[{"questionId":"yes","op":"==","value":"no"},{"questionId":"choice","op":"exists"}]}`,
	`{"any":[{"all":[{"questionId":"multiple","op":"contains","value":"a"},{"not":{"questionId":"text","op":"exists"}}]},{"questionId":"number","op":"<","value":0}]}`,
	`{"questionId":"q0","op":"exists"}`,
}

// conditional is the form: its questions, and one for each filter.
func conditional(t *testing.T) string {
	t.Helper()
	questions := []string{
		`{"id":"text","type":"text","label":"text"}`, `{"id":"number","type":"number","label":"number"}`, `{"id":"yes","type":"yesNo","label":"yes"}`,
		`{"id":"choice","type":"choice","label":"choice","options":[{"value":"a"},{"value":"b"},{"value":"c"}]}`,
		`{"id":"multiple","type":"multiple","label":"multiple","options":[{"value":"a"},{"value":"b"},{"value":"c"}]}`,
	}
	for i, f := range filters {
		questions = append(questions, fmt.Sprintf(`{"id":"q%d","type":"text","label":"q%d","when":%s}`, i, i, f))
	}
	return `{"title":"Conditions","questions":[` + strings.Join(questions, ",") + `],"triggers":[{"id":"t","enabled":true,"eventKind":"service-visit-closed",
		"dedupRecipe":["templateId","recipient.address","candidate.wip"],"schedule":{"initialDelay":"0d"},"channel":"memory:default"}]}`
}

// The page's script and the server agree about which questions are asked.
func TestTheScriptAsksWhatTheServerAsks(t *testing.T) {
	t.Parallel()
	definition := conditional(t)
	var d form.Definition
	if err := json.Unmarshal([]byte(definition), &d); err != nil {
		t.Fatal(err)
	}
	s := open(t, definition, "en")
	ctx := browse(t, window{768, 900, true})
	do(ctx, t, chromedp.Navigate(s.url))
	for _, answers := range []string{
		`{}`, `{"text":"abc"}`, `{"text":"abc","q0":"x"}`, `{"text":"abd","q0":"x"}`, `{"text":"abd"}`, `{"text":"10"}`, `{"text":"9.5"}`, `{"text":" "}`, `{"text":"B"}`,
		`{"number":"10"}`, `{"number":"10.0"}`, `{"number":"1e1"}`, `{"number":"0.30000000000000001"}`, `{"number":"-2.5"}`, `{"number":"-2.51"}`, `{"number":"ten"}`,
		`{"number":"11"}`, `{"number":"0.300"}`, `{"number":"0"}`, `{"number":"1"}`, `{"text":"b"}`, `{"text":"9"}`, `{"text":"xab"}`, `{"yes":"yes"}`, `{"yes":"no"}`, `{"choice":"a"}`, `{"choice":"b"}`, `{"multiple":["a"]}`, `{"multiple":["b","c"]}`,
		`{"text":"abc","number":"2","yes":"yes","choice":"c","multiple":["a","b"]}`,
	} {
		shown := eval[[]string](ctx, t, `(answers => {
			for (const e of document.querySelectorAll("form [name^='q.']")) {
				const given = answers[e.name.slice(2)];
				if (e.type === "radio" || e.type === "checkbox") e.checked = given !== undefined && [given].flat().includes(e.value);
				else e.value = given || "";
			}
			document.querySelector("form").dispatchEvent(new Event("input"));
			return [...document.querySelectorAll("[data-q]")].filter(e => e.getBoundingClientRect().height > 0).map(e => e.dataset.q);
		})(`+answers+`)`)
		if want := d.Asked(json.RawMessage(answers)); !slices.Equal(shown, want) {
			t.Errorf("with %s the page asks %v, the server %v", answers, shown, want)
		}
	}
}

// A question that follows from a ranking is asked when each option has its number.
func TestTheScriptReadsARanking(t *testing.T) {
	t.Parallel()
	s := open(t, `{"questions":[{"id":"r","type":"ranking","options":[{"value":"a"},{"value":"b"}]},{"id":"why","type":"text","when":{"questionId":"r","op":"contains","value":"a"}}],"triggers":[{"id":"t","enabled":true,"eventKind":"service-visit-closed",
		"dedupRecipe":["templateId","recipient.address","candidate.wip"],"schedule":{"initialDelay":"0d"},"channel":"memory:default"}]}`, "en")
	c := customer{t, browse(t, window{360, 900, true}), true}
	do(c.ctx, t, chromedp.Navigate(s.url))
	for _, step := range []struct {
		field, number string
		asked         bool
	}{{"q1-1", "2", false}, {"q1-2", "2", false}, {"q1-2", "1", true}} {
		eval[bool](c.ctx, t, fmt.Sprintf(`(e => { e.value = %q; return e.dispatchEvent(new Event("change", {bubbles: true})); })(document.getElementById(%q))`, step.number, step.field))
		if shown := c.shown("q2"); shown != step.asked {
			t.Errorf("%+v: %v", step, shown)
		}
	}
}

// Whoever chooses "something else" is asked what at once, and the answer arrives.
func TestSomethingElseIsAskedAndArrives(t *testing.T) {
	t.Parallel()
	s := open(t, `{"questions":[{"id":"how","type":"choice","options":[{"value":"ad"},{"value":"o","label":"Something else","other":true}]}],"triggers":[{"id":"t","enabled":true,"eventKind":"service-visit-closed",
		"dedupRecipe":["templateId","recipient.address","candidate.wip"],"schedule":{"initialDelay":"0d"},"channel":"memory:default"}]}`, "en")
	c := customer{t, browse(t, window{360, 900, true}), true}
	do(c.ctx, t, chromedp.Navigate(s.url))
	if c.shown("q2") {
		t.Error("it is asked before it is chosen")
	}
	c.choose("q1", 2)
	c.write("q2", "a friend")
	c.look("other")
	c.submit()
	c.comes(`document.body.dataset.sent !== undefined`)
	if err := s.poller.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := <-s.heard; string(e.Answers) != `{"how":"o","how.other":"a friend"}` {
		t.Errorf("%s arrived", e.Answers)
	}
}

// The page's script reads a number as the server does: a question that follows from it is
// asked by both.
func TestTheScriptReadsNumbersAsTheServer(t *testing.T) {
	t.Parallel()
	for locale, numbers := range map[string]map[string]bool{ // above 999
		"de": {"1.000": true, "1,5": false, "1.000,5": true, "1,234": false, "1 000": true, "999": false, "999,5": true, "-1.000": false},
		"en": {"1.000": false, "1,000": true, "12,34,567": true, "1.234,5": true, "１２３４": true, "१२३४": true, "9.5": false, "−1000": false, "1,2,3": false},
		"fr": {"1\u202f000": true, "1\u00a0000,5": true, "1.000": false},
	} {
		t.Run(locale, func(t *testing.T) {
			s := open(t, `{"questions":[{"id":"n","type":"number"},{"id":"why","type":"text","when":{"questionId":"n","op":">","value":999}}],"triggers":[{"id":"t","enabled":true,"eventKind":"service-visit-closed",
				"dedupRecipe":["templateId","recipient.address","candidate.wip"],"schedule":{"initialDelay":"0d"},"channel":"memory:default"}]}`, locale)
			ctx := browse(t, window{768, 900, true})
			do(ctx, t, chromedp.Navigate(s.url))
			for typed, want := range numbers {
				got := eval[bool](ctx, t, `(typed => {
					const n = document.querySelector("[name='q.n']");
					n.value = typed;
					n.dispatchEvent(new Event("input", {bubbles: true}));
					return !document.querySelector("[data-when]").hidden;
				})(`+fmt.Sprintf("%q", typed)+`)`)
				if got != want {
					t.Errorf("%q: asked %v, want %v", typed, got, want)
				}
			}
		})
	}
}

// The checks of the other tests find what is wrong.
func TestTheChecksFindFaults(t *testing.T) {
	t.Parallel()
	ctx := browse(t, window{360, 900, true})
	do(ctx, t, chromedp.Navigate(`data:text/html,<title>t</title><main><h1>t</h1><input type=text><p style="color:silver">faint</p><div style="width:400px">wide</div></main>`))
	var ids []string
	for _, f := range violations(ctx, t, true) {
		ids = append(ids, f.ID)
	}
	for _, want := range []string{"html-has-lang", "label", "color-contrast"} {
		if !slices.Contains(ids, want) {
			t.Errorf("axe-core does not find %s, only %v", want, ids)
		}
	}
	if over(ctx, t) == 0 || len(small(ctx, t, 44)) != 1 {
		t.Error("what does not fit is not found:", over(ctx, t), small(ctx, t, 44))
	}
}
