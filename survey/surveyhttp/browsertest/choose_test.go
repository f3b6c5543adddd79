package browsertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry/survey"
)

// A rating that is clicked in a mail is chosen when the page opens, with a script and without,
// and nothing is stored before the form is sent.
func TestARatingIsClickedInAMail(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"en", "ar"} {
		for _, script := range []bool{true, false} {
			name := locale + map[bool]string{true: "-script", false: "-plain"}[script]
			t.Run(name, func(t *testing.T) {
				s := open(t, modern, locale)
				c := customer{t, browse(t, window{360, 800, script}), script}
				do(c.ctx, t, chromedp.Navigate(s.url+"?q.rate=4"))
				c.look("clicked-" + name)
				if got := eval[string](c.ctx, t, `[...document.querySelectorAll("input:checked")].map(e => e.name + e.value).join()`); got != "q.rate4" {
					t.Errorf("%s is chosen", got)
				}
				if rows, _, err := s.survey.Responses().List(t.Context(), "", survey.ResponseQuery{SurveyID: 4523}); err != nil || len(rows) != 0 {
					t.Errorf("before the form was sent: %v, %v", rows, err)
				}
				do(c.ctx, t, chromedp.Click(`form[action*=responses] button`), chromedp.WaitVisible(`body[data-sent]`))
				rows, _, err := s.survey.Responses().List(t.Context(), "", survey.ResponseQuery{SurveyID: 4523})
				if err != nil || len(rows) != 1 || !strings.Contains(string(rows[0].Answers), `"rate":4`) {
					t.Errorf("after the form was sent: %v, %v", rows, err)
				}
			})
		}
	}
}

// The page of a link whose time is over says so in either direction, on a phone, without
// JavaScript.
func TestAnExpiredLinkIsReadable(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"en", "ar"} {
		t.Run(locale, func(t *testing.T) {
			s := open(t, workshop, locale)
			s.clock.Add(400 * 24 * time.Hour)
			if err := s.poller.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			c := customer{t, browse(t, window{360, 800, false}), false}
			do(c.ctx, t, chromedp.Navigate(s.url))
			c.look("expired-" + locale)
			if title := eval[string](c.ctx, t, `document.title`); title != map[string]string{"en": "This survey has ended", "ar": "انتهى هذا الاستبيان"}[locale] {
				t.Error(title)
			}
		})
	}
}
