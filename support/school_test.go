package support_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

const tenant = support.Scope("north")

var by = support.By{Actor: "kim", Reason: "a call"}

// school reminds people of their certificates, and asks how a visit was.
type school struct {
	*testing.T
	clk       *clock.Mock
	store     storage.Store
	reminders *automation.Scheduler
	out       *notify.Notifier
	surveys   *survey.Service
	reports   *report.Service
	desk      *support.Desk
	poller    *belfry.Poller

	noAddress, gone, old, off, others, moved map[string]bool // people, and settings
	lost                                     map[string]bool // addresses of which the fax knows that it never had them
	reminded                                 map[string][]automation.Candidate
	answers                                  map[string]error
	fails                                    map[string]error // of whoever is asked for recipients, or for a text; errPanic is a panic
	sends                                    int
	bi                                       error // what the subscriber of surveys answers
}

// schools runs a test on every adapter.
func schools(t *testing.T, test func(*school)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) { test(newSchool(t, store, clk)) })
}

func newSchool(t *testing.T, store storage.Store, clk *clock.Mock) *school {
	s := &school{T: t, clk: clk, store: store, noAddress: map[string]bool{}, gone: map[string]bool{}, old: map[string]bool{}, off: map[string]bool{}, others: map[string]bool{}, moved: map[string]bool{}, lost: map[string]bool{}, reminded: map[string][]automation.Candidate{}, answers: map[string]error{}, fails: map[string]error{}}
	mail := channel.Func("email:school", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		s.sends++
		return channel.Receipt{ID: "p-" + m.ID}, s.answers[m.To]
	})
	text := channel.Func("sms:school", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil })
	push := channel.Func("push:school", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil })
	fax := faxes{channel.Func("fax:school", mail.Send), s}
	s.out = notify.New(store, &notify.Options{Logger: quiet, Groups: []notify.Group{{Name: "offers", OptIn: true}}, Gates: gate.New(store, &gate.Options{
		Guard: &gate.Guard{Allow: []string{"@example.com", "+353851234567"}}, Caps: []gate.Cap{{Limit: 1, Per: 24 * time.Hour, Types: []string{"capped"}, Skip: true}},
		Rates:  []gate.Rate{{Channel: "push:school", Limit: 1, Per: time.Hour}},
		Window: &gate.Window{From: "12:00", To: "13:00", Zone: "UTC", Methods: []string{"sms"}},
	})}, mail, text, push, fax)
	s.register(notify.Type{Name: "news", InDoubt: notify.Hold})
	s.register(notify.Type{Name: "capped"})
	s.register(notify.Type{Name: "paused"})
	s.register(notify.Type{Name: "patient", EscalateAfter: 15 * time.Minute, Validity: 60 * 24 * time.Hour})
	s.register(notify.Type{Name: "offer", Group: "offers"})
	s.register(notify.Type{Name: "invoice", Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (gate.Verdict, error) {
		return gate.Skip("Paid"), nil
	})})
	s.register(notify.Type{Name: "asked again", Validity: 60 * 24 * time.Hour, Revalidator: notify.RevalidatorFunc(func(context.Context, notify.Job) (gate.Verdict, error) {
		return gate.Verdict{}, errors.New("nobody answers")
	})})
	s.reminders = automation.New(store, s.out, &automation.Options{Logger: quiet, Settings: s})
	s.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires on {{.TargetDate}}"},
		Triggers: s, Validator: automation.ValidatorFunc(func(_ context.Context, d automation.Due) (automation.Validity, error) {
			if s.gone[d.Source.ID] {
				return automation.NoLongerValid(reasons.SourceNoLongerValid), nil
			}
			if s.old[d.Source.ID] {
				return automation.NoLongerValid(reasons.SentByOldJob), nil
			}
			return automation.StillValid(), nil
		}),
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			switch who := d.Source.ID; {
			case s.fails[who] != nil:
				return nil, s.failure(who)
			case s.noAddress[who]:
				return nil, nil
			case s.others[who]:
				return []notify.Recipient{{Ref: "guardian", Channel: "email:school", Address: "guardian@example.com"}}, nil
			default:
				return []notify.Recipient{{Ref: who, Name: "Ms " + who, Channel: "email:school", Address: who + "@example.com"}}, nil
			}
		}),
	})
	s.reminders.Register(automation.ReminderType{
		Name: "left out", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: d.Source.ID, Channel: "email:school", Address: address(d.Source.ID)}}, nil
		}),
		Policy: automation.DeliveryPolicyFunc(func(context.Context, automation.Due, []notify.Recipient) ([]notify.Recipient, error) { return nil, nil }),
	})
	s.reminders.Register(automation.ReminderType{
		Name: "punctual", SendAt: "08:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"}, Lateness: automation.Lateness{Window: 30 * time.Minute},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
	})
	s.reminders.Register(automation.ReminderType{
		Name: "crowded", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It is full"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
	})
	s.surveys = survey.New(store, s.out, &survey.Options{SurveyURL: "https://school.example/s/{token}", Logger: quiet})
	s.surveys.Subscribe(survey.SubscriberFunc("bi", func(context.Context, survey.ResponseCompleted) error {
		return s.bi
	}))
	s.reports = report.New(store, s.reminders, s.out, nil)
	s.reports.Register(report.Type{Name: "sales", Template: notify.Template{Subject: "Sales"}, Builder: report.BuilderFunc(func(context.Context, report.Run) (report.Report, error) {
		return report.Report{}, nil
	})})
	s.poller = belfry.NewPoller(store, &belfry.Options{Logger: quiet}, s.reminders, s.out, s.surveys)
	s.desk = support.New(support.Options{
		Store: store, Automation: s.reminders, Notify: s.out, Survey: s.surveys, Reports: s.reports, Privacy: s.poller.Privacy(),
		Directory: func(_ context.Context, _ support.Scope, text string) ([]support.Person, error) {
			if text == "Samantha" || text == "sam" {
				return []support.Person{{Ref: "sam", Name: "Samantha Jones"}}, nil
			}
			return nil, nil
		},
		Entities: func(_ context.Context, _ support.Scope, person string) ([]automation.Source, error) {
			return []automation.Source{employee(person)}, nil
		},
	})
	return s
}

