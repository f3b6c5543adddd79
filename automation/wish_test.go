package automation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// spoken is what a call of Set is about.
type spoken struct {
	automation.About
	Scope automation.Scope
	Type  string
}

func (a spoken) by(s *automation.Scheduler) automation.Reminders { return s.Type(a.Type).For(a.Scope) }

// ofSam is what the stories speak of.
var ofSam = spoken{About: automation.About{ID: "7", SourceType: "employee"}, Type: "certificate"}

func (w *world) wish(about spoken, wishes ...automation.Candidate) automation.EventResult {
	w.t.Helper()
	out, err := about.by(w.s).Set(w.ctx, about.About, wishes...)
	w.must(unlessStale(out, err))
	return out
}

// ended are the keys that a call has ended, in order.
func ended(r automation.EventResult) (out []string) {
	for _, d := range r.Deactivated {
		out = append(out, d.Key+" "+string(d.Reason))
	}
	slices.Sort(out)
	return out
}

// A certificate's date moves twice, and the host says no more than what it is now.
func TestSayItAgainAndTheOldOneEnds(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		may := offsets(date(2026, 5, 1), 30, 7)
		if got := w.wish(ofSam, may...); !slices.Equal(outcomes(got), []storage.Outcome{storage.Created, storage.Created}) || got.Outcome != automation.EventApplied || len(got.Deactivated) > 0 {
			w.t.Errorf("%+v", got)
		}
		before := w.rows()
		if got := w.wish(ofSam, may...); !slices.Equal(outcomes(got), []storage.Outcome{storage.Unchanged, storage.Unchanged}) || len(got.Deactivated) > 0 {
			w.t.Errorf("%+v", got)
		}
		if got := w.ensure(candidate(nil))[0]; got.Outcome != storage.Unchanged {
			w.t.Errorf("not the key that Ensure has: %+v", got)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error("said again, and written:", diff)
		}
		w.pollAt(day(2026, 4, 1, 9)) // 30 days before the first of May
		june := date(2026, 6, 1)
		if got := ended(w.wish(ofSam, offsets(june, 30, 7)...)); !slices.Equal(got, []string{key("2026-05-01", "7") + " Superseded"}) {
			w.t.Error(got)
		}
		want := map[string]string{
			certificateKey: "Completed", key("2026-05-01", "7"): "Deactivated Superseded", key("2026-06-01", "30"): "Pending", key("2026-06-01", "7"): "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if row := w.row(key("2026-05-01", "7")); row.EventType != "" {
			w.t.Errorf("%+v", row)
		}
		got, err := ofSam.by(w.s).Clear(w.ctx, ofSam.About)
		w.must(err)
		if len(got.Deactivated) != 2 || len(got.Ensured) != 0 {
			w.t.Errorf("%+v", got)
		}
		if got := w.wish(ofSam, offsets(june, 30, 7)...); !slices.Equal(outcomes(got), []storage.Outcome{storage.Reactivated, storage.Reactivated}) {
			w.t.Errorf("%+v", got)
		}
	})
}

// All kinds of wishes in one call: dates, instants, conditions and series. Each ends when
// it is said no more, and goes on when it is.
func TestWishesOfEveryKind(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		full := func(reading string) automation.Candidate {
			return automation.Candidate{Threshold: &threshold.Threshold{Metric: "occupancy", Value: "0.9", Reading: reading}}
		}
		weekly := automation.Candidate{Recurrence: &automation.Recurrence{Cron: "0 9 * * MON"}}
		one := offsets(date(2026, 5, 1), 30)[0]
		w.wish(ofSam, one, hoursTo(lesson, time.Hour)[0], full("0.95"), weekly)
		threshold := "reminder:certificate:employee:7:default:threshold:occupancy:0.9:OncePerThreshold:source"
		want := map[string]string{certificateKey: "Pending", instantKey(lesson, "1h"): "Pending", threshold: "Pending", on(day(2026, 3, 2, 9)): "Pending"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		got := w.wish(ofSam, hoursTo(lesson, time.Hour)[0], full("0.5"), weekly)
		if want := []string{certificateKey + " Superseded", threshold + " ThresholdNoLongerMet"}; !slices.Equal(ended(got), want) {
			w.t.Error(ended(got))
		}
		if !slices.Equal(outcomes(got), []storage.Outcome{storage.Unchanged, causes.ThresholdNotMet, storage.Unchanged}) {
			w.t.Errorf("%+v", got)
		}
		w.wish(ofSam)
		w.pollAt(day(2026, 3, 20, 9))
		if got := w.out.dispatched(); len(got) > 0 || len(w.lost()) > 0 {
			w.t.Error(got, w.lost())
		}
	})
}

