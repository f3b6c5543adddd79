package automation_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/storage"
)

// backups is a host's work that notes its runs, and fails while fail is set.
type backups struct {
	ran  []string
	fail error
}

func (b *backups) work(change func(*automation.WorkType)) automation.WorkType {
	t := automation.WorkType{Name: "backup", Zone: "Europe/Berlin", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
		for _, d := range due {
			run := d.Run
			if d.Occurrence != nil {
				run = d.Occurrence.LocalDate.String() + " " + d.Occurrence.LocalTime
			}
			b.ran = append(b.ran, d.Source.ID+" "+run)
		}
		return make([]automation.Outcome, len(due)), b.fail
	})}
	if change != nil {
		change(&t)
	}
	return t
}

func (b *backups) since(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, slices.Clip(b.ran)); diff != "" {
		t.Error(diff)
	}
	b.ran = nil
}

func nightly(change func(*automation.Candidate)) automation.Candidate {
	c := automation.Candidate{
		AutomationType: "backup", Source: automation.Source{"server", "eu-1"}, Recurrence: &automation.Recurrence{Cron: "0 3 * * *"},
	}
	if change != nil {
		change(&c)
	}
	return c
}

const nightlyKey = "host:backup:server:eu-1:default:recurring:"

// A host's own work happens again and again, whatever becomes of a run, until it is stopped.
func TestAHostsOwnWorkRecurs(t *testing.T) {
	eachWorld(t, func(w *world) {
		b := &backups{}
		w.s.Handle(b.work(nil))
		got := w.ensure(nightly(nil))[0]
		if got.Outcome != storage.Created || got.Key != nightlyKey+"2026-03-02T02:00:00Z" {
			w.t.Errorf("%+v", got)
		}
		if again := w.ensure(nightly(nil))[0]; again.Outcome != storage.Unchanged || again.Key != got.Key {
			w.t.Errorf("%+v", again)
		}
		w.pollAt(day(2026, 3, 2, 2))
		b.since(w.t, "eu-1 2026-03-02 03:00")
		b.fail = automation.Permanent(errBoom)
		w.pollAt(day(2026, 3, 3, 2))
		b.fail = nil
		w.pollAt(day(2026, 3, 4, 2))
		b.since(w.t, "eu-1 2026-03-03 03:00", "eu-1 2026-03-04 03:00")
		later := nightly(func(c *automation.Candidate) { c.Recurrence.Cron = "0 5 * * *" })
		w.ensure(later)
		e, err := w.s.Explain(w.ctx, "", nightlyKey+"2026-03-05T04:00:00Z")
		w.must(err)
		if !strings.Contains(e.String(), "recurs: cron 0 5 * * *, Europe/Berlin") {
			w.t.Error(e)
		}
		ended, err := w.s.Deactivate(w.ctx, "", "backup", automation.Source{"server", "eu-1"}, "ServerGone")
		if err != nil || len(ended) != 2 {
			w.t.Error(ended, err)
		}
		w.pollAt(day(2026, 3, 9, 9))
		b.since(w.t)
		want := map[string]string{
			nightlyKey + "2026-03-02T02:00:00Z": "Completed",
			nightlyKey + "2026-03-03T02:00:00Z": "Deactivated ServerGone held PermanentFailure",
			nightlyKey + "2026-03-04T02:00:00Z": "Completed",
			nightlyKey + "2026-03-05T02:00:00Z": "Deactivated Superseded",
			nightlyKey + "2026-03-05T04:00:00Z": "Deactivated ServerGone",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// What the type's Lateness says of runs that no process did.
func TestRunsOfAHostThatComeLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lateness automation.Lateness
		want     []string
	}{
		"each, one after the other": {automation.Lateness{}, []string{"eu-1 2026-03-02 03:00", "eu-1 2026-03-03 03:00", "eu-1 2026-03-04 03:00"}},
		"the last alone":            {automation.Lateness{OnlyLatest: true}, []string{"eu-1 2026-03-04 03:00"}},
		"those of the last day":     {automation.Lateness{Window: 24 * time.Hour}, []string{"eu-1 2026-03-04 03:00"}},
		"none while one waited":     {automation.Lateness{SkipOverlapped: true}, []string{"eu-1 2026-03-02 03:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				b := &backups{}
				w.s.Handle(b.work(func(t *automation.WorkType) { t.Lateness = c.lateness }))
				w.ensure(nightly(nil))
				w.clk.Set(day(2026, 3, 4, 12))
				w.runAll()
				b.since(w.t, c.want...)
				w.clk.Set(day(2026, 3, 5, 12))
				w.runAll()
				b.since(w.t, "eu-1 2026-03-05 03:00")
			})
		})
	}
}

// A person has it done now, once for each id of a run; the series goes its way.
func TestAHostsOwnWorkIsDoneNow(t *testing.T) {
	eachWorld(t, func(w *world) {
		b := &backups{}
		w.s.Handle(b.work(nil))
		w.ensure(nightly(nil))
		now := automation.Candidate{AutomationType: "backup", Source: automation.Source{"server", "eu-1"}, Run: "0d4e"}
		for i, want := range []storage.Outcome{storage.Created, storage.Unchanged} {
			if got := w.ensure(now)[0]; got.Outcome != want || got.Key != "host:backup:server:eu-1:default:manual:0d4e" {
				w.t.Errorf("%d: %+v", i, got)
			}
			w.poll()
			w.clk.Add(time.Hour)
		}
		b.since(w.t, "eu-1 0d4e")
		w.pollAt(day(2026, 3, 2, 2))
		b.since(w.t, "eu-1 2026-03-02 03:00")
	})
}

