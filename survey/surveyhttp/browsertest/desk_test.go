package browsertest_test

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// desk17 is a school on the morning of Friday, 17 April: teacher-017 has renewed, teacher-003
// has a mailbox that does not exist, two reminders went to teacher-005, a mail is in doubt,
// and SMS has stopped.
type desk17 struct {
	*testing.T
	out       *notify.Notifier
	reminders *automation.Scheduler
	url       string

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
	d.out.Register(notify.Type{Name: "lesson", InDoubt: notify.Hold, Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
		return notify.Content{Subject: "Your lesson", Text: "See you", HTML: "<p>See you <b>tomorrow</b></p>"}, nil
	})})
	names := map[string]string{"teacher-003": "Gil Novak", "teacher-005": "Cem Kaya", "teacher-017": "Ada Winter", "teacher-004": "Mia Costa", "teacher-009": "Sam Becker"}
	d.reminders = automation.New(store, d.out, nil)
	d.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "Your certificate ends on {{.TargetDate}}", Text: "Renew it."},
		Recipients: automation.RecipientFunc(func(_ context.Context, due automation.Due) ([]notify.Recipient, error) {
			who := due.Source.ID
			return []notify.Recipient{{Ref: who, Name: names[who], Channel: "email:smtp", Address: who + "@school.example"}}, nil
		}),
	})
	for who, days := range map[string][]int{"teacher-003": {7}, "teacher-005": {20, 7}, "teacher-017": {7}, "teacher-009": {6}} {
		for _, n := range days {
			_, err := d.reminders.Ensure(t.Context(), automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: who}, Person: who,
				TargetDate: automation.Date{Year: 2026, Month: 4, Day: 24}, DaysBefore: n,
			})
			d.must(err)
		}
	}
	_, err := d.reminders.Deactivate(t.Context(), "", "certificate", automation.Source{Type: "employee", ID: "teacher-017"}, automation.SourceNoLongerValid)
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
	}}))
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

// looked looks for what is typed.
func looked(text string) []step { return []step{{"#q", text}, {"form.find button", ""}} }

// questions are the ten of a support desk, from the start, and what the page that answers
// says in its first screenful.
var questions = map[string]struct {
	steps []step
	says  []string
	done  func(*desk17) error
}{
	"why did teacher-017 get none": {steps: looked("teacher-017"), says: []string{"Ada Winter did not get", "what it was about is no longer valid"}},
	"who has not got mail today": {
		steps: []step{{`nav a[href="messages"]`, ""}, {`.counts a[href*="Missing"]`, ""}}, says: []string{"Gil Novak", "The mailbox does not exist", "Mia Costa", "Nobody can tell whether it was sent", "Sam Becker"},
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
	"what goes out tomorrow":             {says: []string{"Tomorrow, Saturday, 18 April: 1", "reminders of certificate"}},
	"what waits for me, in what order":   {says: []string{"Nobody can tell whether these messages were sent", "1 h 12 min", "They are not sent again"}},
	"erase a person": {
		steps: append(looked("mia"), step{`button[value=Erase]`, ""}, step{"#typed", "mia costa"}, reason, step{".primary", ""}), says: []string{"Done for 1 of 1", "Erase Mia Costa"},
		done: func(d *desk17) error {
			return nobody(d.out.Support().MessagesOf(d.Context(), "", notify.Recipient{Ref: "teacher-004"}, storage.Page{}))
		},
	},
	"the mail as it was sent": {
		steps: []step{{"#q", "order-44teacher-004"}, {"form.find button", ""}}, says: []string{"From", "teacher-004@school.example", "Your lesson", "lesson"},
	},
}

// A desk has each of its answers in at most three clicks, by mouse and by keyboard, at a desk
// and on a phone, without JavaScript.
func TestADeskHasItsTenAnswers(t *testing.T) {
	t.Parallel()
	for name, q := range questions {
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