// A call speaks of one setting of one source in one scope, and of nothing else.
func TestSetSpeaksOfNothingElse(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.s.Register(certificates(func(t *automation.ReminderType) { t.Name = "other" }))
		others := []spoken{ofSam, ofSam, ofSam, ofSam}
		others[0].Scope, others[1].ID, others[2].Type, others[3].Setting = "tenant", "8", "other", "second"
		for _, about := range append(others, ofSam) {
			w.wish(about, offsets(date(2026, 5, 1), 30)...)
		}
		w.wish(ofSam)
		want := map[string]string{
			certificateKey: "Deactivated Superseded",
			"reminder:certificate:employee:8:default:2026-05-01:30": "Pending",
			"reminder:other:employee:7:default:2026-05-01:30":       "Pending",
			"reminder:second:employee:7:default:2026-05-01:30":      "Pending",
		}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			w.t.Error(diff)
		}
		if row := w.rowIn("tenant", certificateKey); row.Status != automation.StatusPending {
			w.t.Errorf("%+v", row)
		}
		if got := ended(w.wish(others[3])); !slices.Equal(got, []string{"reminder:second:employee:7:default:2026-05-01:30 Superseded"}) {
			w.t.Error(got)
		}
	})
}

// What is said with an older version than the source has shown, by an event or by Set,
// changes nothing.
func TestSetIsOrderedByVersions(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(3))
		at := func(version int64) spoken {
			about := ofSam
			about.Version = version
			return about
		}
		before := w.rows()
		if got := w.wish(at(2), offsets(date(2026, 6, 1), 30)...); got.Outcome != automation.EventStale || got.SourceVersion != 3 || len(got.Ensured) > 0 {
			w.t.Errorf("%+v", got)
		}
		if diff := cmp.Diff(before, w.rows()); diff != "" {
			w.t.Error(diff)
		}
		if got := w.wish(at(4), offsets(date(2026, 6, 1), 30)...); got.Outcome != automation.EventApplied || len(got.Deactivated) != 1 {
			w.t.Errorf("%+v", got)
		}
		if got := w.wish(ofSam, offsets(date(2026, 7, 1), 30)...); got.Outcome != automation.EventApplied || got.SourceVersion != 4 {
			w.t.Errorf("without a version: %+v", got)
		}
		missing, err := w.s.ExplainMissing(w.ctx, "", "certificate", automation.Source{"employee", "7"})
		w.must(err)
		if missing.LastEvent != "certificate-changed e3" {
			w.t.Error(missing)
		}
	})
}

// In a transaction of the host, wishes commit or vanish with it.
func TestSetInAHostsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.s.Register(certificates(nil))
		w.wish(ofSam, offsets(date(2026, 5, 1), 30)...)
		for _, fail := range []error{errBoom, nil} {
			err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
				_, err := ofSam.by(w.s).In(tx).Set(w.ctx, ofSam.About, offsets(date(2026, 6, 1), 30)...)
				w.must(err)
				return fail
			})
			if !errors.Is(err, fail) {
				w.t.Fatal(err)
			}
			want := map[string]string{certificateKey: "Pending"}
			if fail == nil {
				want = map[string]string{certificateKey: "Deactivated Superseded", key("2026-06-01", "30"): "Pending"}
			}
			if diff := cmp.Diff(want, w.statuses()); diff != "" {
				w.t.Error(diff)
			}
		}
	})
}

