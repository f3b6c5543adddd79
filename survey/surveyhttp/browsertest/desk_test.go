package browsertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
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
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// desk17 is a school on the morning of Friday, 17 April: teacher-017 has renewed, teacher-003
// has a mailbox that does not exist, teacher-008 no address, two reminders went to
// teacher-005, one comes tomorrow for teacher-009, two are held, a mail is in doubt, SMS has
// stopped, and somebody has changed a setting.
type desk17 struct {
	*testing.T
	out       *notify.Notifier
	reminders *automation.Scheduler
	url       string
	tomorrow  string // the key of that reminder

	mu    sync.Mutex
	asked []string // the URLs that were asked for
}

func newDesk(t *testing.T) *desk17 {
	t.Helper()
	d := &desk17{T: t}
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 4, 4, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	mail := channel.Func("email:smtp", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		switch who, _, _ := strings.Cut(m.To, "@"); who {
		case "teacher-003":
			return channel.Receipt{}, channel.Permanent("550", errors.New("no such mailbox")).Suppressing(channel.HardBounce)
		case "teacher-004":
			return channel.Receipt{}, channel.Unknown("timeout", nil)
		}
		return channel.Receipt{ID: "p-" + m.ID}, nil
	})
	text := channel.Func("sms:gateway", func(context.Context, channel.Message) (channel.Receipt, error) {
		return channel.Receipt{}, channel.Transient("401", 0, nil).Blame(channel.FaultAccount)
	})
	d.out = notify.New(store, &notify.Options{Groups: []notify.Group{{Name: "offers", Title: "News and offers"}}}, mail, text)
	d.out.Register(notify.Type{Name: "lesson", InDoubt: notify.Hold, Renderer: templates.Set{Default: "en", Locales: map[string]notify.Template{
		"en": {Subject: "Your lesson", Text: "See you", HTML: "<p>See you <b>tomorrow</b></p>"}, "ar": {Subject: "درس لـ {{.Recipient.Name}}"},
	}}})
	names := map[string]string{"teacher-008": "Noa Levi", "teacher-003": "Gil Novak", "teacher-005": "Cem Kaya", "teacher-017": "Ada Winter", "teacher-004": "Mia Costa", "teacher-009": "Sam Becker"}
	d.reminders = automation.New(store, d.out, nil)
	d.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "Your certificate ends on {{.TargetDate}}", Text: "Renew it."},
		Recipients: automation.RecipientFunc(func(_ context.Context, due automation.Due) ([]notify.Recipient, error) {
			who := due.Source.ID
			if who == "teacher-008" {
				return nil, nil
			}
			return []notify.Recipient{{Ref: who, Name: names[who], Channel: "email:smtp", Address: who + "@school.example"}}, nil
		}),
	})
	for who, days := range map[string][]int{"teacher-003": {7}, "teacher-005": {20, 7}, "teacher-017": {7}, "teacher-008": {7}, "teacher-009": {6}, "teacher-021": {5}, "teacher-022": {5}} {
		for _, n := range days {
			got, err := d.reminders.Ensure(t.Context(), automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: who}, Person: who,
				TargetDate: automation.Date{Year: 2026, Month: 4, Day: 24}, DaysBefore: n,
			})
			d.must(err)
			switch n {
			case 6:
				d.tomorrow = got[0].Key
			case 5:
				d.must(d.reminders.Support().Hold(t.Context(), "", got[0].Key, automation.By{Actor: "pat", Reason: "the data are being checked"}))
			}
		}
	}
	_, err := d.reminders.Deactivate(t.Context(), "", "certificate", automation.Source{Type: "employee", ID: "teacher-017"}, reasons.SourceNoLongerValid)
	d.must(err)
	set := settings.New(store, nil)
	_, err = set.As(automation.By{Actor: "pat", Reason: "parents asked for the evening"}).SaveReminder(t.Context(), settings.ReminderSetting{ID: "expiry", Type: "certificate", Active: true, Offsets: []int{7}, SendAt: "18:00"})
	d.must(err)
	poller := belfry.NewPoller(store, nil, d.reminders, d.out)
	at := func(on time.Time) {
		clk.Set(on)
		for range 3 {
			d.must(poller.Drain(t.Context()))
		}
	}
	at(time.Date(2026, 4, 4, 9, 0, 0, 0, time.UTC))
	clk.Set(time.Date(2026, 4, 17, 8, 0, 0, 0, time.UTC))
	for who, by := range map[string]string{"teacher-004": "email:smtp", "teacher-009": "sms:gateway"} {
		to := who + "@school.example"
		if by != "email:smtp" {
			to = "+353851234567"
		}
		_, err := d.out.Notify(t.Context(), notify.Job{Type: "lesson", PartitionKey: "lesson-" + who, RowKey: "order-44" + who, EventData: json.RawMessage(`{}`),
			Recipients: []notify.Recipient{{Ref: who, Name: names[who], Channel: by, Address: to}}})
		d.must(err)
	}
	at(time.Date(2026, 4, 17, 8, 0, 0, 0, time.UTC))
	at(time.Date(2026, 4, 17, 9, 0, 0, 0, time.UTC))
	clk.Set(time.Date(2026, 4, 17, 9, 12, 0, 0, time.UTC))
	desk := support.New(support.Options{Store: store, Automation: d.reminders, Notify: d.out, Privacy: poller.Privacy(),
		Directory: func(_ context.Context, _ support.Scope, text string) (out []support.Person, err error) {
			for ref, name := range names {
				if ref == text || strings.Contains(strings.ToLower(name), strings.ToLower(text)) {
					out = append(out, support.Person{Ref: ref, Name: name})
				}
			}
			return out, nil
		}})
	server := httptest.NewServer(supporthttp.New(desk, supporthttp.Options{Authorise: func(r *http.Request) (supporthttp.Caller, error) {
		d.mu.Lock()
		d.asked = append(d.asked, r.URL.String())
		d.mu.Unlock()
		return supporthttp.Caller{Actor: "kim", Read: true, Act: support.Actions(), Personal: true}, nil
	}, Pages: map[string]http.Handler{"previews": notifyhttp.Previews(d.out, notifyhttp.PreviewsOptions{
		Authorise: func(*http.Request) (notifyhttp.Caller, error) { return notifyhttp.Caller{Inbox: "user:kim"}, nil },
		Samples:   []notifyhttp.Sample{{Job: notify.Job{Type: "lesson"}, Recipient: notify.Recipient{Name: "Sam"}}}, Locales: []string{"en", "ar"},
	})}}))
	t.Cleanup(server.Close)
	d.url = server.URL + "/"
	return d
}

