package automation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// panics returns what f panics with, as text.
func panics(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

func TestOnlyAProgrammersMistakesPanic(t *testing.T) {
	t.Parallel()
	store := memory.New(&memory.Options{Clock: clock.NewMock()})
	out := notify.New(store, nil)
	nothing := automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil })
	s := automation.New(store, out, nil)
	s.Register(certificates(nil))
	s.Handle(automation.WorkType{Name: "export", Handler: nothing})
	with := func(change func(*automation.ReminderType)) func() {
		return func() {
			s.Register(certificates(func(t *automation.ReminderType) { t.Name = "new"; change(t) }))
		}
	}
	for want, f := range map[string]func(){
		"New needs a store and a dispatcher":                      func() { automation.New(nil, out, nil) },
		"needs a store and a dispatcher":                          func() { automation.New(store, nil, nil) },
		`Register("certificate"): the name is registered already`: func() { s.Register(certificates(nil)) },
		`Register("export"): the name is registered already`:      func() { s.Register(certificates(func(t *automation.ReminderType) { t.Name = "export" })) },
		`Register(""): the name is empty`:                         with(func(t *automation.ReminderType) { t.Name = "" }),
		`Register("a:b"): the name holds ':'`:                     with(func(t *automation.ReminderType) { t.Name = "a:b" }),
		"it has no Recipients":                                    with(func(t *automation.ReminderType) { t.Recipients = nil }),
		`time zone "Mars/Olympus" is unknown`:                     with(func(t *automation.ReminderType) { t.Zone = "Mars/Olympus" }),
		`time of day "25:00"`:                                     with(func(t *automation.ReminderType) { t.SendAt = "25:00" }),
		`gap policy "jump"`:                                       with(func(t *automation.ReminderType) { t.Gap = "jump" }),
		"a negative Lateness":                                     with(func(t *automation.ReminderType) { t.Lateness.CatchUp = -1 }),
		`Handle("new"): it has no Handler`:                        func() { s.Handle(automation.WorkType{Name: "new"}) },
		`Handle("Reminder"): the name is reserved`:                func() { s.Handle(automation.WorkType{Name: "Reminder", Handler: nothing}) },
		`Handle("ReportSubscription"): the name is reserved`:      func() { s.Handle(automation.WorkType{Name: "ReportSubscription", Handler: nothing}) },
		`Handle("a:b"): the name holds ':'`:                       func() { s.Handle(automation.WorkType{Name: "a:b", Handler: nothing}) },
		`Handle("export"): the name is registered already`:        func() { s.Handle(automation.WorkType{Name: "export", Handler: nothing}) },
		"WithTx needs a transaction of the scheduler's own store": func() { s.WithTx(nil) },
	} {
		if got := panics(t, f); !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
	err := memory.New(nil).InTx(t.Context(), func(tx storage.Tx) error {
		if got := panics(t, func() { s.WithTx(tx) }); !strings.Contains(got, "own store") {
			t.Error(got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// plain is a dispatcher that cannot register types.
type plain struct{ notify.DeliveryDispatcher }

func TestRegisterTellsTheDispatcherUnlessItCannotOrNeedNotKnow(t *testing.T) {
	t.Parallel()
	store := memory.New(&memory.Options{Clock: clock.NewMock()})
	out := notify.New(store, nil)
	s := automation.New(store, out, nil)
	s.Register(certificates(nil))
	if got := panics(t, func() { out.Register(notify.Type{Name: "certificate"}) }); !strings.Contains(got, "certificate") {
		t.Error("the notification type is not registered:", got)
	}
	out.Register(notify.Type{Name: "urgent-mail"})
	s.Register(certificates(func(t *automation.ReminderType) { t.Name, t.NotificationType = "invoice", "urgent-mail" }))
	out.Register(notify.Type{Name: "invoice"}) // is free
	automation.New(store, plain{out}, nil).Register(certificates(nil))
}

func TestAReminderMayNameANotificationTypeOfTheHost(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.NotificationType = "mail" }))
		w.ensure(candidate(nil))
		w.pollAt(day(2026, 4, 1, 9))
		if job := w.out.jobs[0]; job.Type != "mail" || len(job.Recipients) != 1 {
			w.t.Errorf("%+v", job)
		}
	})
}

