package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

// people are whom the school knows. Ben has given no address.
var people = map[string]string{
	"ada": "Ada", "ben": "Ben", "cem": "Cem", "dia": "Dia", "eve": "Eve", "fay": "Fay",
}

// school is the program whose support desk it is.
type school struct {
	store     *sqlite.Store
	reminders *automation.Scheduler
	out       *notify.Notifier
	surveys   *survey.Service
	desk      *support.Desk
}

// mailServer refuses Cem, and does not answer for Dia.
func mailServer(_ context.Context, m channel.Message) (channel.Receipt, error) {
	switch who, _, _ := strings.Cut(m.To, "@"); who {
	case "cem":
		return channel.Receipt{}, channel.Permanent("550", errors.New("no such mailbox"))
	case "dia":
		return channel.Receipt{}, channel.Unknown("timeout", errors.New("no answer"))
	}
	return channel.Receipt{ID: "smtp-" + m.ID[:8]}, nil
}

func newSchool(store *sqlite.Store) *school {
	s := &school{store: store}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	mail := channel.Func("email:school", mailServer)
	s.out = notify.New(store, &notify.Options{Logger: quiet}, mail)
	s.out.Register(notify.Type{Name: "timetable", InDoubt: notify.Hold, Renderer: notify.Template{Subject: "Your timetable, {{.Recipient.Name}}", Text: "It is on the wall."}})
	s.reminders = automation.New(store, s.out, &automation.Options{Logger: quiet})
	s.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC",
		Template: notify.Template{Subject: "Your first-aid certificate expires on {{.TargetDate}}", Text: "Please renew it."},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			if d.Source.ID == "ben" {
				return nil, nil
			}
			return []notify.Recipient{recipient(d.Source.ID)}, nil
		}),
	})
	s.surveys = survey.New(store, s.out, &survey.Options{SurveyURL: "https://school.example/s/{token}", Logger: quiet})
	erasing := belfry.NewPoller(store, nil, s.reminders, s.out, s.surveys).Privacy()
	s.desk = support.New(support.Options{
		Store: store, Automation: s.reminders, Notify: s.out, Survey: s.surveys, Privacy: erasing,
		Directory: func(_ context.Context, _ support.Scope, text string) (found []support.Person, _ error) {
			for ref, name := range people {
				if strings.EqualFold(text, name) || text == ref {
					found = append(found, support.Person{Ref: ref, Name: name})
				}
			}
			return found, nil
		},
	})
	return s
}

func recipient(who string) notify.Recipient {
	return notify.Recipient{Ref: who, Name: people[who], Channel: "email:school", Address: who + "@example.com", Inbox: "user:" + who}
}

// weeks is how long the school has worked when the console opens.
const weeks = 21 * 24 * time.Hour

const visit = `{
	"questions": [{"id": "rate", "type": "rating"}],
	"triggers": [{"id": "lesson", "enabled": true, "eventKind": "lesson-ended", "dedupRecipe": ["templateId", "recipient.address"],
		"schedule": {"initialDelay": "0d", "reminders": ["3d"]}, "channel": "email:school"}]
}`

// history plays three weeks in a moment.
func history(ctx context.Context, dir string, clk *clock.Mock) error {
	s, err := open(ctx, dir, clk)
	if err != nil {
		return err
	}
	defer s.store.Close()
	if err := s.ask(ctx, clk.Now()); err != nil {
		return err
	}
	poller := belfry.NewPoller(s.store, nil, s.reminders, s.out, s.surveys)
	for end := clk.Now().Add(weeks); clk.Now().Before(end); clk.Add(24 * time.Hour) {
		for range 2 {
			if err := poller.Drain(ctx); err != nil {
				return err
			}
		}
	}
	return s.report(ctx)
}

// ask asks for three reminders each, a mail and two surveys.
func (s *school) ask(ctx context.Context, now time.Time) error {
	expires := now.Add(weeks + 5*24*time.Hour)
	for _, who := range []string{"ada", "ben", "cem", "dia", "eve", "fay"} {
		var all []automation.Candidate
		for _, days := range []int{20, 7, 1} {
			all = append(all, automation.DaysBefore(automation.Date{Year: expires.Year(), Month: expires.Month(), Day: expires.Day()}, days))
		}
		if _, err := s.reminders.Type("certificate").Set(ctx, automation.About{ID: who, SourceType: "employee", Person: who}, all...); err != nil {
			return err
		}
	}
	if err := s.out.Contacts().SetPreferences(ctx, notify.Preference{RecipientRef: "eve", Type: "timetable", OptedOut: true}); err != nil {
		return err
	}
	job := notify.Job{Type: "timetable", PartitionKey: "school", RowKey: "timetable-spring", EventData: json.RawMessage(`{}`)}
	for _, who := range []string{"ada", "cem", "dia", "eve", "fay"} {
		job.Recipients = append(job.Recipients, recipient(who))
	}
	if _, err := s.out.Notify(ctx, job); err != nil {
		return err
	}
	if _, err := s.surveys.Publish(ctx, survey.Version{SurveyID: 7, Name: "Lesson", Definition: json.RawMessage(visit)}); err != nil {
		return err
	}
	batch := survey.Batch{EventKind: "lesson-ended"}
	for _, who := range []string{"ada", "fay"} {
		batch.Items = append(batch.Items, survey.Item{Payload: json.RawMessage(`{}`), Recipient: survey.Recipient{Address: who + "@example.com", CustomerRef: who}})
	}
	_, err := s.surveys.Ingest(ctx, batch)
	return err
}

// report is what providers and support said since: Ada's mails arrived, Eve's bounced, and
// Fay's last reminder was cancelled.
func (s *school) report(ctx context.Context) error {
	for who, kind := range map[string]channel.StatusKind{"ada": channel.KindDelivered, "eve": channel.KindBounced} {
		messages, _, err := s.out.Support().MessagesOf(ctx, "", notify.Recipient{Ref: who}, storage.Page{})
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Status != notify.StatusSentToProvider {
				continue
			}
			if _, err := s.out.Track(ctx, channel.StatusEvent{Provider: "school", EventID: fmt.Sprint(kind, m.MessageID), Kind: kind, Code: "", MessageID: m.MessageID}); err != nil {
				return err
			}
		}
	}
	planned, _, err := s.reminders.Support().Planned(ctx, "", "fay", storage.Page{})
	if err != nil || len(planned) == 0 {
		return err
	}
	return s.reminders.Support().Cancel(ctx, "", planned[0].Key, automation.By{Actor: "kim", Reason: "has renewed it on paper"})
}