func (d *desk17) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// A step is a click on what a selector names, or a text that is typed into it.
type step struct{ at, text string }

// reason is what each action asks for before it is done.
var reason = step{"#reason", "a call"}

// looked looks for what is typed.
func looked(text string) []step { return []step{{"#q", text}, {"form.find button", ""}} }

// tasks are what a support desk does all day, from the start, and what the last page says in
// its first screenful.
var tasks = map[string]struct {
	steps []step
	says  []string
	done  func(*desk17) error // what has become of it
}{
	"why did teacher-017 get none": {steps: looked("teacher-017"), says: []string{"Ada Winter did not get", "what it was about is no longer valid"}},
	"who has not got mail today": {
		steps: []step{{`nav a[href="messages"]`, ""}, {`.counts a[href*="Missing"]`, ""}}, says: []string{"Gil Novak", "The mailbox does not exist", "Mia Costa", "It is unknown whether it was sent", "Sam Becker"},
	},
	"a customer says that he got two": {steps: looked("kaya"), says: []string{"certificate, 7 days before 2026-04-24", "certificate, 20 days before 2026-04-24"}},
	"send again to a corrected address": {
		steps: append(looked("novak"), step{`.say button[value=SendTo]`, ""}, step{"#to", "gil@new.example"}, reason, step{".primary", ""}),
		says:  []string{"Done for 1 of 1", "7 days before 2026-04-24” for Gil Novak to another address", "have it corrected there, too"},
		done: func(d *desk17) error {
			rows, _, err := d.out.Support().MessagesOf(d.Context(), "", notify.Recipient{Ref: "teacher-003"}, storage.Page{})
			if err == nil && (len(rows) != 2 || rows[0].Address != "gil@new.example") {
				err = errors.New("it is not sent")
			}
			return err
		},
	},
	"stop all mail to a person": {
		steps: append(looked("becker"), step{`button[value=Stop]`, ""}, reason, step{".primary", ""}), says: []string{"Done for 1 of 1", "all messages to Sam Becker"},
		done: func(d *desk17) error {
			all, err := d.out.Contacts().Preferences(d.Context(), "", "teacher-009")
			if err == nil && (len(all) != 1 || !all[0].OptedOut) {
				err = errors.New("nothing is stopped")
			}
			return err
		},
	},
	"which channel is broken since when": {says: []string{"sms:gateway", "Stopped", "since today, 08:00", "the provider did not accept our key (401)"}},
	"what goes out tomorrow":             {says: []string{"Tomorrow, Saturday, 18 April: 1", "reminder of certificate"}},
	"what waits for me, in what order":   {says: []string{"It is unknown whether these messages were sent", "1 h 12 min", "They are not sent again"}},
	"erase a person": {
		steps: append(looked("mia"), step{`button[value=Erase]`, ""}, step{"#typed", "mia costa"}, reason, step{".primary", ""}), says: []string{"Done for 1 of 1", "Erase Mia Costa"},
		done: func(d *desk17) error {
			return nobody(d.out.Support().MessagesOf(d.Context(), "", notify.Recipient{Ref: "teacher-004"}, storage.Page{}))
		},
	},
	"the mail as it was sent": {
		steps: looked("order-44teacher-004"), says: []string{"From", "teacher-004@school.example", "Your lesson", "lesson"},
	},
	"why did teacher-008 get none": {steps: looked("teacher-008"), says: []string{"on 17 April 2026, 09:00 UTC: no recipient or address was on file"}},
	"release a hold": {
		steps: []step{{`tr.Hold a[href^="needs"]`, ""}, {`form.bulk button[value=Release]`, ""}, reason, {".primary", ""}}, says: []string{"Done for 2 of 2"},
		done: func(d *desk17) error {
			return nobody(d.reminders.Support().Held(d.Context(), "", reasons.HeldBySupport, storage.Page{}))
		},
	},
	"settle a doubt by evidence": {
		steps: []step{{`tr.Doubt a[href^="needs"]`, ""}, {`form.bulk button[value="Resolve Sent"]`, ""}, {"#evidence", "250 2.0.0 queued as 4711"}, reason, {".primary", ""}}, says: []string{"Done for 1 of 1"},
		done: func(d *desk17) error {
			return nobody(d.out.Support().Held(d.Context(), "", reasons.OutcomeUnknown, storage.Page{}))
		},
	},
	"stop tomorrow's mail to a person": {
		steps: append(looked("becker"), step{`.entry.Planned details[open] button[value=Cancel]`, ""}, reason, step{".primary", ""}), says: []string{"Done for 1 of 1"},
		done: func(d *desk17) error {
			e, err := d.reminders.Explain(d.Context(), "", d.tomorrow)
			if err == nil && e.Schedule.ReasonCode != reasons.CancelledBySupport {
				err = fmt.Errorf("it is %s", e.Schedule.Status)
			}
			return err
		},
	},
	"pause a type": {
		steps: []step{{"details.pausing summary", ""}, {"#name", "lesson"}, {`button[value=Pause]`, ""}, reason, {".primary", ""}}, says: []string{"Done for 1 of 1"},
		done: func(d *desk17) error {
			all, err := d.out.Support().Pauses(d.Context(), "")
			if err == nil && (len(all) != 1 || all[0].Type != "lesson") {
				err = fmt.Errorf("paused: %+v", all)
			}
			return err
		},
	},
	"send again what failed":      {steps: []step{{`.chan a.bad`, ""}, {`form.bulk button[value=Retry]`, ""}, reason, {".primary", ""}}, says: []string{"Done for 1 of 1"}},
	"who gets something tomorrow": {steps: []step{{`a[href="calendar?day=2026-04-18"]`, ""}}, says: []string{"Sam Becker", "certificate, 6 days before 2026-04-24"}},
	"what goes out in two weeks":  {steps: []step{{`header a[href="calendar"]`, ""}}, says: []string{"1 reminder of certificate"}},
	"who changed the setting":     {steps: []step{{`a[href="list?of=audit"]`, ""}}, says: []string{"parents asked for the evening"}},
	"preview Arabic":              {steps: []step{{`a[href="pages/previews/"]`, ""}, {"ol a", ""}, {`a[lang=ar]`, ""}}, says: []string{"درس لـ Sam"}},
	"who else was affected":       {steps: []step{{`tr.Hold a[href^="needs"]`, ""}}, says: []string{"teacher-021", "teacher-022"}},
}

