package browsertest_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// What was typed is there after a reload of the form, and after the page of a faulty form
// was loaded again by a restored tab, which asks with GET. After the thanks it is gone.
func TestAReloadLosesNothingTyped(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"en", "ar"} {
		t.Run(locale, func(t *testing.T) {
			s := open(t, workshop, locale)
			c := customer{t, browse(t, window{360, 900, true}), true}
			do(c.ctx, t, chromedp.Navigate(s.url))
			eval[bool](c.ctx, t, `(() => {
				document.getElementById("q1-3").click();
				const name = document.getElementById("q5");
				name.value = "Samir <b>";
				document.getElementById("q10-2").value = "3";
				return name.dispatchEvent(new Event("input", {bubbles: true}));
			})()`)
			do(c.ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(s.url))
			c.typed("a reload")
			c.submit()
			c.typed("a faulty form")
			address := eval[string](c.ctx, t, "location.href")
			do(c.ctx, t, chromedp.Navigate("about:blank"), chromedp.Navigate(address))
			c.typed("a restored tab")
			c.look(locale + "-reload")
			if n := eval[int](c.ctx, t, "sessionStorage.length"); n != 1 {
				t.Errorf("%d drafts", n)
			}
		})
	}
}

func (c customer) typed(after string) {
	c.Helper()
	if got := eval[string](c.ctx, c.T, `document.getElementById("q5").value + document.getElementById("q1-3").checked + ["q10-1", "q10-2"].map(e => document.getElementById(e).value)`); got != "Samir <b>true,3" {
		c.Errorf("after %s there is %q", after, got)
	}
}