// Work that this process does not register needs a zone of its own; what goes with no series
// is refused.
func TestWhatARunOfAHostIsRefusedFor(t *testing.T) {
	eachWorld(t, func(w *world) {
		for want, change := range map[string]func(*automation.Candidate){
			"Zone: is not set":                              func(*automation.Candidate) {},
			"Setting: does not go with a Recurrence":        func(c *automation.Candidate) { c.Zone, c.Setting = "UTC", "other" },
			"Run: does not go with a Recurrence":            func(c *automation.Candidate) { c.Zone, c.Run = "UTC", "0d4e" },
			"ScheduledOn: ":                                 func(c *automation.Candidate) { c.Zone, c.ScheduledOn = "UTC", start },
			"ScheduledOn: does not go with a Recurrence or": func(c *automation.Candidate) { c.Recurrence, c.Run, c.ScheduledOn = nil, "0d4e", start },
			"Recurrence: ":                                  func(c *automation.Candidate) { c.Zone, c.Recurrence.Cron = "UTC", "0 3 * *" },
			"ScheduledOn: is not set, and neither are Recu": func(c *automation.Candidate) { c.Recurrence = nil },
		} {
			_, err := w.s.Ensure(w.ctx, nightly(change))
			if err == nil || !strings.Contains(err.Error(), want) {
				w.t.Errorf("%v, want %s", err, want)
			}
		}
		if got := w.ensure(nightly(func(c *automation.Candidate) { c.Zone = "UTC" }))[0]; got.Key != nightlyKey+"2026-03-02T03:00:00Z" {
			w.t.Errorf("%+v", got)
		}
	})
}

// A series leaves out the days that it is told to; one that is added later moves the row.
func TestASeriesLeavesOutDays(t *testing.T) {
	eachWorld(t, func(w *world) {
		b := &backups{}
		w.s.Handle(b.work(nil))
		leave := func(days ...int) automation.Ensured {
			return w.ensure(nightly(func(c *automation.Candidate) {
				for _, d := range days {
					c.Recurrence.Except = append(c.Recurrence.Except, date(2026, 3, d))
				}
			}))[0]
		}
		if got := leave(2, 4); got.Key != nightlyKey+"2026-03-03T02:00:00Z" {
			w.t.Errorf("%+v", got)
		}
		if got := leave(4, 2, 4); got.Outcome != storage.Unchanged {
			w.t.Errorf("%+v", got)
		}
		w.pollAt(day(2026, 3, 3, 2))
		if row := w.row(nightlyKey + "2026-03-05T02:00:00Z"); row.Status != automation.StatusPending {
			w.t.Errorf("%+v", row)
		}
		if got := leave(2, 4, 5); got.Key != nightlyKey+"2026-03-06T02:00:00Z" {
			w.t.Errorf("%+v", got)
		}
		e, err := w.s.Explain(w.ctx, "", nightlyKey+"2026-03-06T02:00:00Z")
		w.must(err)
		if !strings.Contains(e.String(), "cron 0 3 * * * but not on 2026-03-02, 2026-03-04, 2026-03-05, Europe/Berlin") {
			w.t.Error(e)
		}
		w.pollAt(day(2026, 3, 6, 3))
		b.since(w.t, "eu-1 2026-03-03 03:00", "eu-1 2026-03-06 03:00")
	})
}

// Runs of a host that an old scheduler may do as well are its own until the roll-out says
// otherwise; first those that a person asks for move on, then the series.
func TestTheRunsOfAHostUnderTheGuard(t *testing.T) {
	eachWorld(t, func(w *world) {
		b := &backups{}
		w.s.Handle(b.work(func(t *automation.WorkType) { t.Guarded = true }))
		now := automation.Candidate{AutomationType: "backup", Source: automation.Source{"server", "eu-1"}, Run: "first"}
		w.ensure(nightly(nil), now)
		w.pollAt(day(2026, 3, 2, 3))
		b.since(w.t)
		part := cutover.Part{Type: "backup"}
		move := func(to cutover.Stage) {
			_, err := w.s.Rollout().MoveRollout(w.ctx, part, to, ann, nil)
			w.must(err)
		}
		move(cutover.StageShadow)
		move(cutover.StageRunNow)
		now.Run = "second"
		w.ensure(now)
		w.runAll()
		if got := strings.Join(b.ran, ", "); strings.Contains(got, "03:00") || !strings.Contains(got, "eu-1 second") {
			w.t.Error(got)
		}
		b.ran = nil
		move(cutover.StageScheduled)
		w.pollAt(day(2026, 3, 3, 2))
		b.since(w.t, "eu-1 2026-03-03 03:00")
	})
}

// What ended long ago is deleted once its key cannot be asked for again.
func TestTheRunsOfAHostAreForgotten(t *testing.T) {
	eachWorld(t, func(w *world) {
		b := &backups{}
		w.s.Handle(b.work(func(t *automation.WorkType) { t.Retention.After = 24 * time.Hour }))
		w.ensure(nightly(nil), automation.Candidate{AutomationType: "backup", Source: automation.Source{"server", "eu-1"}, Run: "0d4e"})
		w.pollAt(day(2026, 3, 2, 2))
		w.clk.Set(day(2026, 3, 3, 3))
		w.retain()
		if got := w.statuses(); len(got) != 2 || got[nightlyKey+"2026-03-02T02:00:00Z"] != "Completed" {
			w.t.Error(got) // the occurrence could be asked for again for two days
		}
		w.clk.Set(day(2026, 3, 4, 3))
		w.retain()
		if got := w.statuses(); len(got) != 1 || got[nightlyKey+"2026-03-03T02:00:00Z"] != "Pending" {
			w.t.Error(got)
		}
	})
}