// nobody is an error if there are rows.
func nobody[R any](rows []R, _ string, err error) error {
	if err == nil && len(rows) > 0 {
		err = fmt.Errorf("%d are left", len(rows))
	}
	return err
}

// A desk does each of its tasks in at most three clicks, by mouse and by keyboard, at a desk
// and on a phone, without JavaScript.
func TestADeskDoesEachOfItsTasksInThreeClicks(t *testing.T) {
	t.Parallel()
	for name, q := range tasks {
		for _, by := range []string{"mouse", "keyboard"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				d := newDesk(t)
				width := map[string]int64{"mouse": 1280, "keyboard": 360}[by]
				c := customer{t, browse(t, window{width, 900, false}), false}
				do(c.ctx, t, chromedp.Navigate(d.url))
				clicks := 0
				for _, s := range q.steps {
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
				c.says(q.says[0])
				page := eval[string](c.ctx, t, `document.querySelector("main").textContent`)
				if at := eval[string](c.ctx, t, `decodeURIComponent(location.href)`); strings.Contains(at, "@") {
					t.Errorf("an address in %s", at)
				}
				for _, text := range q.says {
					if !strings.Contains(page, text) {
						t.Errorf("%q is not on the page: %s", text, page)
					}
				}
				if q.done != nil {
					d.must(q.done(d))
				}
				picture(c.ctx, t, "desk-"+strings.NewReplacer(" ", "-", ",", "").Replace(name)+"-"+by)
			})
		}
	}
}

