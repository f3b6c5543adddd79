package automation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

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

//spec:a-031
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
