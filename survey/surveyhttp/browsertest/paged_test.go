package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// paged is a form of two pages; a question of the second follows from an answer on the first.
const paged = `{"title": {"en": "Your visit", "ar": "زيارتك"}, "questions": [
	{"id": "rate", "type": "rating", "required": true, "label": {"en": "How was it?", "ar": "كيف كانت؟"}},
	{"id": "liked", "type": "multiple", "label": {"en": "What did you like?", "ar": "ماذا أعجبك؟"}, "options": [{"value": "people"}, {"value": "coffee"}, {"value": "price"}]},
	{"id": "second", "type": "page", "label": {"en": "About you", "ar": "عنك"}, "help": {"en": "If you like.", "ar": "إن أردت."}},
	{"id": "why", "type": "text", "label": {"en": "Why?", "ar": "لماذا؟"}, "when": {"questionId": "rate", "op": "<=", "value": 2}},
	{"id": "name", "type": "text", "required": true, "label": {"en": "Your name", "ar": "اسمك"}}
], "triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "recipient.address", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]}`

// A customer goes through the pages by keyboard alone, goes back, loses nothing that was typed,
// and is thanked.
func TestACustomerGoesThroughThePages(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 1280} {
		for _, locale := range []string{"en", "ar"} {
			for _, script := range []bool{true, false} {
				name := fmt.Sprintf("pages-%d-%s-script-%v", width, locale, script)
				t.Run(name, func(t *testing.T) {
					s := open(t, paged, locale)
					c := customer{t, browse(t, window{width, 900, script}), script}
					do(c.ctx, t, chromedp.Navigate(s.url))
					c.look(name + "-1")
					c.choose("q1", 2)
					c.tabTo("q2-3")
					c.press(" ")
					c.submit()
					c.look(name + "-2")
					if !c.shown("q4") || c.shown("q1") {
						t.Error("the second page does not ask what follows from the first, or shows that too")
					}
					c.write("q4", "slow")
					c.tabTo("back")
					if _, err := chromedp.RunResponse(c.ctx, chromedp.KeyEvent(" ")); err != nil {
						t.Fatal(err)
					}
					if !eval[bool](c.ctx, t, `document.getElementById("q1-2").checked && document.getElementById("q2-3").checked`) || !c.shown("q1") {
						t.Error("the way back has lost something")
					}
					c.submit()
					c.submit()
					c.look(name + "-3-faults")
					c.write("q5", "Ann")
					c.submit()
					c.look(name + "-4-thanks")
					if err := s.poller.Drain(t.Context()); err != nil {
						t.Fatal(err)
					}
					if e := <-s.heard; string(e.Answers) != `{"liked":["price"],"name":"Ann","rate":2,"why":"slow"}` {
						t.Errorf("%s arrived", e.Answers)
					}
				})
			}
		}
	}
}

// What was typed on each page is there after a reload of the form.
func TestAReloadLosesNothingOfThePages(t *testing.T) {
	t.Parallel()
	s := open(t, paged, "en")
	c := customer{t, browse(t, window{360, 900, true}), true}
	do(c.ctx, t, chromedp.Navigate(s.url))
	c.choose("q1", 1)
	c.submit()
	c.write("q5", "Ann")
	do(c.ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(s.url))
	c.submit()
	c.submit()
	c.comes(`document.body.dataset.sent !== undefined`)
	if err := s.poller.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := <-s.heard; string(e.Answers) != `{"name":"Ann","rate":1}` {
		t.Errorf("%s arrived", e.Answers)
	}
}
