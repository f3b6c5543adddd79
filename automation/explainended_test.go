package automation_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// What is said of an ended row is what asking for it again does.
func TestExplainSaysOfAnEndedRowWhatAskingAgainDoes(t *testing.T) {
	t.Parallel()
	const again, never = "nothing, unless it is asked for again", "nothing, and nothing if it is asked for again: "
	for name, c := range map[string]struct {
		reason automation.Reason
		at     time.Time
		want   string
		does   storage.Outcome
	}{
		"superseded":            {reasons.Superseded, day(2026, 4, 1, 10), again, storage.Reactivated},
		"superseded, long past": {reasons.Superseded, day(2026, 4, 5, 10), never + "its time, 1 April 09:00, had passed by 4 days, more than CatchUp (24 h)", causes.OffsetPassed},
		"overtaken":             {reasons.Overtaken, day(2026, 4, 1, 10), never + "what it was about is over", storage.Unchanged},
		"sent by the old job":   {reasons.SentByOldJob, day(2026, 4, 1, 10), never + "what it was about is over", storage.Unchanged},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(nil))
				w.ensure(candidate(nil))
				w.change(certificateKey, func(r *automation.ScheduleRow) { automation.EndRow(r, day(2026, 4, 1, 9), c.reason) })
				w.clk.Set(c.at)
				w.says(certificateKey, c.want)
				if got := w.ensure(candidate(nil))[0].Outcome; got != c.does {
					w.t.Errorf("asked again: %s", got)
				}
			})
		})
	}
}

func TestExplainSaysOfAnEndedOccurrenceThatItsSeriesGoesOn(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(cron("0 9 * * *"))
		w.handle(changed(1))
		p.set(cron("0 10 * * *"))
		w.handle(changed(2))
		w.says(on(day(2026, 3, 1, 9)), "nothing: its series goes on, next 2026-03-01T10:00:00Z")
		p.set()
		w.handle(changed(3))
		w.says(on(day(2026, 3, 1, 9)), "nothing, unless it is asked for again")
		w.clk.Set(day(2026, 3, 1, 12))
		w.says(on(day(2026, 3, 1, 9)), "nothing, and nothing if it is asked for again: a series makes no occurrence of the past")
	})
}

// moving is a source whose time of day moves, and nobody tells.
type moving struct {
	triggers
	sendAt string
}

func (m *moving) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	c := offsets(date(2026, 5, 1), 30)
	c[0].SendAt = m.sendAt
	return slices.Repeat([]automation.Answer{{Version: 1, Candidates: c}}, len(of)), nil
}

func TestExplainSaysWhenARowIsWantedByNow(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := &moving{sendAt: "09:00"}
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers = m }))
		w.ensure(candidate(nil))
		const waits = "it waits until 2026-04-01T09:00:00Z (in 31 days); "
		w.says(certificateKey, waits+"as things are, delivery would be queued (recipients: 1)")
		m.sendAt = "18:00"
		w.says(certificateKey, waits+"as things are, it would wait on until 2026-04-01T18:00:00Z")
		m.sendAt = "08:00"
		w.says(certificateKey, waits+"a re-plan moves it to 2026-04-01T08:00:00Z; as things are, delivery would be queued then (recipients: 1)")
		w.clk.Set(day(2026, 4, 1, 9))
		w.says(certificateKey, "it is due; as things are, delivery would be queued (recipients: 1)")
		m.sendAt = "18:00"
		w.says(certificateKey, "it is due; as things are, it would wait on until 2026-04-01T18:00:00Z")
	})
}

// What support stopped is there, and nothing becomes of it.
func TestExplainMissingSaysThatWhatWasStoppedHasEnded(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		w.do(w.s.Support().Cancel)
		w.because("certificate", causes.Ended, certificateKey+": it has ended (Ended), Cancelled, CancelledBySupport")
		p.set(offsets(date(2026, 5, 1), 30, 14)...)
		w.because("certificate", causes.NotAskedYet, certificateKey+": it has ended (Ended), Cancelled, CancelledBySupport")
	})
}

// What was asked for too late has no row, and its source remembers that it was.
func TestExplainMissingSaysOfAPastDateWhenItWasAskedFor(t *testing.T) {
	passed := candidate(func(c *automation.Candidate) { c.TargetDate, c.DaysBefore = date(2026, 2, 18), 0 })
	const key, words = "reminder:certificate:employee:7:default:2026-02-18:0", "asked on 1 March; its time, 18 February 09:00, had passed by 10 days, more than CatchUp (24 h)"
	t.Parallel()
	for name, ask := range map[string]func(w *world){
		"set": func(w *world) {
			_, err := w.s.Type("certificate").Set(w.ctx, automation.About{ID: "7", SourceType: "employee"}, passed)
			w.must(err)
		},
		"set, some days later again": func(w *world) {
			for range 3 {
				_, err := w.s.Type("certificate").Set(w.ctx, automation.About{ID: "7", SourceType: "employee"}, passed)
				w.must(err)
				w.clk.Add(24 * time.Hour)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				w := newWorld(t, store, clk, nil)
				w.s.Register(certificates(nil))
				ask(w)
				w.because("certificate", causes.OffsetPassed, key, words)
				w.says(key, "there is no row: "+words)
			})
		})
	}
	t.Run("by an event", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			p := w.withTriggers(nil)
			p.set(passed)
			w.because("certificate", causes.OffsetPassed, "its time, 18 February 09:00, had passed by 10 days")
			w.handle(changed(1))
			w.clk.Add(24 * time.Hour)
			w.because("certificate", causes.OffsetPassed, key, words)
		})
	})
	t.Run("a source remembers the last ten", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			p := w.withTriggers(nil)
			p.set(offsets(date(2026, 2, 18), 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)...)
			for version := range int64(2) { // telling it again changes nothing
				w.handle(changed(version + 1))
				got := w.missing("certificate")
				var days []string
				for _, f := range got.Findings {
					if strings.Contains(f.Detail, "asked on 1 March") {
						days = append(days, f.Key[strings.LastIndex(f.Key, ":")+1:])
					}
				}
				slices.Sort(days)
				if want := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; !slices.Equal(days, want) {
					w.t.Error(version, days, got)
				}
				w.clk.Add(24 * time.Hour)
			}
		})
	})
	t.Run("its time of day moved, and it was asked for again", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.s.Register(certificates(nil))
			for _, at := range []string{"09:00", "10:00"} {
				again := passed
				again.SendAt = at
				_, err := w.s.Type("certificate").Set(w.ctx, automation.About{ID: "7", SourceType: "employee"}, again)
				w.must(err)
				w.clk.Add(24 * time.Hour)
			}
			if got := w.missing("certificate"); len(got.Findings) != 1 {
				w.t.Error(got)
			}
			w.says(key, "there is no row: asked on 2 March; its time, 18 February 10:00, had passed by 11 days, more than CatchUp (24 h)")
		})
	})
	t.Run("with a cause of its own", func(t *testing.T) {
		each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
			settings := settingsMap{"certificate": true}
			w := newWorld(t, store, clk, &automation.Options{Settings: settings})
			p := w.withTriggers(nil)
			p.set(passed)
			w.handle(changed(1))
			settings["certificate"] = false
			w.because("certificate", causes.SettingInactive, key, words)
		})
	})
}

// A row that two candidates ask for is said once.
func TestExplainMissingSaysOfARowOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30, 30)...)
		if got := w.missing("certificate"); len(got.Findings) != 1 || got.Cause != causes.NotAskedYet {
			w.t.Error(got)
		}
	})
}
