package browsertest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// What the ends of a scale mean stands beneath them, as wide as the steps, in both
// directions; beneath two rows, and beside the field of a long scale, it has its number.
func TestTheEndsOfAScaleStandAtItsEnds(t *testing.T) {
	t.Parallel()
	questions := ""
	for steps := 2; steps <= 12; steps++ {
		questions += fmt.Sprintf(`,{"id":"s%d","type":"rating","min":1,"max":%d,"label":{"en":"%d","ar":"%d"},"low":{"en":"Not at all","ar":"سيئة جدا"},"high":{"en":"Very good","ar":"جيدة جدا"}}`, steps, steps, steps, steps)
	}
	s := open(t, `{"questions":[`+questions[1:]+`],"triggers":[{"id":"t","enabled":true,"eventKind":"service-visit-closed",
		"dedupRecipe":["templateId","recipient.address","candidate.wip"],"schedule":{"initialDelay":"0d"},"channel":"memory:default"}]}`, "en")
	for _, width := range []int64{360, 600, 1280} {
		for _, lang := range []string{"en", "ar"} {
			name := fmt.Sprintf("%d-%s", width, lang)
			t.Run(name, func(t *testing.T) {
				ctx := browse(t, window{width, 900, false})
				do(ctx, t, chromedp.Navigate(s.url+"?lang="+lang))
				fits(ctx, t, name)
				accessible(ctx, t, name, false)
				picture(ctx, t, "ends-"+name)
				type ends struct {
					Rows            int
					Low, High       string
					LowOff, HighOff float64
				}
				got := eval[[]ends](ctx, t, `[...document.querySelectorAll(".scale")].map(s => {
					const rtl = document.dir === "rtl", box = e => e.getBoundingClientRect();
					const steps = [...s.children].map(box), [low, high] = s.nextElementSibling.children;
					const start = b => rtl ? -b.right : b.left, end = b => rtl ? -b.left : b.right;
					const said = e => { const n = getComputedStyle(e, "::before").content; return (n === "none" ? "" : e.dataset.step + ": ") + e.textContent; };
					return {rows: new Set(steps.map(b => b.top)).size, low: said(low), high: said(high),
						lowOff: start(box(low)) - Math.min(...steps.map(start)), highOff: end(box(high)) - Math.max(...steps.map(end))};
				})`)
				words := map[string][2]string{"en": {"Not at all", "Very good"}, "ar": {"سيئة جدا", "جيدة جدا"}}[lang]
				for i, e := range got {
					low, high := words[0], words[1]
					if e.Rows > 1 {
						low, high = "1: "+low, fmt.Sprintf("%d: %s", i+2, high)
					}
					if e.Low != low || e.High != high || math.Abs(e.LowOff) > 2 || math.Abs(e.HighOff) > 2 {
						t.Errorf("a scale of %d: %+v", i+2, e)
					}
				}
				if hint := eval[string](ctx, t, `document.getElementById("q11-hint").textContent`); len(got) != 10 || !strings.Contains(hint, "1: "+words[0]) || !strings.Contains(hint, "12: "+words[1]) {
					t.Errorf("%d scales, and beside the long one %q", len(got), hint)
				}
			})
		}
	}
}

// The numbers of a scale stand in one row, or in two that are as long as each other or one
// more, whatever the phone.
func TestAScaleIsEven(t *testing.T) {
	t.Parallel()
	questions := ""
	for steps := 2; steps <= 11; steps++ {
		questions += fmt.Sprintf(`,{"id":"s%d","type":"rating","min":1,"max":%d,"label":"%d"}`, steps, steps, steps)
	}
	s := open(t, `{"questions":[`+questions[1:]+`],"triggers":[{"id":"t","enabled":true,"eventKind":"service-visit-closed",
		"dedupRecipe":["templateId","recipient.address","candidate.wip"],"schedule":{"initialDelay":"0d"},"channel":"memory:default"}]}`, "en")
	for _, width := range []int64{360, 390, 412, 430, 600, 800, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			ctx := browse(t, window{width, 900, false})
			do(ctx, t, chromedp.Navigate(s.url))
			fits(ctx, t, fmt.Sprint(width))
			picture(ctx, t, fmt.Sprintf("scale-%d", width))
			rows := eval[[][]int](ctx, t, `[...document.querySelectorAll(".scale")].map(s => {
				const rows = new Map();
				for (const l of s.children) { const y = l.getBoundingClientRect().top; rows.set(y, (rows.get(y) || 0) + 1); }
				return [...rows.values()];
			})`)
			for i, row := range rows {
				if len(row) > 2 || len(row) == 2 && (row[0]-row[1] > 1 || row[1] > row[0] || i+2 < 8 || width >= 800) {
					t.Errorf("a scale of %d in rows of %v", i+2, row)
				}
			}
			if len(rows) != 10 {
				t.Errorf("%d scales", len(rows))
			}
		})
	}
}

// The ring of the focus is around the whole tile of an option, and not around its small circle.
func TestTheFocusIsAroundTheTile(t *testing.T) {
	t.Parallel()
	s := open(t, modern, "en")
	ctx := browse(t, window{360, 900, false})
	do(ctx, t, chromedp.Navigate(s.url))
	c := customer{t, ctx, false}
	for _, first := range []string{"q1-1", "q2-1", "q3-1"} {
		c.tabTo(first)
		picture(ctx, t, "focus-"+first)
		got := eval[[]string](ctx, t, `[document.activeElement, document.activeElement.closest("label")].map(e => { const s = getComputedStyle(e); return s.outlineStyle + " " + s.outlineWidth; })`)
		if got[0] != "none 0px" && got[0] != "none 3px" || got[1] != "solid 3px" {
			t.Errorf("%s: the control has %s, its tile %s", first, got[0], got[1])
		}
	}
}
