package browsertest_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

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
				if len(row) > 2 || len(row) == 2 && (row[0]-row[1] > 1 || row[1] > row[0] || i+2 < 7 || width >= 800) {
					t.Errorf("a scale of %d in rows of %v", i+2, row)
				}
			}
			if len(rows) != 10 {
				t.Errorf("%d scales", len(rows))
			}
		})
	}
}
