package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
	"github.com/belfry-go/belfry/survey"
)

// console serves the console of a program whose mail to Sam is in doubt, with a held and a
// withheld reminder, all of it with hostile texts.
func console(t *testing.T, caller supporthttp.Caller) (*notify.Notifier, string) {
	t.Helper()
	ctx, clk := t.Context(), clock.NewMock()
	clk.Set(time.Date(2026, 4, 17, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	mail := channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{}, channel.Unknown("timeout", nil)
	})
	text := channel.Func("sms:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: m.ID}, nil
	})
	out := notify.New(store, nil, mail, text)
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	by := automation.By{Actor: hostile, Reason: hostile}
	for _, days := range []int{7, 5, 1} {
		got, err := reminders.Ensure(ctx, automation.Candidate{Type: "certificate", Source: automation.Source{Type: "employee", ID: "sam"}, Person: "sam",
			TargetDate: automation.Date{Year: 2026, Month: 4, Day: 24}, DaysBefore: days})
		must(err)
		if days == 5 {
			must(reminders.Support().Hold(ctx, "", got[0].Key, by))
		}
	}
	_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{Channel: "email:test", PartitionKey: "1", NotificationType: "news", RecipientRef: "sam",
		RecipientName: hostile, Address: "sam@example.com", Content: notify.Content{Subject: hostile}})
	must(err)
	surveys := survey.New(store, out, &survey.Options{SurveyURL: "https://host.example/s/{token}"})
	_, err = surveys.Publish(ctx, survey.Version{SurveyID: 7, Name: "Visit", Definition: json.RawMessage(`{
		"questions": [{"id": "rate", "type": "rating"}],
		"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
			"schedule": {"initialDelay": "0d"}, "channel": "email:test"}]}`)})
	must(err)
	must(out.Support().Pause(ctx, notify.Extent{Channel: "sms:test"}, time.Time{}, by))
	poller := belfry.NewPoller(store, nil, reminders, out, surveys)
	for range 3 {
		must(poller.Drain(ctx))
		clk.Add(61 * time.Minute)
	}
	desk := support.New(support.Options{Store: store, Automation: reminders, Notify: out, Survey: surveys, Privacy: poller.Privacy(),
		Directory: func(context.Context, support.Scope, string) ([]support.Person, error) {
			return []support.Person{{Ref: "sam", Name: "Sam " + hostile}}, nil
		}})
	mux := http.NewServeMux()
	mux.Handle("/a/b/support/", supporthttp.New(desk, supporthttp.Options{
		Authorise: func(*http.Request) (supporthttp.Caller, error) { return caller, nil }, Note: "a test",
	}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return out, server.URL + "/a/b/support/"
}

// dark has the browser prefer dark pages, or light ones.
func dark(ctx context.Context, t *testing.T, is bool) {
	t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[is]
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// By keyboard alone, without JavaScript, on three widths, light and dark: somebody finds
// Sam, reads why nothing came, and settles the doubt with a reason.
func TestSupportSettlesADoubtByKeyboard(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{360, 768, 1280} {
		for _, isDark := range []bool{false, true} {
			name := fmt.Sprintf("console-%d-dark-%v", width, isDark)
			t.Run(name, func(t *testing.T) {
				out, url := console(t, supporthttp.Caller{Actor: "kim", Read: true, Act: support.Actions(), Personal: true, Everywhere: true})
				c := customer{t, browse(t, window{width, 900, false}), false}
				dark(c.ctx, t, isDark)
				see := func(page string) {
					t.Helper()
					accessible(c.ctx, t, name+page, false)
					fitsDesk(c.ctx, t, name+page, width)
					picture(c.ctx, t, name+page)
					if got := eval[int](c.ctx, t, `document.querySelectorAll("script,img,iframe:not([sandbox=''])").length`); got != 0 {
						t.Errorf("%s: %d of a hostile text's elements", page, got)
					}
				}
				do(c.ctx, t, chromedp.Navigate(url))
				see("-1-home")
				if at := c.focus(); at != "q" {
					t.Errorf("the focus is at %q", at)
				}
				do(c.ctx, t, chromedp.KeyEvent("sam"))
				c.press(kb.Enter)
				do(c.ctx, t, chromedp.WaitVisible(".verdict"))
				see("-2-person")
				if got := eval[string](c.ctx, t, `document.querySelector("main").textContent`); !strings.Contains(got, "no recipient or address was on file") || !strings.Contains(got, "may have got") {
					t.Error(got)
				}
				do(c.ctx, t, chromedp.Focus(`button[value="Resolve Sent"]`))
				c.press(kb.Enter)
				do(c.ctx, t, chromedp.WaitVisible("#reason"))
				see("-3-act")
				do(c.ctx, t, chromedp.Focus("#reason"), chromedp.KeyEvent("she has it"))
				c.press(kb.Enter)
				do(c.ctx, t, chromedp.WaitVisible(".lead.done"))
				see("-4-done")
				held, _, err := out.Support().Held(t.Context(), "", reasons.OutcomeUnknown, storage.Page{})
				if err != nil || len(held) != 0 {
					t.Error(held, err)
				}
				do(c.ctx, t, chromedp.Navigate(url+"needs?kind=Hold&domain=automation&table=automation_scheduler&reason=HeldBySupport"))
				see("-5-rows")
				for _, list := range []string{"messages", "reminders", "list?of=pauses", "list?of=audit", "calendar", "reasons", "search"} {
					do(c.ctx, t, chromedp.Navigate(url+list))
					see("-6-" + strings.NewReplacer("?", "-", "=", "-").Replace(list))
				}
				do(c.ctx, t, chromedp.Navigate(url+"messages"), chromedp.Click(".what a"), chromedp.WaitVisible("#mail"))
				see("-6-message")
				do(c.ctx, t, chromedp.Navigate(url+"story?person=sam"), chromedp.Focus(`button[value="Erase"]`))
				c.press(kb.Enter)
				do(c.ctx, t, chromedp.WaitVisible("#typed"))
				see("-7-erase")
				if got := eval[string](c.ctx, t, `document.querySelector("main").textContent`); !strings.Contains(got, "erases the person from 1 message, 3 reminders") && !strings.Contains(got, "erases the person from 3 reminders, 1 message") {
					t.Error(got)
				}
				do(c.ctx, t, chromedp.Focus("#typed"), chromedp.KeyEvent("sam"), chromedp.Focus("#reason"), chromedp.KeyEvent("she asked for it"))
				c.press(kb.Enter)
				do(c.ctx, t, chromedp.WaitVisible(".lead.done"))
				if left, _, err := out.Support().MessagesOf(t.Context(), "", notify.Recipient{Ref: "sam"}, storage.Page{}); err != nil || len(left) != 0 {
					t.Error(left, err)
				}
			})
		}
	}
}
