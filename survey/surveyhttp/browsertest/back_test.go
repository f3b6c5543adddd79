package browsertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A customer who goes back to a page that said what was wrong finds it with what was typed,
// and not the browser's question whether to send again. After the thanks nothing is shown any
// more that was typed, where a script can see to it.
func TestBackLeadsToAPageThatIsThere(t *testing.T) {
	t.Parallel()
	for _, script := range []bool{true, false} {
		t.Run(map[bool]string{true: "script", false: "plain"}[script], func(t *testing.T) {
			s := open(t, workshop, "en")
			c := customer{t, browse(t, window{360, 900, script}), script}
			do(c.ctx, t, chromedp.Navigate(s.url))
			c.fill(`q5.value = "Samir"`)
			c.submit()
			c.fill(`q5.value = "Sam"`)
			c.submit() // it is faulty still
			c.back()
			if c.comes(`document.querySelector(".summary") && document.getElementById("q5").value.startsWith("Sam")`); t.Failed() {
				return
			}
			c.fill(`document.getElementById("q1-9").click(), document.getElementById("q2-2").click()`)
			c.submit()
			c.comes(`document.body.dataset.sent !== undefined`)
			c.back()
			if script {
				c.comes(`document.title === "Already answered"`)
			} else {
				c.comes(`document.querySelector("form")`)
			}
		})
	}
}

// fill does something to the fields of the form.
func (c customer) fill(expression string) {
	c.Helper()
	eval[bool](c.ctx, c.T, `(`+expression+`, document.querySelector("form").dispatchEvent(new Event("input")))`)
}

// back goes back in the browser's history.
func (c customer) back() {
	c.Helper()
	history, err := chromedp.Call(c.ctx, page.GetNavigationHistory, cdp.Empty{})
	if err == nil {
		_, err = chromedp.Call(c.ctx, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: history.Entries[history.CurrentIndex-1].ID})
	}
	if err != nil {
		c.Fatal(err)
	}
}

// comes waits until a page is there, its script has run, and it is as it should be.
func (c customer) comes(expression string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && !!(`+expression+`)`)); err == nil && is {
			return
		}
	}
	c.Errorf("%s is not so at %s: %s", expression, eval[string](c.ctx, c.T, `location.href`), eval[string](c.ctx, c.T, `document.title`))
}
