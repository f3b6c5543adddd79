package automation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// A week without processes, of an occurrence a day.
func TestAfterAWeekWithoutProcesses(t *testing.T) {
	t.Parallel()
	var all []string
	for d := 1; d <= 8; d++ {
		all = append(all, fmt.Sprintf("03-%02dT09:00 Completed", d))
	}
	for name, c := range map[string]struct {
		lateness automation.Lateness
		want     []string
	}{
		"every one runs":     {automation.Lateness{}, append(all, "03-09T09:00 Pending")},
		"only the latest":    {automation.Lateness{OnlyLatest: true}, []string{"03-01T09:00 Deactivated Overtaken", "03-08T09:00 Completed", "03-09T09:00 Pending"}},
		"those behind it go": {automation.Lateness{SkipOverlapped: true}, []string{"03-01T09:00 Completed", "03-09T09:00 Pending"}},
		"too late":           {automation.Lateness{Window: time.Hour}, []string{"03-01T09:00 Deactivated TooLate", "03-09T09:00 Pending"}},
		"some are not":       {automation.Lateness{Window: 30 * time.Hour}, []string{"03-01T09:00 Deactivated TooLate", "03-07T09:00 Completed", "03-08T09:00 Completed", "03-09T09:00 Pending"}},
		"late and overtaken": {automation.Lateness{Window: 30 * time.Hour, OnlyLatest: true}, []string{"03-01T09:00 Deactivated TooLate", "03-07T09:00 Deactivated Overtaken", "03-08T09:00 Completed", "03-09T09:00 Pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness = c.lateness }))
				w.ensure(daily(nil))
				w.clk.Set(day(2026, 3, 8, 12))
				w.runAll()
				w.wantShort(c.want...)
			})
		})
	}
}

// An occurrence is tried again while the moments of others come.
func TestOccurrencesThatComeWhileOneIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lateness automation.Lateness
		want     []string
	}{
		"they run afterwards":  {automation.Lateness{}, []string{"03-01T08:01 Completed HandlerFailed", "03-01T08:02 Completed", "03-01T08:03 Completed"}},
		"they are left out":    {automation.Lateness{SkipOverlapped: true}, []string{"03-01T08:01 Completed HandlerFailed"}},
		"the latest overtakes": {automation.Lateness{OnlyLatest: true}, []string{"03-01T08:01 Deactivated Overtaken"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				fail := true
				w.s.Register(certificates(func(t *automation.ReminderType) {
					t.Lateness = c.lateness
					t.Recipients = automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
						if fail {
							return nil, errBoom
						}
						return toSam(ctx, d)
					})
				}))
				w.ensure(cron("* * * * *"))
				w.pollAt(start.Add(time.Minute))
				w.wantShort("03-01T08:01 Pending HandlerFailed")
				fail = false
				w.clk.Set(start.Add(20 * time.Minute))
				w.runAll()
				got := w.short()
				for i, want := range c.want {
					if strings.Replace(got[i], "Completed HandlerFailed", "Completed", 1) != strings.Replace(want, "Completed HandlerFailed", "Completed", 1) {
						w.t.Errorf("%v, want %v", got, c.want)
					}
				}
				if last := got[len(got)-1]; last != "03-01T08:21 Pending" {
					w.t.Error(got)
				}
				if n := len(got); n != map[bool]int{true: 21, false: len(c.want) + 1}[name == "they run afterwards"] && name != "the latest overtakes" {
					w.t.Error(got)
				}
			})
		})
	}
}

// Offsets of one date that are due together.
func TestOnlyTheLatestOffsetRuns(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Lateness.OnlyLatest = true }))
		var all []automation.Candidate
		for _, days := range []int{30, 7, 1} {
			all = append(all, candidate(func(c *automation.Candidate) { c.DaysBefore = days }))
		}
		all = append(all, candidate(func(c *automation.Candidate) { c.TriggerKey = "other" }), candidate(func(c *automation.Candidate) { c.Source.ID = "8" }))
		w.ensure(all...)
		w.must(w.s.Support().Hold(w.ctx, "", key("2026-05-01", "1"), ann)) // what is held overtakes nobody
		w.pollAt(day(2026, 5, 2, 9))
		want := map[string]string{
			certificateKey: "Deactivated Overtaken", key("2026-05-01", "7"): "Completed", key("2026-05-01", "1"): "Pending held HeldBySupport",
			"reminder:certificate:employee:7:other:2026-05-01:30":   "Completed",
			"reminder:certificate:employee:8:default:2026-05-01:30": "Completed",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}
