package browsertest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// office is a program on the morning of Friday, 17 April: Sam has no address and a reminder
// tomorrow, a mail to Ada is in doubt and one to Lee was refused, a reminder of Kim and one
// of Eve are held, and somebody has changed a setting.
type office struct {
	*testing.T
	out       *notify.Notifier
	reminders *automation.Scheduler
	url       string
	sam       string // the key of tomorrow's reminder
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t}
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 4, 17, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	mail := channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		switch who, _, _ := strings.Cut(m.To, "@"); who {
		case "ada":
			return channel.Receipt{}, channel.Unknown("timeout", nil)
		case "lee":
			return channel.Receipt{}, channel.Permanent("550", errors.New("mailbox is full"))
		}
		return channel.Receipt{ID: "p-" + m.ID}, nil
	})
	o.out = notify.New(store, nil, mail)
	o.out.Register(notify.Type{Name: "news", InDoubt: notify.Hold, Renderer: templates.Set{Default: "en", Locales: map[string]notify.Template{
		"en": {Subject: "News for {{.Recipient.Name}}"}, "ar": {Subject: "أخبار لـ {{.Recipient.Name}}"},
	}}})
	set := settings.New(store, nil)
	o.reminders = automation.New(store, o.out, nil)
	o.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
	})
	for who, days := range map[string][]int{"sam": {7, 6}, "kim": {5}, "eve": {5}} {
		for _, n := range days {
			got, err := o.reminders.Ensure(t.Context(), automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: who}, Person: who,
				TargetDate: automation.Date{Year: 2026, Month: 4, Day: 24}, DaysBefore: n,
			})
			o.must(err)
			if who == "sam" && n == 6 {
				o.sam = got[0].Key
			}
			if who != "sam" {
				o.must(o.reminders.Support().Hold(t.Context(), "", got[0].Key, automation.By{Actor: "pat", Reason: "the data are being checked"}))
			}
		}
	}
	for _, who := range []string{"ada", "lee"} {
		_, err := o.out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{Channel: "email:test", PartitionKey: "1", NotificationType: "news",
			RecipientRef: who, Address: who + "@example.com", Content: notify.Content{Subject: "News"}})
		o.must(err)
	}
	_, err := set.As(automation.By{Actor: "pat", Reason: "parents asked for the evening"}).SaveReminder(t.Context(), settings.ReminderSetting{ID: "expiry", Type: "certificate", Active: true, Offsets: []int{7}, SendAt: "18:00"})
	o.must(err)
	for range 3 {
		o.must(belfry.NewPoller(store, nil, o.reminders, o.out).Drain(t.Context()))
		clk.Add(61 * time.Minute)
	}
	desk := support.New(support.Options{Store: store, Automation: o.reminders, Notify: o.out})
	server := httptest.NewServer(supporthttp.New(desk, supporthttp.Options{
		Authorise: func(*http.Request) (supporthttp.Caller, error) {
			return supporthttp.Caller{Actor: "kim", Read: true, Act: support.Actions(), Personal: true}, nil
		},
		Pages: map[string]http.Handler{"previews": notifyhttp.Previews(o.out, notifyhttp.PreviewsOptions{
			Authorise: func(*http.Request) (notifyhttp.Caller, error) { return notifyhttp.Caller{Inbox: "user:kim"}, nil },
			Samples:   []notifyhttp.Sample{{Job: notify.Job{Type: "news"}, Recipient: notify.Recipient{Name: "Sam"}}}, Locales: []string{"en", "ar"},
		})},
	}))
	t.Cleanup(server.Close)
	o.url = server.URL + "/"
	return o
}

func (o *office) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

// A step is a click on what a selector names, or a text that is typed into it.
type step struct{ at, text string }

// reason is what each action asks for before it is done.
var reason = step{"#reason", "a call"}

