// Command host is the program of a host at one version of this module, which does a little of
// everything on a database that programs of other versions share with it:
//
//	host (sqlite | postgres) DSN (auto | verify) [VERB[:NAME] ...]
//
// The verbs are wish (a reminder, a message, an inbox row and a survey link for NAME), work,
// answer, tell and erase. Each writes lines that say what came of it. Tests run the program of
// the oldest version that is supported beside that of today; so arguments and lines stay as
// they are.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/survey"
)

const (
	scope      = "tenant"
	channelKey = "email:test"
	subject    = "welcome"
	oneLink    = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "visits", "enabled": true, "eventKind": "visit-closed", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d", "reminders": []}, "channel": "email:test"}]
}`
)

// noon is when everything happens: what is wished for is due.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) < 3 {
		return errors.New("usage: host (sqlite | postgres) DSN (auto | verify) [VERB[:NAME] ...]")
	}
	store, end, err := open(ctx, args[0], args[1], args[2])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	h := newHost(store)
	for _, arg := range args[3:] {
		verb, name, _ := strings.Cut(arg, ":")
		do := map[string]func(context.Context, string) error{
			"wish": h.wish, "work": h.work, "answer": h.answer, "tell": h.tell, "erase": h.erase,
		}[verb]
		if do == nil {
			return fmt.Errorf("%s is no verb", verb)
		}
		if err := do(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
	}
	return nil
}

func open(ctx context.Context, driver, dsn, migrate string) (storage.Store, func() error, error) {
	clk := clock.NewMock()
	clk.Set(noon)
	switch driver {
	case "sqlite":
		s, err := sqlite.Open(ctx, dsn, &sqlite.Options{Clock: clk, Migrate: sqlite.Migrate(migrate)})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	case "postgres":
		s, err := postgres.Open(ctx, dsn, &postgres.Options{Clock: clk, Migrate: postgres.Migrate(migrate)})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	return nil, nil, fmt.Errorf("%s is no database", driver)
}

// host has one reminder type, one type of message and one survey.
type host struct {
	out       *notify.Notifier
	reminders *automation.Scheduler
	asked     *survey.Service
	poller    *belfry.Poller

	mu   sync.Mutex
	sent []string
}

func newHost(store storage.Store) *host {
	h := &host{}
	h.out = notify.New(store, nil, channel.Func(channelKey, h.send))
	h.out.Register(notify.Type{Name: subject, Renderer: notify.Template{Subject: subject}})
	h.reminders = automation.New(store, h.out, nil)
	h.reminders.Register(automation.ReminderType{
		Name: "certificate", Template: notify.Template{Subject: "reminder"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: d.Source.ID, Channel: channelKey, Address: address(d.Source.ID)}}, nil
		}),
	})
	h.asked = survey.New(store, &survey.Options{SurveyURL: "https://host.example/s/{token}"}, channel.Func(channelKey, h.send))
	h.poller = belfry.NewPoller(store, nil, h.reminders, h.out, h.asked)
	return h
}

func address(name string) string { return name + "@example.com" }

func (h *host) send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name, _, _ := strings.Cut(m.To, "@")
	what := m.Subject
	if what != subject && what != "reminder" {
		what = "link"
	}
	h.sent = append(h.sent, "sent "+what+" to "+name)
	return channel.Receipt{ID: m.ID}, nil
}

// wish asks for all that there is, and tells whether it is new.
func (h *host) wish(ctx context.Context, name string) error {
	reminded, err := h.reminders.Ensure(ctx, automation.Candidate{
		Scope: scope, Type: "certificate", Source: automation.Source{Type: "employee", ID: name},
		TargetDate: automation.Date{Year: noon.Year(), Month: noon.Month(), Day: noon.Day()}, SendAt: "12:00", Zone: "UTC",
	})
	if err != nil {
		return err
	}
	told, err := h.out.Notify(ctx, notify.Job{
		Scope: scope, Type: subject, PartitionKey: name, RowKey: "welcome-" + name,
		Recipients: []notify.Recipient{{Ref: name, Channel: channelKey, Address: address(name), Inbox: "user:" + name}},
	})
	if err != nil {
		return err
	}
	link, err := h.link(ctx, name)
	if err != nil {
		return err
	}
	fmt.Printf("wish %s: reminder %s, message %s, link %s\n", name, reminded[0].Outcome, told.Outcome, link.Outcome)
	return nil
}

// link is that of name, which is made by the first who asks.
func (h *host) link(ctx context.Context, name string) (of survey.InstanceReport, err error) {
	if _, err := h.asked.Publish(ctx, survey.Version{Scope: scope, SurveyID: 1, Name: "Visits", Definition: json.RawMessage(oneLink)}); err != nil {
		return of, err
	}
	report, err := h.asked.Ingest(ctx, survey.Batch{Scope: scope, EventKind: "visit-closed", Items: []survey.Item{
		{Payload: json.RawMessage("{}"), Recipient: survey.Recipient{CustomerRef: name, Address: address(name)}},
	}})
	if err != nil {
		return of, err
	}
	return report.Items[0].Instances[0], nil
}

// work does what is due, and tells what was sent.
func (h *host) work(ctx context.Context, _ string) error {
	if err := h.poller.Drain(ctx); err != nil {
		return err
	}
	slices.Sort(h.sent)
	for _, line := range h.sent {
		fmt.Println(line)
	}
	h.sent = nil
	return nil
}

// answer completes the survey of name.
func (h *host) answer(ctx context.Context, name string) error {
	link, err := h.link(ctx, name)
	if err != nil {
		return err
	}
	if _, err := h.asked.Complete(ctx, scope, link.PublicID, survey.Response{Answers: json.RawMessage(`{"rate": 5}`)}); err != nil {
		return err
	}
	fmt.Printf("answer %s: taken\n", name)
	return nil
}

// tell counts the messages of name by their status, and asks how all is.
func (h *host) tell(ctx context.Context, name string) error {
	messages, _, err := h.out.Support().MessagesOf(ctx, scope, notify.Recipient{Ref: name}, storage.Page{})
	if err != nil {
		return err
	}
	if _, err := h.poller.Health(ctx, storage.Everywhere()); err != nil {
		return err
	}
	var states []string
	for _, m := range messages {
		states = append(states, string(m.Status))
	}
	slices.Sort(states)
	fmt.Printf("tell %s: %s\n", name, cmp.Or(strings.Join(states, ", "), "nothing"))
	return nil
}

// erase forgets name.
func (h *host) erase(ctx context.Context, name string) error {
	who := belfry.Person{Ref: name, Addresses: []belfry.PersonAddress{{Method: "email", Address: address(name)}}, Inboxes: []string{"user:" + name}}
	report, err := h.poller.Privacy().Erase(ctx, scope, who, belfry.By{Actor: "host", Reason: "a wish"})
	if err == nil {
		fmt.Printf("erase %s: %s\n", name, report.Status)
	}
	return err
}
