package supporthttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
	"github.com/belfry-go/belfry/survey"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Canaries stand in everything that is personal.
const (
	canary  = "zinnober"
	person  = "zinnober-ref"
	address = "zinnober@zinnober.example"
)

// hostile is what a user or a provider may have written.
var hostile = `<script>alert("zinnober")</script><img src=x onerror=alert(1)>"'&amp;` + "\u202e" + strings.Repeat("x", 400)

// office is a program with a held reminder, a message in doubt, one that arrived and a link,
// each in the north and in the south.
type office struct {
	*testing.T
	store     storage.Store
	clk       *clock.Mock
	reminders *automation.Scheduler
	out       *notify.Notifier
	surveys   *survey.Service
	desk      *support.Desk
	logs      strings.Builder

	reminder, message, messageID, link string // of the north
}

const visit = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d"}, "channel": "email:test"}]
}`

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{T: t, clk: clock.NewMock()}
	o.clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	o.store = memory.New(&memory.Options{Clock: o.clk})
	log := slog.New(slog.NewTextHandler(&o.logs, nil))
	mail := channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		if strings.Contains(m.Subject, "doubt") {
			return channel.Receipt{}, channel.Unknown("timeout", errors.New(m.To))
		}
		if strings.Contains(m.Subject, "refused") {
			return channel.Receipt{}, channel.Permanent("550", errors.New(m.To))
		}
		return channel.Receipt{ID: "p-1"}, nil
	})
	o.out = notify.New(o.store, &notify.Options{Logger: log}, mail)
	o.out.Register(notify.Type{Name: "leaflet"})
	o.reminders = automation.New(o.store, o.out, &automation.Options{Logger: log})
	o.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return nil, errors.New(hostile)
		}),
	})
	o.surveys = survey.New(o.store, o.out, &survey.Options{SurveyURL: "https://school.example/s/{token}", Logger: log})
	o.desk = support.New(support.Options{
		Store: o.store, Automation: o.reminders, Notify: o.out, Survey: o.surveys,
		Privacy: belfry.NewPoller(o.store, &belfry.Options{Logger: log}, o.reminders, o.out, o.surveys).Privacy(),
		Directory: func(_ context.Context, _ support.Scope, text string) ([]support.Person, error) {
			if text != person {
				return nil, nil
			}
			return []support.Person{{Ref: person, Name: hostile}}, nil
		},
	})
	for _, scope := range []storage.Scope{"south", "north"} {
		o.fill(scope)
	}
	for range 3 {
		o.clk.Add(time.Hour)
		o.must(belfry.NewPoller(o.store, &belfry.Options{Logger: log}, o.reminders, o.out, o.surveys).Drain(t.Context()))
	}
	return o
}

func (o *office) must(err error) {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
}

func (o *office) fill(scope storage.Scope) {
	o.Helper()
	ctx := o.Context()
	got, err := o.reminders.Ensure(ctx,
		automation.Candidate{Scope: scope, Type: "certificate", Source: automation.Source{Type: "employee", ID: person}, Person: person, TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30},
		automation.Candidate{Scope: scope, Type: "certificate", Source: automation.Source{Type: "employee", ID: person}, Person: person, TargetDate: automation.Date{Year: 2026, Month: 3, Day: 1}, SendAt: "07:00"})
	o.must(err)
	_, err = o.reminders.Ensure(ctx, automation.Candidate{Scope: scope, Type: "certificate", Source: automation.Source{Type: "course", ID: "7"}, Person: person, TargetDate: automation.Date{Year: 2026, Month: 6, Day: 1}, DaysBefore: 30})
	o.must(err)
	_, err = o.reminders.Type("certificate").For(scope).Clear(ctx, automation.About{ID: "7", SourceType: "course", Because: hostile})
	o.must(err)
	o.must(o.reminders.Support().Hold(ctx, scope, got[0].Key, automation.By{Actor: "zinnober-actor", Reason: hostile}))
	o.must(o.out.Support().Pause(ctx, notify.Extent{Scope: scope, Type: "leaflet"}, time.Time{}, automation.By{Actor: "zinnober-actor", Reason: hostile}))
	o.must(o.reminders.Support().Replan(ctx, automation.Replan{Scope: scope, Type: "leaflet"}, automation.By{Actor: "zinnober-actor", Reason: hostile}))
	for i, subject := range []string{"doubt", hostile} {
		_, err := o.out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
			Scope: scope, BusinessUnit: []string{"harbour", ""}[i], Channel: "email:test", PartitionKey: canary + subject[:5], NotificationType: "news", RecipientRef: person, RecipientName: hostile,
			Address: address, Content: notify.Content{Subject: strings.ReplaceAll(subject, "\u202e", ""), Text: hostile, HTML: hostile},
		})
		o.must(err)
	}
	_, err = o.surveys.Publish(ctx, survey.Version{Scope: scope, SurveyID: 1, Name: "Your visit", Definition: json.RawMessage(visit)})
	o.must(err)
	links, err := o.surveys.Ingest(ctx, survey.Batch{Scope: scope, EventKind: "visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(`{}`), Recipient: survey.Recipient{Address: address, CustomerRef: person},
	}}})
	o.must(err)
	messages, _, err := o.out.Support().MessagesOf(ctx, scope, notify.Recipient{Ref: person}, storage.Page{})
	o.must(err)
	o.reminder, o.link = got[0].Key, links.Items[0].Instances[0].PublicID
	o.message, o.messageID = messages[1].Key, messages[1].MessageID // the one in doubt
}

var everything = supporthttp.Caller{Actor: "kim", Scope: "north", Read: true, Act: support.Actions(), Personal: true, Everywhere: true}

// site serves one caller.
func (o *office) site(c supporthttp.Caller) http.Handler {
	return supporthttp.New(o.desk, supporthttp.Options{
		Authorise: func(r *http.Request) (supporthttp.Caller, error) {
			if r.Header.Get("X-Stranger") != "" {
				return supporthttp.Caller{}, errors.New("zinnober: who are you")
			}
			return c, nil
		},
		Key: []byte(strings.Repeat("k", 32)), Logger: slog.New(slog.NewTextHandler(&o.logs, nil)), Note: "a test",
	})
}

// answered is what comes beside a body.
type answered struct {
	StatusCode int
	Header     http.Header
}

// ask sends a request and gives the answer with its body.
func (o *office) ask(h http.Handler, method, target, body string, headers ...string) (answered, string) {
	o.Helper()
	r := httptest.NewRequestWithContext(o.Context(), method, target, strings.NewReader(body))
	if strings.HasPrefix(body, "{") {
		r.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	o.documented(r, w)
	return answered{w.Code, w.Header()}, w.Body.String()
}

// requests are one of each route, that succeeds for a caller who may everything.
func (o *office) requests() map[string]string {
	q := func(pairs ...string) string {
		v := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			v.Set(pairs[i], pairs[i+1])
		}
		return "?" + v.Encode()
	}
	waiting := q("kind", "Hold", "domain", "automation", "table", "automation_scheduler", "reason", "HeldBySupport")
	all := map[string]string{
		"GET openapi.json": "", "GET calendar": "", "GET api/v1/calendar": "", "GET api/v1/upcoming": q("from", "2026-03-01", "to", "2026-03-31"), "GET list": "?of=reminders", "GET reminders": "?from=2026-05-01&to=2026-05-02",
		"GET ": "", "GET search": "", "POST search": url.Values{"q": {person}}.Encode(), "GET story": q("person", person), "GET needs": waiting, "GET reasons": "", "GET style.css": "",
		"GET unhappy": "?from=2026-03-01", "GET messages": "?from=2026-03-01&to=2026-03-02", "GET messages.csv": "?from=2026-03-01&to=2026-03-02", "GET message": q("id", o.messageID), "GET mail": q("id", o.messageID),
		"GET api/v1/story": q("key", o.reminder), "GET api/v1/verdict": q("person", person, "type", "news"), "POST api/v1/search": `{"q":"` + person + `"}`,
		"GET api/v1/needs": "", "GET api/v1/waiting": waiting, "GET api/v1/health": "", "GET api/v1/reasons": "",
		"POST act":        url.Values{"action": {"Release"}, "target": {"Reminder " + o.reminder}}.Encode(),
		"POST api/v1/act": fmt.Sprintf(`{"action":"Release","targets":[{"kind":"Reminder","key":%q}],"reason":"a test","dryRun":true}`, o.reminder),
	}
	for _, l := range support.Lists() {
		all["GET api/v1/"+string(l)] = "?limit=1"
	}
	return all
}

// send sends the request of a route.
func (o *office) send(h http.Handler, route string, headers ...string) (answered, string) {
	o.Helper()
	method, path, _ := strings.Cut(route, " ")
	more, known := o.requests()[route]
	if !known {
		o.Fatalf("no request for %s", route)
	}
	if method == "POST" {
		return o.ask(h, method, "/"+path, more, headers...)
	}
	return o.ask(h, method, "/"+path+more, "", headers...)
}
