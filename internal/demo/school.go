package main

import (
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/file"
	"github.com/belfry-go/belfry/storage/sqlite"
)

//go:embed certificates.csv
var certificatesCSV string

// certificate is one row of the school's list.
type certificate struct {
	ID, Person, Email, Campus, Zone string
	Expires                         automation.Date
	Left                            bool // the person does not work here any more
}

// school is the host: its own data, and the events that it sends to Belfry.
type school struct {
	store        *sqlite.Store
	clk          *clock.Mock
	certificates []*certificate
	reminders    *automation.Scheduler
	out          *notify.Notifier
}

// open opens the school's database at a moment. The caller closes it.
func open(ctx context.Context, s settings, now time.Time) *school {
	clk := clock.NewMock() // a real program leaves it out
	clk.Set(now)
	check(os.MkdirAll(filepath.Dir(s.db), 0o755))
	sch := &school{store: must(sqlite.Open(ctx, s.db, &sqlite.Options{Clock: clk})), clk: clk}
	for _, r := range must(csv.NewReader(strings.NewReader(certificatesCSV)).ReadAll())[1:] {
		sch.certificates = append(sch.certificates, &certificate{
			ID: r[0] + "-" + r[4], Person: r[0], Email: r[1], Campus: r[2], Zone: r[3],
			Expires: must(automation.ParseDate(r[5])), Left: r[6] == "left",
		})
	}
	sch.out = notify.New(sch.store, nil, &stalling{Channel: file.New(s.out, nil), on: s.stall, clk: clk})
	sch.reminders = automation.New(sch.store, sch.out, nil)
	sch.reminders.Register(automation.ReminderType{
		Name:       "certificate",
		Triggers:   sch,
		Recipients: automation.RecipientFunc(sch.recipients),
		Validator:  automation.ValidatorFunc(sch.validate),
		Template: notify.Template{
			Subject: `Your certificate {{.Source.ID}} expires on {{.TargetDate}}`,
			Text: "Your certificate {{.Source.ID}} expires on {{.TargetDate}}, in {{.DaysBefore}} day(s).\n" +
				"Please renew it and send the new one to the school office.\n",
		},
	})
	return sch
}

// EventTypes and Wanted make the school a TriggerProvider: when, never whom.
func (s *school) EventTypes() []string { return []string{"certificate.saved"} }

func (s *school) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (a automation.Answer, err error) {
		c := s.get(r.Source.ID)
		for _, days := range []int{30, 7, 1} {
			a.Candidates = append(a.Candidates, automation.Candidate{
				BusinessUnit: c.Campus, Person: c.Person, TargetDate: c.Expires, DaysBefore: days, SendAt: "09:00", Zone: c.Zone,
			})
		}
		return a, nil
	})
}

// recipients is asked when a reminder is due, so a changed address counts.
func (s *school) recipients(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
	c := s.get(d.Source.ID)
	if c.Email == "" {
		return nil, nil
	}
	return []notify.Recipient{{Ref: c.Person, Channel: "email:file", Address: c.Email}}, nil
}

// validate is asked when a reminder is due: is it still true?
func (s *school) validate(_ context.Context, d automation.Due) (automation.Validity, error) {
	if s.get(d.Source.ID).Left {
		return automation.NoLongerValid(""), nil
	}
	return automation.StillValid(), nil
}

func (s *school) get(id string) *certificate {
	for _, c := range s.certificates {
		if c.ID == id {
			return c
		}
	}
	return &certificate{Left: true}
}

// tell says what is known of a certificate, and why it has changed. Saying it again changes
// nothing.
func (s *school) tell(ctx context.Context, c *certificate, version int64, because string) automation.EventResult {
	result, err := s.reminders.HandleEvent(ctx, automation.Event{
		Type: "certificate.saved", Source: automation.Source{Type: "certificate", ID: c.ID}, Version: version, Because: because,
	})
	if !errors.Is(err, automation.ErrStaleEvent) { // which changes nothing
		check(err)
	}
	return result
}

// number counts rows of the host's own database.
func (s *school) number(ctx context.Context, from string) (n int) {
	check(s.store.DB().QueryRowContext(ctx, "SELECT count(*) FROM "+from).Scan(&n))
	return n
}