// errPanic says that the school's code panics about somebody.
var errPanic = errors.New("panic")

func (s *school) failure(person string) error {
	if errors.Is(s.fails[person], errPanic) {
		panic(person)
	}
	return s.fails[person]
}

// register adds a type with the school's text.
func (s *school) register(t notify.Type) {
	t.Renderer = notify.RendererFunc(func(_ context.Context, _ notify.Job, r notify.Recipient) (notify.Content, error) {
		if err := s.failure(r.Ref); err != nil || r.Ref == "unreadable" {
			return notify.Content{}, errors.Join(err, errors.New("no text"))
		}
		return notify.Content{Subject: "News for " + r.Name, Text: "Hello"}, nil
	})
	s.out.Register(t)
}

func employee(id string) automation.Source { return automation.Source{Type: "employee", ID: id} }

// Setting says which settings are off: "certificate" of nobody, the others by name.
func (s *school) Setting(_ context.Context, _ automation.Scope, id string) (automation.Setting, error) {
	return automation.Setting{ID: id, Active: !s.off[id]}, nil
}

func (*school) EventTypes() []string { return []string{"certificate-changed"} }

// Wanted asks for what was ensured by hand.
func (s *school) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (automation.Answer, error) {
		if s.moved[r.Source.ID] {
			return automation.Answer{Candidates: []automation.Candidate{later(r.Source.ID)}}, nil
		}
		return automation.Answer{Candidates: s.reminded[r.Source.ID]}, nil
	})
}

func (s *school) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// due is the moment of what remind asks for.
var due = time.Date(2026, 4, 17, 9, 0, 0, 0, time.UTC)

// remind asks for a reminder seven days before 24 April.
func (s *school) remind(person string, change func(*automation.Candidate)) string {
	s.Helper()
	c := wish(person)
	if change != nil {
		change(&c)
	}
	if c.Type == "certificate" {
		s.reminded[person] = append(s.reminded[person], c)
	}
	got, err := s.reminders.Ensure(s.Context(), c)
	s.must(err)
	return got[0].Key
}

func wish(person string) automation.Candidate {
	return automation.Candidate{
		Scope: tenant, Type: "certificate", Source: employee(person), Person: person,
		TargetDate: automation.Date{Year: 2026, Month: 4, Day: 24}, DaysBefore: 7,
	}
}

// later is what somebody's source asks for whose date has moved.
func later(person string) automation.Candidate {
	c := wish(person)
	c.TargetDate.Month++
	return c
}

// faxes can be asked, and have no answer but of what they never had.
type faxes struct {
	channel.Channel
	s *school
}

func (faxes) LookupWindow() time.Duration { return 0 }

func (f faxes) Lookup(_ context.Context, m channel.Message) (channel.LookupResult, error) {
	if f.s.lost[m.To] {
		return channel.LookupResult{Status: channel.LookupAbsent}, nil
	}
	return channel.LookupResult{}, nil
}

// tell asks for a message of type news.
func (s *school) tell(person, address string) {
	s.Helper()
	s.telling("news", person, address)
}

func (s *school) telling(typ, person, address string) {
	s.Helper()
	_, err := s.out.Notify(s.Context(), notify.Job{
		Scope: tenant, Type: typ, PartitionKey: typ + "-" + person, RowKey: typ + "-" + person + "-" + s.clk.Now().Format("20060102150405"), EventData: json.RawMessage(`{}`),
		Recipients: []notify.Recipient{{Ref: person, Name: "Ms " + person, Channel: "email:school", Address: address, Inbox: "user:" + person}},
	})
	s.must(err)
}

const visit = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d", "reminders": ["2d"]}, "channel": "email:school"}]
}`

// ask makes a link of survey 7.
func (s *school) ask(person string) string {
	s.Helper()
	_, err := s.surveys.Publish(s.Context(), survey.Version{Scope: tenant, SurveyID: 7, Name: "Visit", Definition: json.RawMessage(visit)})
	s.must(err)
	got, err := s.surveys.Ingest(s.Context(), survey.Batch{Scope: tenant, EventKind: "visit-closed", Items: []survey.Item{{
		Payload: json.RawMessage(`{}`), Recipient: survey.Recipient{Address: person + "@example.com", CustomerRef: person},
	}}})
	s.must(err)
	return got.Items[0].Instances[0].PublicID
}

// at does all that is due until then.
func (s *school) at(moment time.Time) {
	s.Helper()
	s.drain()
	s.clk.Set(moment)
	s.drain()
}

func (s *school) drain() {
	s.Helper()
	for range 3 {
		if err := s.poller.Drain(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *school) story(about support.About, p storage.Page) support.Story {
	s.Helper()
	story, err := s.desk.Story(s.Context(), tenant, about, p)
	s.must(err)
	return story
}

// lines are entries as "Kind Outcome Reason Title".
func lines(entries []support.Entry) (out []string) {
	for _, e := range entries {
		line := fmt.Sprint(e.Kind, " ", e.Outcome)
		if e.Reason != "" {
			line += " " + e.Reason
		}
		out = append(out, line+" "+e.Title())
	}
	return out
}

func whats(steps []support.Step) (out []string) {
	for _, s := range steps {
		out = append(out, s.What)
	}
	return out
}

func has(all []string, one string) bool { return slices.Contains(all, one) }
