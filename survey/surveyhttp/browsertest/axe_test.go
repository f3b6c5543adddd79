package browsertest_test

import (
	"context"
	_ "embed" // axe-core
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe/axe.min.js
var axe string

// finding is something that axe-core does not like.
type finding struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML           string `json:"html"`
		FailureSummary string `json:"failureSummary"`
	} `json:"nodes"`
}

// violations are what axe-core finds on the page, by the rules of WCAG 2.2 up to level
// AA and by its best practices.
func violations(ctx context.Context, t *testing.T, script bool) []finding {
	t.Helper()
	scripts(ctx, t, true) // of axe-core; those of the page have not been run
	eval[int](ctx, t, axe+";0")
	found := eval[[]finding](ctx, t, `axe.run().then(r => r.violations)`, chromedp.EvalAwaitPromise)
	scripts(ctx, t, script)
	return found
}

// accessible says that axe-core finds nothing at all.
func accessible(ctx context.Context, t *testing.T, page string, script bool) {
	t.Helper()
	for _, f := range violations(ctx, t, script) {
		t.Errorf("%s: %s (%s): %s", page, f.ID, f.Impact, f.Help)
		for _, n := range f.Nodes {
			t.Logf("%s\n%s", n.HTML, n.FailureSummary)
		}
	}
}

// over is by how many pixels the page is wider than the window.
func over(ctx context.Context, t *testing.T) int {
	t.Helper()
	return eval[int](ctx, t, `document.documentElement.scrollWidth - document.documentElement.clientWidth`)
}

// small is what is to be touched and is too small: for a thumb with 44 pixels, for a mouse
// with 24.
func small(ctx context.Context, t *testing.T, least int) []string {
	t.Helper()
	return eval[[]string](ctx, t, fmt.Sprintf(`[...document.querySelectorAll("button, select, textarea, input[type=text], input[type=date], label:has(input)")]
		.filter(e => { const r = e.getBoundingClientRect(); return r.height > 0 && (r.height < %[1]d || r.width < %[1]d) }).map(e => e.outerHTML)`, least))
}

// fits says that nothing has to be scrolled sideways, and that everything is large
// enough to be touched.
func fits(ctx context.Context, t *testing.T, page string) {
	t.Helper()
	if n := over(ctx, t); n > 0 {
		t.Errorf("%s: %d pixels wider than the window", page, n)
	}
	for _, e := range small(ctx, t, 44) {
		t.Errorf("%s: too small to touch: %s", page, e)
	}
}

// fitsDesk is fits of a page that is dense where there is a mouse.
func fitsDesk(ctx context.Context, t *testing.T, page string, width int64) {
	t.Helper()
	if n := over(ctx, t); n > 0 {
		t.Errorf("%s: %d pixels wider than the window", page, n)
	}
	least := 24
	if width < 900 {
		least = 44
	}
	for _, e := range small(ctx, t, least) {
		t.Errorf("%s: too small to touch: %s", page, e)
	}
}