// What cannot be said is refused, and nothing is written.
func TestWhatSetRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		about func(*spoken)
		wish  func(*automation.Candidate)
		want  string
	}{
		"no type":          {func(a *spoken) { a.Type = "" }, nil, "Type"},
		"no source":        {func(a *spoken) { a.ID = "" }, nil, "About: ID: "},
		"a source type":    {func(a *spoken) { a.SourceType = "a:b" }, nil, "About: SourceType: "},
		"a setting":        {func(a *spoken) { a.Setting = "a\x1f" }, nil, "About: Setting: "},
		"no source type":   {func(a *spoken) { a.Type, a.SourceType = "lesson", "" }, nil, `About: SourceType is required, since the type "lesson" is not registered in this process (registered: `},
		"a scope":          {func(a *spoken) { a.Scope = "a\x1f" }, nil, "Scope"},
		"a version":        {func(a *spoken) { a.Version = -1 }, nil, "negative Version"},
		"another setting":  {nil, func(c *automation.Candidate) { c.Setting = "second" }, "Setting"},
		"another source":   {nil, func(c *automation.Candidate) { c.Source = automation.Source{"employee", "8"} }, "source"},
		"another scope":    {nil, func(c *automation.Candidate) { c.Scope = "tenant" }, "scope"},
		"another type":     {nil, func(c *automation.Candidate) { c.Type = "other" }, "type"},
		"a type of a host": {nil, func(c *automation.Candidate) { c.AutomationType = "backup" }, "type"},
		"no date":          {nil, func(c *automation.Candidate) { c.TargetDate = automation.Date{} }, "TargetDate"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.s.Register(certificates(nil))
				w.wish(ofSam, offsets(date(2026, 5, 1), 30)...)
				about, wish := ofSam, offsets(date(2026, 6, 1), 30)[0]
				if c.about != nil {
					c.about(&about)
				}
				if c.wish != nil {
					c.wish(&wish)
				}
				got, err := about.by(w.s).Set(w.ctx, about.About, offsets(date(2026, 6, 1), 7)[0], wish)
				if err == nil || !strings.Contains(err.Error(), c.want) || got.Outcome != "" {
					w.t.Errorf("%+v, %v", got, err)
				}
				if c.wish == nil { // what refuses a Set refuses a Clear
					if _, err := about.by(w.s).Clear(w.ctx, about.About); err == nil || !strings.Contains(err.Error(), c.want) {
						w.t.Error(err)
					}
				}
				if diff := cmp.Diff(map[string]string{certificateKey: "Pending"}, w.statuses()); diff != "" {
					w.t.Error(diff)
				}
			})
		})
	}
}

// The entity of a type is said once: by the type, or by its Scan.
func TestTheSourceTypeOfATypeIsThatOfItsScan(t *testing.T) {
	eachWorld(t, func(w *world) {
		scan := &automation.Scan{SourceType: "employee", Window: 1, Scopes: []automation.Scope{""}, Read: func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
			return automation.ScanPage{Done: true}, nil
		}}
		p := &triggers{}
		got, err := w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers, t.Scan = p, scan })).Set(w.ctx, automation.About{ID: "7"}, automation.DaysBefore(date(2026, 5, 1), 30))
		if err != nil || got.Ensured[0].Key != certificateKey {
			w.t.Error(got, err)
		}
		defer func() {
			if said := fmt.Sprint(recover()); !strings.Contains(said, `its SourceType is "person", and that of its Scan "employee"`) {
				w.t.Error(said)
			}
		}()
		w.s.Register(certificates(func(t *automation.ReminderType) {
			t.Name, t.Triggers, t.Scan, t.SourceType = "other", p, scan, "person"
		}))
	})
}

// A setting that is off, a conflict, what support holds and what it asked for again are
// as with an event.
func TestSetDoesAsAnEventWould(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		settings := settingsMap{"certificate": true}
		w := newWorld(t, store, clk, &automation.Options{Settings: settings})
		w.s.Register(certificates(nil))
		about := ofSam
		wishes := offsets(date(2026, 5, 1), 30, 7)
		w.wish(about, wishes...)
		w.pollAt(day(2026, 4, 1, 9))
		w.rerun(certificateKey)
		wishes[1].Identity = map[string]string{"course": "level 3"}
		got, err := about.by(w.s).Set(w.ctx, about.About, wishes...)
		if err == nil || got.Ensured[1].Outcome != storage.Conflict || len(got.Deactivated) > 0 {
			t.Errorf("%+v, %v", got, err)
		}
		want := map[string]string{certificateKey: "Completed", rerunKey("1"): "Pending", key("2026-05-01", "7"): "Pending held InputConflict"}
		if diff := cmp.Diff(want, w.statuses()); diff != "" {
			t.Error(diff)
		}
		settings["certificate"] = false
		got = w.wish(about, wishes...)
		if !slices.Equal(outcomes(got), []storage.Outcome{causes.SettingInactive, causes.SettingInactive}) {
			t.Errorf("%+v", got)
		}
		if row := w.row(key("2026-05-01", "7")); row.ReasonCode != reasons.ReminderSettingInactive {
			t.Errorf("%+v", row)
		}
	})
}