// An address that is looked for is in no URL: neither in that of the page that is found, nor
// in one on the way there.
func TestNoURLHasTheAddressThatIsLookedFor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := customer{t, browse(t, window{1280, 900, false}), false}
	do(c.ctx, t, chromedp.Navigate(d.url), chromedp.SendKeys("#q", "Teacher-003@School.example"), chromedp.Click("form.find button"))
	c.says("Gil Novak")
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.asked {
		if plain, err := url.QueryUnescape(at); err != nil || strings.Contains(plain, "@") {
			t.Error(at)
		}
	}
	if !slices.ContainsFunc(d.asked, func(at string) bool { return strings.HasPrefix(at, "/search?q=") }) {
		t.Error(d.asked)
	}
}

// The mail is shown in a frame that runs nothing, and leads nowhere.
func TestTheMailIsShownInAFrame(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := customer{t, browse(t, window{1280, 900, true}), true}
	do(c.ctx, t, chromedp.Navigate(d.url), chromedp.SendKeys("#q", "order-44teacher-004"), chromedp.Click("form.find button"), chromedp.WaitVisible("iframe"))
	c.says("Your lesson")
	var frame struct{ Sandbox, Src, Text string }
	got := eval[map[string]string](c.ctx, t, `(() => { const f = document.querySelector("iframe"); return {sandbox: f.getAttribute("sandbox"), src: f.getAttribute("src")} })()`)
	frame.Sandbox, frame.Src = got["sandbox"], got["src"]
	if frame.Sandbox != "" || !strings.HasPrefix(frame.Src, "mail?id=") {
		t.Errorf("%+v", frame)
	}
	do(c.ctx, t, chromedp.Navigate(d.url+frame.Src))
	if text := eval[string](c.ctx, t, `document.body.textContent`); text != "See you tomorrow" {
		t.Error(text)
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
