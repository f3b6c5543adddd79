package settings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// teacher is what the school knows: until when the certificate holds, where the teacher
// works, and how often that has changed.
type teacher struct {
	expires int // of March
	unit    string
	version int64
}

// school reminds its teachers of certificates, by a setting, and of timesheets, by a
// series of another.
type school struct {
	*world
	teachers map[string]*teacher
	scanned  bool // the school tells nothing, and is scanned every hour
	mails    []string
}

func (s *school) targetsOf(_ context.Context, of []automation.Request) ([]settings.Targets, error) {
	return automation.Each(of, func(r automation.Request) (settings.Targets, error) {
		t := *s.teachers[r.Source.ID]
		if then, ok := r.Event.Data.(teacher); ok { // told with what was true when it happened
			t = then
		}
		date := automation.Date{Year: 2026, Month: 3, Day: t.expires}
		return settings.Targets{Version: t.version, Targets: []settings.Target{{Date: date, BusinessUnit: t.unit}}}, nil
	})
}

func (s *school) read(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
	page := automation.ScanPage{Done: true}
	for _, id := range []string{"ann", "bob", "eve"} {
		page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{Type: "teacher", ID: id}, Version: s.teachers[id].version})
	}
	return page, nil
}

// open registers the type of the school.
func (s *school) open() {
	t := automation.ReminderType{
		Name: "school", SendAt: "09:00", Zone: "UTC", Stream: "teacher",
		Template: notify.Template{Subject: "{{.Source.ID}} {{.What}} {{.DaysBefore}}"},
		Triggers: s.settings.Triggers("school", s.targetsOf, "teacher-changed"),
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: d.Source.ID, Channel: "email:print", Address: d.Source.ID + "@example.com", Data: map[string]string{"What": d.Setting.ID}}}, nil
		}),
		BusinessDay: s.settings.BusinessDay,
	}
	if s.scanned {
		t.Scan = &automation.Scan{Read: s.read, SourceType: "teacher", Window: 90, Scopes: []automation.Scope{""}}
	}
	s.reminders.Register(t)
}

// tell is what the school does after a change of a teacher.
func (s *school) tell(id string) {
	s.Helper()
	if s.scanned {
		return
	}
	if _, err := s.event(id, s.teachers[id].version, nil); err != nil {
		s.Fatal(err)
	}
}

func (s *school) event(id string, version int64, data any) (automation.EventResult, error) {
	return s.reminders.HandleEvent(s.ctx, automation.Event{
		Type: "teacher-changed", Stream: "teacher", Source: automation.Source{Type: "teacher", ID: id}, Version: version, Data: data,
	})
}

// until lets processes run every half an hour up to a moment, and notes what is sent.
func (s *school) until(on time.Time) {
	s.Helper()
	for now := s.clk.Now(); now.Before(on); {
		now = now.Add(30 * time.Minute)
		for now.Before(on) && (now.Hour() < 7 || now.Hour() > 16) {
			now = now.Add(30 * time.Minute)
		}
		for _, mail := range s.pollAt(now) {
			s.mails = append(s.mails, now.Format("2 15:04 ")+mail)
		}
	}
}

// A school changes everything in a week: the cadence of its timesheets on Monday, half
// an hour after they went out; the zone of a branch on Tuesday; offsets and hour of a
// setting on Wednesday morning, the unit of a teacher at noon; a certificate on Thursday,
// of which an older event comes late; and somebody saves what he has read before. Every
// mail goes out once, at the moment that was right when it came. It is the same whether
// the school tells of its teachers or is scanned.
func TestASchoolThatChangesEverythingInAWeek(t *testing.T) {
	t.Parallel()
	for name, scanned := range map[string]bool{"told": false, "scanned": true} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				s := &school{world: w, scanned: scanned, teachers: map[string]*teacher{
					"ann": {10, "dublin", 1}, "bob": {10, "branch", 1}, "eve": {12, "dublin", 1},
				}}
				s.week()
				if diff := cmp.Diff(weekOfMails, s.mails); diff != "" {
					w.Error(diff)
				}
			})
		})
	}
}

func (s *school) week() {
	s.Helper()
	s.saveUnit(unit("dublin", "Europe/Dublin"))
	branch := s.saveUnit(unit("branch", "Europe/Dublin"))
	expiry := s.save(settings.ReminderSetting{ID: "expiry", Type: "school", Name: "expiry", Active: true, Offsets: []int{7, 3}})
	timesheet := s.save(settings.ReminderSetting{
		ID: "timesheet", Type: "school", Name: "timesheet", Active: true, Cadence: settings.Cadence{Cron: "0 9 * * MON"},
	})
	s.open()
	for _, id := range []string{"ann", "bob", "eve"} {
		s.tell(id)
	}

	s.until(at(3, 2, 9).Add(30 * time.Minute))
	timesheet.Cadence.Cron = "0 11 * * MON,THU" // cadence
	s.save(timesheet)
	s.until(at(3, 3, 8))
	branch.Zone = "America/New_York" // zone
	s.saveUnit(branch)
	s.until(at(3, 4, 8))
	before := expiry
	expiry.Offsets, expiry.SendAt = []int{7, 2}, "08:00" // setting
	s.save(expiry)
	before.Offsets = []int{1}
	if _, err := s.settings.SaveReminder(s.ctx, before); !errors.Is(err, storage.ErrStale) {
		s.Errorf("what was read before: %v", err)
	}
	s.until(at(3, 4, 12))
	*s.teachers["eve"] = teacher{12, "branch", 2} // unit
	s.tell("eve")
	s.until(at(3, 5, 13).Add(30 * time.Minute))
	then := teacher{11, "dublin", 2} // a typing error, set right at once
	*s.teachers["ann"] = teacher{14, "dublin", 3}
	s.tell("ann")
	s.until(at(3, 5, 15))
	if got, err := s.event("ann", 2, then); !errors.Is(err, automation.ErrStaleEvent) { // version
		s.Errorf("an older event: %+v, %v", got, err)
	}
	s.until(at(3, 14, 15))
}

// weekOfMails are the days of March, in UTC; New York is five hours behind Dublin, and
// from the eighth on four.
var weekOfMails = slices.Concat(
	mails("2 09:00", "ann timesheet 0", "bob timesheet 0", "eve timesheet 0"),
	mails("3 09:00", "ann expiry 7"),
	mails("3 14:00", "bob expiry 7"),
	mails("5 11:00", "ann timesheet 0"),
	mails("5 13:00", "eve expiry 7"),
	mails("5 16:00", "bob timesheet 0", "eve timesheet 0"),
	mails("7 08:00", "ann expiry 7"),
	mails("8 12:00", "bob expiry 2"),
	mails("9 11:00", "ann timesheet 0"),
	mails("9 15:00", "bob timesheet 0", "eve timesheet 0"),
	mails("10 12:00", "eve expiry 2"),
	mails("12 08:00", "ann expiry 2"),
	mails("12 11:00", "ann timesheet 0"),
	mails("12 15:00", "bob timesheet 0", "eve timesheet 0"),
)

func mails(on string, all ...string) []string {
	for i, mail := range all {
		all[i] = fmt.Sprintf("%s email:print %s", on, mail)
	}
	return all
}