func TestABadCandidateIsNamedAndNothingIsWritten(t *testing.T) {
	bad := map[string]struct {
		change func(*automation.Candidate)
		want   string
	}{
		"no type":              {func(c *automation.Candidate) { c.Type = "" }, "Type: the name is empty"},
		"type with a colon":    {func(c *automation.Candidate) { c.Type, c.Setting = "a:b", "s" }, "Type: the name holds ':'"},
		"source with a colon":  {func(c *automation.Candidate) { c.Source.ID = "7:8" }, "source: holds ':' at byte 1"},
		"no source":            {func(c *automation.Candidate) { c.Source = automation.Source{} }, "sourceType: is empty"},
		"control character":    {func(c *automation.Candidate) { c.TriggerKey = "a\nb" }, "triggerKey: holds the control character U+000A"},
		"invalid UTF-8":        {func(c *automation.Candidate) { c.Setting = "\xff" }, "setting: is not valid UTF-8"},
		"no date":              {func(c *automation.Candidate) { c.TargetDate = automation.Date{} }, "TargetDate: date 0000-00-00 does not exist"},
		"30 February":          {func(c *automation.Candidate) { c.TargetDate = date(2026, 2, 30) }, "TargetDate: date 2026-02-30 does not exist"},
		"offset beyond reason": {func(c *automation.Candidate) { c.DaysBefore = 40000 }, "offsetDays"},
		"before the calendar":  {func(c *automation.Candidate) { c.TargetDate = date(1, 1, 2) }, "DaysBefore: 30 days before 0001-01-02"},
		"no time":              {func(c *automation.Candidate) { c.SendAt = "" }, "SendAt: is not set"},
		"time of no clock":     {func(c *automation.Candidate) { c.SendAt = "24:00" }, `SendAt: time of day "24:00" does not exist`},
		"no zone":              {func(c *automation.Candidate) { c.Zone = "" }, "Zone: is not set"},
		"unknown zone":         {func(c *automation.Candidate) { c.Zone = "Mars/Olympus" }, `Zone: time zone "Mars/Olympus" is unknown`},
		"unknown gap policy":   {func(c *automation.Candidate) { c.Gap = "jump" }, `gap policy "jump"`},
		"scope of all":         {func(c *automation.Candidate) { c.Scope = "\x00any" }, "Scope: "},
		"endless scope":        {func(c *automation.Candidate) { c.Scope = automation.Scope(strings.Repeat("s", 201)) }, "Scope: is too long"},
		"business unit":        {func(c *automation.Candidate) { c.BusinessUnit = "a\x00" }, "BusinessUnit: "},
		"an instant":           {func(c *automation.Candidate) { c.ScheduledOn = start }, "ScheduledOn: is for types that hosts add"},
		"host without instant": {func(c *automation.Candidate) { *c = automation.Candidate{AutomationType: "export", Source: c.Source} }, "ScheduledOn: is not set"},
		"host with a date": {func(c *automation.Candidate) {
			c.AutomationType, c.Type, c.ScheduledOn = "export", "", start
		}, "TargetDate: is for reminders"},
		"host with a type": {func(c *automation.Candidate) { c.AutomationType = "export" }, "Type: is for reminders"},
		"host with a colon": {func(c *automation.Candidate) {
			*c = automation.Candidate{AutomationType: "a:b", Source: c.Source, ScheduledOn: start}
		}, "type: holds ':'"},
	}
	eachWorld(t, func(w *world) {
		for name, b := range bad {
			got, err := w.s.Ensure(w.ctx, candidate(nil), candidate(b.change))
			var refused *automation.CandidateError
			if got != nil || !errors.As(err, &refused) || refused.Index != 1 {
				w.t.Fatalf("%s: %v %v", name, got, err)
			}
			if text := err.Error(); !strings.Contains(text, b.want) || !strings.HasPrefix(text, "automation: candidate 1 (") {
				w.t.Errorf("%s: %q does not say %q", name, text, b.want)
			}
			if rows := w.rows(); len(rows) != 0 {
				w.t.Errorf("%s: half-written: %v", name, rows)
			}
		}
	})
}

func TestEveryBadCandidateOfACallIsNamed(t *testing.T) {
	eachWorld(t, func(w *world) {
		_, err := w.s.Ensure(w.ctx, candidate(func(c *automation.Candidate) { c.Zone = "x" }), candidate(nil), candidate(func(c *automation.Candidate) { c.SendAt = "9" }))
		if text := err.Error(); !strings.Contains(text, "candidate 0") || !strings.Contains(text, "candidate 2") || strings.Contains(text, "candidate 1") {
			w.t.Error(text)
		}
		var part *keys.PartError
		if errors.As(err, &part) {
			w.t.Error(part)
		}
	})
}

func TestARowBeyondItsLimitIsRefusedWhole(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := &triggers{}
		p.set(offsets(date(2026, 5, 1), 30, 7)...)
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers = p }))
		e := changed(1)
		e.ID = strings.Repeat("x", 9<<10)
		_, err := w.s.HandleEvent(w.ctx, e)
		var size *storage.RowSizeError
		if !errors.As(err, &size) || size.Limit != 8<<10 || len(w.rows()) != 0 {
			w.t.Errorf("%v, %d rows", err, len(w.rows()))
		}
	})
}