// About says once what is the same for all reminders of a source, and the type what the
// source is.
func TestAboutIsForAllCandidates(t *testing.T) {
	eachWorld(t, func(w *world) {
		certificates := w.s.Register(certificates(func(t *automation.ReminderType) { t.SourceType = "employee" }))
		about := automation.About{ID: "7", Person: "sam", BusinessUnit: "north"}
		may := date(2026, 5, 1)
		own := automation.DaysAfter(may, 2)
		own.Person, own.BusinessUnit = "ada", "south"
		_, err := certificates.Set(w.ctx, about, automation.DaysBefore(may, 30), own)
		w.must(err)
		if row := w.row(certificateKey); row.Person != "sam" || row.BusinessUnit != "north" {
			w.t.Errorf("%+v", row)
		}
		if row := w.row(key("2026-05-01", "-2")); row.Person != "ada" || row.BusinessUnit != "south" {
			w.t.Errorf("%+v", row)
		}
		weekly := automation.Cron("0 9 * * MON")
		weekly.Zone = "UTC"
		got, err := w.s.Type("lesson").Set(w.ctx, automation.About{ID: "1", SourceType: "lesson"}, automation.Before(lesson, time.Hour), weekly)
		w.must(err)
		for i, rest := range []string{"instant:", "recurring:"} { // a type that this process does not have
			if key := got.Ensured[i].Key; !strings.HasPrefix(key, "reminder:lesson:lesson:1:default:"+rest) || w.row(key).Status != automation.StatusPending {
				w.t.Error(key)
			}
		}
	})
}

// The host says in its own words why reminders end; a row that comes back says it no longer.
func TestAnEndHasTheWordsOfTheHost(t *testing.T) {
	t.Parallel()
	const renewed = "renewed on 8 April until 2028-05-02"
	for name, end := range map[string]func(w *world, p *triggers){
		"set": func(w *world, _ *triggers) {
			about := ofSam
			about.Because = renewed
			w.wish(about, offsets(date(2028, 5, 2), 30)...)
		},
		"clear": func(w *world, _ *triggers) {
			about := ofSam
			about.Because = renewed
			_, err := about.by(w.s).Clear(w.ctx, about.About)
			w.must(err)
		},
		"an event": func(w *world, p *triggers) {
			p.set()
			e := changed(1)
			e.Because = renewed
			w.handle(e)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				p := w.withTriggers(nil)
				w.wish(ofSam, offsets(date(2026, 5, 1), 30)...)
				end(w, p)
				row := w.row(certificateKey)
				if row.Status != automation.StatusDeactivated || row.ReasonCode != reasons.Superseded || row.EndedBecause != renewed {
					w.t.Errorf("%+v", row)
				}
				e, err := w.s.Explain(w.ctx, "", certificateKey)
				w.must(err)
				if !strings.Contains(e.String(), "(Superseded): "+renewed) || e.Schedule.EndedBecause != renewed {
					w.t.Error(e)
				}
				w.wish(ofSam, offsets(date(2026, 5, 1), 30)...)
				if row := w.row(certificateKey); row.Status != automation.StatusPending || row.EndedBecause != "" {
					w.t.Errorf("%+v", row)
				}
			})
		})
	}
	t.Run("at length", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.s.Register(certificates(nil))
			w.wish(ofSam, offsets(date(2026, 5, 1), 30)...)
			about := ofSam
			about.Because = strings.Repeat("é", 400) + "\xff\x00"
			w.wish(about)
			if got := w.row(certificateKey).EndedBecause; len(got) > 500 || !utf8.ValidString(got) || !strings.HasPrefix(about.Because, strings.TrimRight(got, "…. ")) {
				w.t.Errorf("%d %q", len(got), got)
			}
		})
	})
}