// tasks are what a support desk does all day, from the start to what is to be seen then.
var tasks = map[string]struct {
	steps []step
	says  string              // on the last page
	done  func(*office) error // what has become of it
}{
	"why did Sam get nothing": {
		steps: []step{{"#q", "sam"}, {"form.find button", ""}}, says: "no recipient or address was on file on 17 April 2026",
	},
	"release a hold": {
		steps: []step{{`tr.Hold a[href^="needs"]`, ""}, {`form.bulk button[value=Release]`, ""}, reason, {".primary", ""}}, says: "Done for 2 of 2",
		done: func(o *office) error {
			return nobody(o.reminders.Support().Held(o.Context(), "", automation.HeldBySupport, storage.Page{}))
		},
	},
	"settle a doubt by evidence": {
		steps: []step{{`tr.Doubt a[href^="needs"]`, ""}, {`form.bulk button[value="Resolve Sent"]`, ""}, {"#evidence", "250 2.0.0 queued as 4711"}, reason, {".primary", ""}}, says: "Done for 1 of 1",
		done: func(o *office) error {
			return nobody(o.out.Support().Held(o.Context(), "", notify.HoldInDoubt, storage.Page{}))
		},
	},
	"stop tomorrow's mail to Sam": {
		steps: []step{{"#q", "sam"}, {"form.find button", ""}, {`.entry.Planned details[open] button[value=Cancel]`, ""}, reason, {".primary", ""}}, says: "Done for 1 of 1",
		done: func(o *office) error {
			e, err := o.reminders.Explain(o.Context(), "", o.sam)
			if err == nil && e.Schedule.ReasonCode != automation.CancelledBySupport {
				err = fmt.Errorf("it is %s", e.Schedule.Status)
			}
			return err
		},
	},
	"pause a type": {
		steps: []step{{"details.pausing summary", ""}, {"#name", "news"}, {`button[value=Pause]`, ""}, reason, {".primary", ""}}, says: "Done for 1 of 1",
		done: func(o *office) error {
			all, err := o.out.Support().Pauses(o.Context(), "")
			if err == nil && (len(all) != 1 || all[0].Type != "news") {
				err = fmt.Errorf("paused: %+v", all)
			}
			return err
		},
	},
	"send again what failed yesterday": {
		steps: []step{{`.chan a.bad`, ""}, {`form.bulk button[value=Retry]`, ""}, reason, {".primary", ""}}, says: "Done for 1 of 1",
	},
	"what goes out tomorrow": {steps: []step{{`header a[href="calendar"]`, ""}}, says: "1 reminders of certificate"},
	"who changed the setting": {
		steps: []step{{`a[href="list?of=audit"]`, ""}}, says: "parents asked for the evening",
	},
	"preview Arabic":        {steps: []step{{`a[href="pages/previews/"]`, ""}, {"ol a", ""}, {`a[lang=ar]`, ""}}, says: "أخبار لـ Sam"},
	"who else was affected": {steps: []step{{`tr.Hold a[href^="needs"]`, ""}}, says: "eve"},
}

// nobody is an error if there are rows.
func nobody[R any](rows []R, _ string, err error) error {
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%d are left", len(rows))
	}
	return err
}

// A support desk does each of its tasks in at most three clicks from the start, by mouse and
// by keyboard, on a phone, without JavaScript.
func TestSupportDoesEachOfItsTasksInThreeClicks(t *testing.T) {
	t.Parallel()
	for name, task := range tasks {
		for _, by := range []string{"mouse", "keyboard"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				o := newOffice(t)
				c := customer{t, browse(t, window{360, 800, false}), false}
				do(c.ctx, t, chromedp.Navigate(o.url))
				clicks := 0
				for _, s := range task.steps {
					switch {
					case s.text != "":
						do(c.ctx, t, chromedp.SendKeys(s.at, s.text))
						continue
					case by == "mouse":
						do(c.ctx, t, chromedp.Click(s.at))
					default:
						do(c.ctx, t, chromedp.WaitVisible(s.at), chromedp.Focus(s.at))
						c.press(kb.Enter)
					}
					clicks++
				}
				if clicks > 3 {
					t.Errorf("%d clicks", clicks)
				}
				c.says(task.says)
				if task.done != nil {
					o.must(task.done(o))
				}
				if by == "mouse" {
					c.look("task-" + strings.ReplaceAll(name, " ", "-"))
				}
			})
		}
	}
}

// says waits until a page says something.
func (c customer) says(text string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.WaitVisible(fmt.Sprintf(`//main[contains(., "%s")]`, text))); err != nil {
		c.Fatalf("%q is not on the page (%v):\n%s", text, err, eval[string](c.ctx, c.T, `document.body.textContent`))
	}
}
