package browsertest_test

import (
	"encoding/json"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/belfry-go/belfry/survey"
)

// noted is how often which answer was chosen in a message and not sent.
func (s *site) noted(t *testing.T) []survey.ValueCount {
	t.Helper()
	got, err := s.survey.Results().Get(t.Context(), "", survey.ResultQuery{SurveyID: 4523})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range got.Groups {
		if len(g.Chosen) > 0 {
			return g.Chosen[0].Counts
		}
	}
	return nil
}

// crowd has others click a rating of 4: of fewer than five nothing is shown.
func (s *site) crowd(t *testing.T) {
	t.Helper()
	for n := range survey.MinResponses - 1 {
		report, err := s.survey.Ingest(t.Context(), survey.Batch{EventKind: "service-visit-closed", Items: []survey.Item{{
			Payload: json.RawMessage(fmt.Sprintf(`{"wip":"%d"}`, n)), Recipient: survey.Recipient{Address: "+9647700000001"},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		link, err := s.survey.Link(t.Context(), "", report.Items[0].Instances[0].PublicID)
		if err == nil {
			err = s.survey.Choose(t.Context(), path.Base(link), json.RawMessage(`{"rate": 4}`))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A rating that is clicked in a mail is chosen when the page opens, and the page tells of it:
// by its script, or by its button where there is none. The form counts when it is sent.
func TestARatingIsClickedInAMail(t *testing.T) {
	t.Parallel()
	for _, locale := range []string{"en", "ar"} {
		for _, script := range []bool{true, false} {
			name := locale + map[bool]string{true: "-script", false: "-plain"}[script]
			t.Run(name, func(t *testing.T) {
				s := open(t, modern, locale)
				s.crowd(t)
				c := customer{t, browse(t, window{360, 800, script}), script}
				do(c.ctx, t, chromedp.Navigate(s.url+"?q.rate=4"))
				c.look("clicked-" + name)
				if got := eval[string](c.ctx, t, `[...document.querySelectorAll("input:checked")].map(e => e.name + e.value).join()`); got != "q.rate4" {
					t.Errorf("%s is chosen", got)
				}
				if script {
					select {
					case <-s.chosen:
					case <-c.ctx.Done():
						t.Fatal("the page told nothing")
					}
				} else {
					if got := s.noted(t); len(got) != 0 {
						t.Errorf("a GET noted %v", got)
					}
					do(c.ctx, t, chromedp.Focus(`button[name=button]`))
					c.press("\r")
					do(c.ctx, t, chromedp.WaitVisible(`[role=status]`))
					c.look("noted-" + name)
				}
				if got := s.noted(t); len(got) != 1 || got[0] != (survey.ValueCount{Value: "4", N: 5}) {
					t.Errorf("noted: %v", got)
				}
				do(c.ctx, t, chromedp.Click(`form[action*=responses] button`), chromedp.WaitVisible(`body[data-sent]`))
				if got := s.noted(t); len(got) != 0 {
					t.Errorf("after the form was sent: %v", got)
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
