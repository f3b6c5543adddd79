package automation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/storage"
)

// A class fills up, somebody cancels before anybody was told, and it fills up
// again: the same row, or under FalseToTrue another one.
func TestAFallEndsTheRowAndARiseBringsItBack(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		measure := func(on time.Time, version int64, reading string) automation.EventResult {
			var all []automation.Candidate
			for _, policy := range policies {
				all = append(all, line{value: "10", reading: reading}.under(policy))
			}
			m.set(all...)
			w.clk.Set(on)
			return w.handle(booked(version))
		}
		measure(day(2026, 3, 1, 9), 1, "10")
		fallen := measure(day(2026, 3, 1, 10), 2, "9.99")
		if !slices.Equal(outcomes(fallen), []storage.Outcome{causes.ThresholdNotMet, causes.ThresholdNotMet, causes.ThresholdNotMet, causes.ThresholdNotMet}) || len(fallen.Deactivated) != 4 {
			w.t.Errorf("%+v", fallen)
		}
		const gone = "Deactivated ThresholdNoLongerMet"
		keys := []string{
			thresholdKey("any:OncePerSource:source"), thresholdKey("10:OncePerThreshold:source"),
			thresholdKey("10:OncePerDay:source@2026-03-01"), thresholdKey("10:FalseToTrue:source@1"),
		}
		want := map[string]string{keys[0]: gone, keys[1]: gone, keys[2]: gone, keys[3]: gone}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		measure(day(2026, 3, 1, 11), 3, "10")
		for _, key := range keys[:3] {
			if row := w.row(key); row.Status != automation.StatusPending || !row.ScheduledOn.Equal(day(2026, 3, 1, 11)) {
				w.t.Errorf("%+v", row)
			}
		}
		if w.row(keys[3]).Status != automation.StatusDeactivated || w.row(thresholdKey("10:FalseToTrue:source@2")).Status != automation.StatusPending {
			w.t.Error(w.statuses())
		}
	})
}

// The same event again, an hour later: nothing is written, no moment moves.
func TestI2_ARepeatedReadingChangesNothing(t *testing.T) {
	for name, version := range map[string]int64{"with a version": 4, "without": 0} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				m := w.withMeter(nil)
				var all []automation.Candidate
				for _, policy := range policies {
					all = append(all, line{value: "10", reading: "10"}.under(policy), line{value: "90", reading: "10"}.under(policy))
				}
				m.set(all...)
				w.handle(booked(version))
				rows, states := w.rows(), w.conditions()
				w.clk.Add(time.Hour)
				again := w.handle(booked(version))
				for i, e := range again.Ensured {
					if want := []storage.Outcome{storage.Unchanged, causes.ThresholdNotMet}[i%2]; e.Outcome != want {
						w.t.Errorf("%d: %+v", i, e)
					}
				}
				if diff := cmp.Diff(rows, w.rows()); diff != "" || len(rows) != 4 {
					w.t.Error(diff)
				}
				if diff := cmp.Diff(states, w.conditions()); diff != "" || len(states) != 3 {
					w.t.Error(len(states), diff)
				}
			})
		})
	}
}

// A repeated event may find its source further on than it was. The rise belongs
// to the event of the newer version, and is counted once.
func TestI7_AnEqualVersionCountsNoRise(t *testing.T) {
	eachWorld(t, func(w *world) {
		m, seen := w.withMeter(nil), map[string]bool{}
		tell := func(version int64, reading string) []string {
			m.set(line{value: "10", reading: reading}.under(threshold.FalseToTrue))
			w.handle(booked(version))
			w.poll()
			return w.firings(seen)
		}
		for i, step := range []struct {
			version int64
			reading string
			fires   []string
		}{
			{1, "9", []string{}},
			{1, "11", []string{}}, // what version 2 will tell
			{2, "11", []string{"10:FalseToTrue:source@1"}},
			{3, "9", []string{}},
			{3, "11", []string{}},
			{2, "11", []string{}}, // stale
			{4, "11", []string{"10:FalseToTrue:source@2"}},
			{4, "9", []string{}},
			{4, "11", []string{}},
			{5, "12", []string{}},
		} {
			if diff := cmp.Diff(step.fires, tell(step.version, step.reading)); diff != "" {
				w.t.Errorf("step %d: %s", i+1, diff)
			}
		}
		state := w.conditions()["bookings 10 source"]
		if !state.Met || state.Rises != 2 || state.SourceVersion != 5 || state.Reading != "12" {
			w.t.Errorf("%+v", state)
		}
	})
}

