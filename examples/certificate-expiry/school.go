package main

import (
	"context"
	"sync"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// school is the host: its own data, and what it tells Belfry about it.
type school struct {
	mu           sync.Mutex
	certificates map[string]certificate
	order        []string
	reminders    *automation.Scheduler
	out          *notify.Notifier
}

// saved is the event of a certificate that was entered, corrected or renewed.
const saved = "certificate.saved"

// offsets are how many days before the expiry people are reminded.
var offsets = []int{30, 7, 1}

func newSchool(store storage.Store, mail notify.Channel) (*school, error) {
	byID, order, err := readCertificates()
	if err != nil {
		return nil, err
	}
	s := &school{certificates: byID, order: order}
	s.out = notify.New(store, nil, mail)
	s.reminders = automation.New(store, s.out, nil)
	s.reminders.Register(automation.ReminderType{
		Name:       "certificate",
		Triggers:   s,
		Recipients: automation.RecipientFunc(s.recipients(mail.Key())),
		Validator:  automation.ValidatorFunc(s.validate),
		Template: notify.Template{
			Subject: `Your certificate {{.Source.ID}} expires on {{.TargetDate}}`,
			Text: "Your certificate {{.Source.ID}} expires on {{.TargetDate}}, in {{.DaysBefore}} day(s).\n" +
				"Please renew it and send the new one to the school office.\n",
		},
	})
	return s, nil
}

// EventTypes and Candidates make the school a TriggerProvider: when, never whom.
func (s *school) EventTypes() []string { return []string{saved} }

func (s *school) Candidates(_ context.Context, e automation.Event) ([]automation.Candidate, error) {
	c := s.get(e.Source.ID)
	var all []automation.Candidate
	for _, days := range offsets {
		all = append(all, automation.Candidate{
			BusinessUnit: c.Campus, TargetDate: c.Expires, DaysBefore: days, SendAt: "09:00", Zone: c.Zone,
		})
	}
	return all, nil
}

// recipients is asked when a reminder is due, so a changed address counts.
func (s *school) recipients(channel string) automation.RecipientFunc {
	return func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
		c := s.get(d.Source.ID)
		if c.Email == "" {
			return nil, nil
		}
		return []notify.Recipient{{Ref: c.Person, Channel: channel, Address: c.Email}}, nil
	}
}

// validate is asked when a reminder is due: is it still true?
func (s *school) validate(_ context.Context, d automation.Due) (automation.Validity, error) {
	if s.get(d.Source.ID).Left {
		return automation.NoLongerValid(""), nil
	}
	return automation.StillValid(), nil
}

func (s *school) get(id string) certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.certificates[id]
}

// tell says what is known of a certificate. Saying it again changes nothing.
func (s *school) tell(ctx context.Context, id string, version int64) (automation.EventResult, error) {
	return s.reminders.HandleEvent(ctx, automation.Event{
		Type: saved, Source: automation.Source{Type: "certificate", ID: id}, Version: version,
	})
}

// renew is what the office does when a new certificate comes in.
func (s *school) renew(ctx context.Context, id string, expires automation.Date) (automation.EventResult, error) {
	s.mu.Lock()
	c := s.certificates[id]
	c.Expires = expires
	s.certificates[id] = c
	s.mu.Unlock()
	return s.tell(ctx, id, 2)
}
