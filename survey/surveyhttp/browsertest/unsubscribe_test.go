package browsertest_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// A customer unsubscribes in a language of either direction, on a phone, without
// JavaScript.
func TestACustomerUnsubscribes(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"en", "ar"} {
		t.Run(locale, func(t *testing.T) {
			s := open(t, workshop, locale)
			ctx := browse(t, window{360, 800, false})
			do(ctx, t, chromedp.Navigate(s.url+"/unsubscribe"))
			fits(ctx, t, "ask")
			accessible(ctx, t, "ask", false)
			picture(ctx, t, "unsubscribe-"+locale)
			do(ctx, t, chromedp.Click("main form button"), chromedp.WaitVisible(`[role=status]`))
			accessible(ctx, t, "done", false)
			if forms := eval[int](ctx, t, "document.forms.length"); forms != 0 {
				t.Errorf("%d forms", forms)
			}
		})
	}
}