func TestI7_AnOlderReadingChangesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		m.set(line{value: "10", reading: "11"}.under(threshold.FalseToTrue))
		w.handle(booked(5))
		rows, states := w.rows(), w.conditions()
		m.set(line{value: "10", reading: "9"}.under(threshold.FalseToTrue))
		if got := w.handle(booked(4)); got.Outcome != automation.EventStale {
			w.t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(rows, w.rows()) + cmp.Diff(states, w.conditions()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// Without versions the source is read behind its row, so every change counts.
func TestASourceWithoutVersionsCountsEveryChange(t *testing.T) {
	eachWorld(t, func(w *world) {
		m, seen := w.withMeter(nil), map[string]bool{}
		for i, reading := range []string{"11", "12", "9", "9", "10", "8", "13"} {
			m.set(line{value: "10", reading: reading}.under(threshold.FalseToTrue))
			w.handle(booked(0))
			w.poll()
			want := [][]string{{"10:FalseToTrue:source@1"}, {}, {}, {}, {"10:FalseToTrue:source@2"}, {}, {"10:FalseToTrue:source@3"}}[i]
			if diff := cmp.Diff(want, w.firings(seen)); diff != "" {
				w.t.Errorf("%d, %s: %s", i, reading, diff)
			}
		}
	})
}

// Two lines of OncePerSource are one row, wanted while either is met; their
// order does not matter, and a line that moves is not a conflict.
func TestTwoCandidatesUnderOneKeyAreWantedIfEitherIsMet(t *testing.T) {
	for name, turn := range map[string]func([]automation.Candidate){"in order": func([]automation.Candidate) {}, "turned": slices.Reverse[[]automation.Candidate]} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				m := w.withMeter(nil)
				tell := func(version int64, low, high, reading string) (met int, row automation.ScheduleRow) {
					c := []automation.Candidate{
						line{value: low, reading: reading}.under(threshold.OncePerSource),
						line{value: high, reading: reading, scope: "east", comparison: threshold.MoreThan}.under(threshold.OncePerSource),
					}
					turn(c)
					m.set(c...)
					for _, e := range w.handle(booked(version)).Ensured {
						if e.Outcome != causes.ThresholdNotMet {
							met++
						}
					}
					if state := w.conditions()["bookings any source"]; state.Met != (met > 0) {
						w.t.Errorf("%+v", state)
					}
					return met, w.row(thresholdKey("any:OncePerSource:source"))
				}
				if met, row := tell(1, "10", "20", "15"); met != 1 || row.Status != automation.StatusPending {
					w.t.Error(met, row.Status)
				}
				if met, row := tell(2, "11", "19", "18"); met != 1 || row.Status != automation.StatusPending || row.Version != 1 {
					w.t.Errorf("%d %+v", met, row)
				}
				if met, row := tell(3, "11", "19", "30"); met != 2 || row.Status != automation.StatusPending || row.Version != 1 {
					w.t.Errorf("%d %+v", met, row)
				}
				if met, row := tell(4, "11", "19", "1"); met != 0 || row.Status != automation.StatusDeactivated {
					w.t.Error(met, row.Status)
				}
				if states := w.conditions(); len(states) != 1 {
					w.t.Error(states)
				}
			})
		})
	}
}

// Where the key holds the value, another comparison is another input.
func TestI3_AnotherComparisonUnderTheSameKeyIsAConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		m.set(line{value: "10", reading: "11"}.under(threshold.OncePerThreshold))
		w.handle(booked(1))
		m.set(line{value: "10", reading: "11", comparison: threshold.MoreThan}.under(threshold.OncePerThreshold))
		if _, err := w.s.HandleEvent(w.ctx, booked(2)); err == nil || !w.row(thresholdKey("10:OncePerThreshold:source")).IsOnSupportHold {
			w.t.Error(err)
		}
	})
}