func TestACandidateTakesWhatItLeavesOutFromItsTypeAndBusinessUnit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := newWorld(t, store, clk, &automation.Options{Zone: func(_ context.Context, scope automation.Scope, unit string) (string, error) {
			return map[string]string{"north": "America/New_York"}[unit], nil
		}})
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Zone, t.SendAt, t.Urgent = "Europe/Dublin", "08:00", true }))
		bare := automation.Candidate{Type: "certificate", Source: automation.Source{"employee", "7"}, TargetDate: date(2026, 5, 1)}
		w.ensure(bare)
		bare.BusinessUnit, bare.TriggerKey = "north", "n"
		w.ensure(bare)
		bare.Zone, bare.SendAt, bare.TriggerKey, bare.Setting = "UTC", "10:30:15", "u", "5f1c"
		w.ensure(bare)
		want := map[string]time.Time{
			"reminder:certificate:employee:7:default:2026-05-01:0": day(2026, 5, 1, 7),
			"reminder:certificate:employee:7:n:2026-05-01:0":       day(2026, 5, 1, 12),
			"reminder:5f1c:employee:7:u:2026-05-01:0":              day(2026, 5, 1, 10).Add(30*time.Minute + 15*time.Second),
		}
		for key, on := range want {
			if row := w.row(key); !row.ScheduledOn.Equal(on) || row.Lane != storage.LaneUrgent {
				t.Errorf("%s: %v", key, row.ScheduledOn)
			}
		}
	})
}

func TestSettingsChanges(t *testing.T) {
	first := offsets(date(2026, 5, 1), 30)
	for name, c := range map[string]struct {
		then []automation.Candidate
		want map[string]string
	}{
		"offset: deactivated and made anew": {
			offsets(date(2026, 5, 1), 14),
			map[string]string{key("2026-05-01", "30"): "Deactivated Superseded", key("2026-05-01", "14"): "Pending"},
		},
		"date: deactivated and made anew": {
			offsets(date(2026, 6, 1), 30),
			map[string]string{key("2026-05-01", "30"): "Deactivated Superseded", key("2026-06-01", "30"): "Pending"},
		},
		"time of sending: moved in place": {
			[]automation.Candidate{{TargetDate: date(2026, 5, 1), DaysBefore: 30, SendAt: "17:00"}},
			map[string]string{key("2026-05-01", "30"): "Pending"},
		},
		"nothing is wanted any more": {
			nil,
			map[string]string{key("2026-05-01", "30"): "Deactivated Superseded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				p := w.withTriggers(nil)
				p.set(first...)
				w.handle(changed(1))
				p.set(c.then...)
				w.handle(changed(2))
				if diff := cmp.Diff(c.want, w.statuses()); diff != "" {
					w.t.Error(diff)
				}
				if len(c.then) == 1 && c.then[0].SendAt != "" {
					if row := w.row(key("2026-05-01", "30")); !row.ScheduledOn.Equal(day(2026, 4, 1, 17)) {
						w.t.Error(row.ScheduledOn)
					}
				}
			})
		})
	}
}

// Template and recipients may change as they like: they are read when due.
func TestAChangedTemplateLeavesThePendingRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		before := w.rows()
		next := newWorld(w.t, w.store, w.clk, nil) // the next version of the program
		next.s.Register(certificates(func(t *automation.ReminderType) {
			t.Triggers, t.Template = p, notify.Template{Subject: "new"}
			t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				return []notify.Recipient{{Ref: "kim", Channel: "email:print", Address: "kim@example.com"}}, nil
			})
		}))
		next.handle(changed(2))
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error(diff)
		}
		next.pollAt(day(2026, 4, 1, 9))
		if job := next.out.jobs[0]; job.Recipients[0].Ref != "kim" {
			w.t.Errorf("%+v", job)
		}
	})
}

func TestASettingThatIsOffEndsItsRowsAndKeepsTheCompletedOnes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		settings := settingsMap{"certificate": true}
		w := newWorld(t, store, clk, &automation.Options{Settings: settings})
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30, 7)...)
		w.handle(changed(1))
		w.pollAt(day(2026, 4, 1, 9))
		settings["certificate"] = false
		got := w.handle(changed(2))
		if !slices.Equal(outcomes(got), []storage.Outcome{causes.SettingInactive, causes.SettingInactive}) {
			t.Errorf("%+v", got)
		}
		want := map[string]string{key("2026-05-01", "30"): "Completed", key("2026-05-01", "7"): "Deactivated ReminderSettingInactive"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			t.Error(diff)
		}
		settings["certificate"] = true
		w.handle(changed(3))
		if got := w.row(key("2026-05-01", "7")); got.Status != automation.StatusPending {
			t.Errorf("%+v", got)
		}
	})
}

// settingsMap says which settings are active.
type settingsMap map[string]bool

func (m settingsMap) Setting(_ context.Context, _ automation.Scope, id string) (automation.Setting, error) {
	return automation.Setting{Active: m[id], Data: "data of " + id}, nil
}
