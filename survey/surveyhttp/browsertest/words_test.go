package browsertest_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// modern is a survey with a scale that has ends, an nps, an exclusive option, an ending
// and two languages of both directions.
const modern = `{
	"title": {"en": "Order {{.Value \"wip\"}}", "ar": "الطلب {{.Value \"wip\"}}"},
	"questions": [
		{"id": "nps", "type": "nps", "label": {"en": "Would you recommend us?", "ar": "هل توصي بنا؟"}},
		{"id": "liked", "type": "multiple", "label": {"en": "What did you like?", "ar": "ماذا أعجبك؟"},
			"options": [{"value": "tea"}, {"value": "people"}, {"value": "none", "exclusive": true}]},
		{"id": "rate", "type": "rating", "label": {"en": "How was it?", "ar": "كيف كانت؟"}, "low": {"en": "Bad", "ar": "سيئة"}, "high": {"en": "Good", "ar": "جيدة"}}
	],
	"endings": [{"when": {"questionId": "nps", "op": ">=", "value": 9}, "text": {"en": "Tell others.", "ar": "أخبر الآخرين."},
		"link": "https://reviews.example/", "label": {"en": "Write a review", "ar": "اكتب رأيك"}}],
	"triggers": [{"id": "t", "enabled": true, "eventKind": "service-visit-closed",
		"dedupRecipe": ["templateId", "recipient.address", "candidate.wip"], "schedule": {"initialDelay": "0d"}, "channel": "memory:default"}]
}`

// The ends of a scale stand at its ends in either direction, an exclusive option takes the
// others away, and a customer who changes the language keeps what was chosen.
func TestAFormSaysMore(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 1280} {
		s := open(t, modern, "en")
		ctx := browse(t, window{width, 900, true})
		do(ctx, t, chromedp.Navigate(s.url))
		fits(ctx, t, "en")
		accessible(ctx, t, "en", true)
		if title := eval[string](ctx, t, `document.querySelector("h1").textContent`); title != "Order 40956" {
			t.Error(title)
		}
		chosen := func() string {
			return eval[string](ctx, t, `[...document.querySelectorAll("input:checked")].map(e => e.value).join()`)
		}
		eval[int](ctx, t, `["q2-1", "q2-2", "q2-3"].forEach(id => document.getElementById(id).click()), 0`)
		if got := chosen(); got != "none" {
			t.Errorf("beside what stands alone: %s", got)
		}
		eval[int](ctx, t, `["q2-1", "q1-10"].forEach(id => document.getElementById(id).click()), 0`)
		do(ctx, t, chromedp.Click(`a[hreflang=ar]`), chromedp.WaitVisible(`html[lang=ar]`))
		fits(ctx, t, "ar")
		accessible(ctx, t, "ar", true)
		picture(ctx, t, "more-ar")
		if got := chosen(); got != "9,tea" {
			t.Errorf("in the other language %s is chosen", got)
		}
		if !eval[bool](ctx, t, `(() => { const [a, b] = document.querySelectorAll("#q3-ends span"); return a.getBoundingClientRect().left > b.getBoundingClientRect().left; })()`) {
			t.Error("the low end of a scale from right to left stands on the left")
		}
		if by := eval[float64](ctx, t, `document.querySelector("#q3-ends").getBoundingClientRect().left - document.querySelector("label:has(#q3-5)").getBoundingClientRect().left`); by < -2 || by > 2 {
			t.Errorf("the high end stands %v pixels from the last step", by)
		}
		do(ctx, t, chromedp.Click("main form button"), chromedp.WaitVisible(`[role=status]`))
		accessible(ctx, t, "thanks", true)
		if link := eval[string](ctx, t, `document.querySelector("main a").href + document.querySelector("main a").textContent`); !strings.HasPrefix(link, "https://reviews.example/اكتب") {
			t.Error(link)
		}
	}
}