func TestThresholdSettingsChanges(t *testing.T) {
	settings := settingsMap{"capacity": true}
	for name, c := range map[string]struct {
		then []automation.Candidate
		off  bool
		want map[string]string
	}{
		"threshold: deactivated and made anew": {
			then: []automation.Candidate{line{value: "12", reading: "15"}.under(threshold.OncePerThreshold)},
			want: map[string]string{thresholdKey("10:OncePerThreshold:source"): "Deactivated Superseded", thresholdKey("12:OncePerThreshold:source"): "Pending"},
		},
		"threshold, not met: deactivated": {
			then: []automation.Candidate{line{value: "20", reading: "15"}.under(threshold.OncePerThreshold)},
			want: map[string]string{thresholdKey("10:OncePerThreshold:source"): "Deactivated Superseded"},
		},
		"policy: deactivated and made anew": {
			then: []automation.Candidate{line{value: "10", reading: "15"}.under(threshold.FalseToTrue)},
			want: map[string]string{thresholdKey("10:OncePerThreshold:source"): "Deactivated Superseded", thresholdKey("10:FalseToTrue:source@1"): "Pending"},
		},
		"nothing is measured any more": {
			want: map[string]string{thresholdKey("10:OncePerThreshold:source"): "Deactivated Superseded"},
		},
		"setting off: deactivated": {
			off: true, then: []automation.Candidate{line{value: "10", reading: "15"}.under(threshold.OncePerThreshold)},
			want: map[string]string{thresholdKey("10:OncePerThreshold:source"): "Deactivated ReminderSettingInactive"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
				settings := settingsMap{"capacity": settings["capacity"]}
				w := newWorld(t, store, clk, &automation.Options{Settings: settings})
				m := w.withMeter(nil)
				m.set(line{value: "10", reading: "15"}.under(threshold.OncePerThreshold))
				w.handle(booked(1))
				settings["capacity"] = !c.off
				m.set(c.then...)
				got := w.handle(booked(2))
				if diff := cmp.Diff(c.want, w.statuses()); diff != "" {
					t.Error(diff)
				}
				if c.off && !slices.Equal(outcomes(got), []storage.Outcome{causes.SettingInactive}) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// A host without events says directly what it measured.
func TestEnsureOfAThresholdThatIsNotMetEndsItsRow(t *testing.T) {
	eachWorld(t, func(w *world) {
		of := func(class, reading string, policy threshold.FiringPolicy) automation.Candidate {
			c := line{value: "10", reading: reading}.under(policy)
			c.Type, c.Source, c.Zone = "capacity", automation.Source{"class", class}, "UTC"
			return c
		}
		say := func(reading string, want ...storage.Outcome) []automation.Ensured {
			w.t.Helper()
			got := w.ensure(of("7", reading, threshold.FalseToTrue), of("7", reading, threshold.OncePerDay), of("8", "11", threshold.OncePerThreshold))
			var all []storage.Outcome
			for _, e := range got {
				all = append(all, e.Outcome)
			}
			if diff := cmp.Diff(want, all); diff != "" {
				w.t.Error(diff)
			}
			return got
		}
		say("9", causes.ThresholdNotMet, causes.ThresholdNotMet, storage.Created)
		first := say("10", storage.Created, storage.Created, storage.Unchanged)
		w.clk.Add(time.Minute)
		if again := say("10", storage.Unchanged, storage.Unchanged, storage.Unchanged); !again[0].ScheduledOn.Equal(first[0].ScheduledOn) {
			w.t.Errorf("%+v", again)
		}
		say("9", causes.ThresholdNotMet, causes.ThresholdNotMet, storage.Unchanged)
		say("10", storage.Created, storage.Reactivated, storage.Unchanged)
		want := map[string]string{
			thresholdKey("10:FalseToTrue:source@1"): "Deactivated ThresholdNoLongerMet", thresholdKey("10:FalseToTrue:source@2"): "Pending",
			thresholdKey("10:OncePerDay:source@2026-03-01"):                                      "Pending ThresholdNoLongerMet",
			strings.Replace(thresholdKey("10:OncePerThreshold:source"), "class:7", "class:8", 1): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
	})
}

// Two tenants with the same class have nothing to do with each other.
func TestI28_TenantsCountTheirOwnRises(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		tell := func(scope automation.Scope, version int64, reading string) automation.EventResult {
			m.set(line{value: "10", reading: reading}.under(threshold.FalseToTrue))
			e := booked(version)
			e.Scope = scope
			return w.handle(e)
		}
		tell("north", 1, "11")
		tell("south", 1, "11")
		tell("north", 2, "9")
		if south := w.rowIn("south", thresholdKey("10:FalseToTrue:source@1")); south.Status != automation.StatusPending {
			w.t.Errorf("%+v", south)
		}
		tell("north", 3, "11")
		if got := tell("south", 3, "12"); got.Ensured[0].Key != thresholdKey("10:FalseToTrue:source@1") {
			w.t.Errorf("%+v", got)
		}
		if north := w.rowIn("north", thresholdKey("10:FalseToTrue:source@2")); north.Status != automation.StatusPending {
			w.t.Errorf("%+v", north)
		}
	})
}

func TestABadThresholdIsNamedAndNothingIsWritten(t *testing.T) {
	eachWorld(t, func(w *world) {
		good := line{value: "10", reading: "11"}.under(threshold.OncePerThreshold)
		good.Type, good.Source = "capacity", automation.Source{"class", "7"}
		for want, change := range map[string]func(*automation.Candidate, *threshold.Threshold){
			"TargetDate: is not for candidates with a Threshold":             func(c *automation.Candidate, _ *threshold.Threshold) { c.TargetDate = date(2026, 5, 1) },
			"DaysBefore: is not for candidates with a Threshold":             func(c *automation.Candidate, _ *threshold.Threshold) { c.DaysBefore = 1 },
			"SendAt: is not for candidates with a Threshold":                 func(c *automation.Candidate, _ *threshold.Threshold) { c.SendAt = "09:00" },
			"ScheduledOn: is not for candidates with a Threshold":            func(c *automation.Candidate, _ *threshold.Threshold) { c.ScheduledOn = start },
			`Threshold.Comparison: "About" is not one of`:                    func(_ *automation.Candidate, t *threshold.Threshold) { t.Comparison = "About" },
			`Threshold.Value: keys: decimal "much": is not a decimal number`: func(_ *automation.Candidate, t *threshold.Threshold) { t.Value = "much" },
			"Threshold.Reading: keys: decimal: is empty":                     func(_ *automation.Candidate, t *threshold.Threshold) { t.Reading = "" },
			"metricKey: is empty":                                            func(_ *automation.Candidate, t *threshold.Threshold) { t.Metric = "" },
			"scope: holds '@' at byte 1":                                     func(_ *automation.Candidate, t *threshold.Threshold) { t.Scope = "a@1" },
			`firingPolicy "Often": is not one of`:                            func(_ *automation.Candidate, t *threshold.Threshold) { t.Policy = "Often" },
			"Zone: is not set":                                               func(_ *automation.Candidate, t *threshold.Threshold) { t.Policy = threshold.OncePerDay },
			"scope: has 190 bytes, more than": func(_ *automation.Candidate, t *threshold.Threshold) {
				t.Policy, t.Scope = threshold.FalseToTrue, strings.Repeat("s", 190)
			},
			"Threshold: is for reminders; a host's type": func(c *automation.Candidate, _ *threshold.Threshold) {
				c.AutomationType, c.Type, c.ScheduledOn = "export", "", start
			},
			"source: holds ':' at byte 1": func(c *automation.Candidate, _ *threshold.Threshold) { c.Source.ID = "7:8" },
		} {
			bad, changed := good, *good.Threshold
			change(&bad, &changed)
			bad.Threshold = &changed
			_, err := w.s.Ensure(w.ctx, good, bad)
			var refused *automation.CandidateError
			if !errors.As(err, &refused) || refused.Index != 1 || !strings.Contains(err.Error(), want) {
				w.t.Errorf("%v, want %q", err, want)
			}
		}
		if len(w.rows())+len(w.conditions()) != 0 {
			w.t.Error("half-written")
		}
	})
}

// The host's transaction is rolled back: the rise was none.
func TestARiseThatIsRolledBackIsNotCounted(t *testing.T) {
	eachWorld(t, func(w *world) {
		m := w.withMeter(nil)
		m.set(line{value: "10", reading: "11"}.under(threshold.FalseToTrue))
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			if got, err := w.s.WithTx(tx).HandleEvent(w.ctx, booked(1)); err != nil || got.Ensured[0].Outcome != storage.Created {
				w.t.Errorf("%+v %v", got, err)
			}
			return errBoom
		})
		if !errors.Is(err, errBoom) || len(w.conditions())+len(w.rows()) != 0 {
			w.t.Errorf("%v %v", err, w.conditions())
		}
		w.handle(booked(1))
		if w.conditions()["bookings 10 source"].Rises != 1 || len(w.rows()) != 1 {
			w.t.Error(w.statuses())
		}
	})
}
