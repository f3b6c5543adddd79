package settings_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Nobody tells of the sources again: what is saved reaches their rows all the same.

func (w *world) drain() {
	w.Helper()
	if err := w.poller.Drain(w.ctx); err != nil {
		w.Fatal(err)
	}
}

func TestASavedOffsetReachesTheRowsWithoutAnEvent(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		setting.Offsets = []int{early, 14}
		w.save(setting)
		w.drain()
		w.mustBe(completed, map[string]string{
			key("2026-05-01", late): "Deactivated Superseded", key("2026-05-01", 14): "Pending",
		})
		if row := w.row(key("2026-05-01", 14)); !row.ScheduledOn.Equal(at(4, 17, 9)) || row.EventType != automation.EventReplan {
			w.Errorf("%+v", row)
		}
	})
}

func TestASavedZoneAndCalendarMoveTheRowsWithoutAnEvent(t *testing.T) {
	eachWorld(t, func(w *world) {
		office := w.saveUnit(unit("office", "Europe/Dublin"))
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "office"}}
		w.save(expiry(nil))
		w.changeReachesSources()
		w.drain()
		office.Zone = "America/New_York"
		office = w.saveUnit(office)
		w.drain()
		if row := w.row(key("2026-05-01", late)); !row.ScheduledOn.Equal(at(4, 24, 13)) || row.TimeZone != "America/New_York" {
			w.Errorf("%+v", row)
		}
		office.Calendar = settings.Calendar{Shift: settings.ShiftNext, Holidays: []automation.Date{{Year: 2026, Month: 4, Day: 24}}}
		w.saveUnit(office)
		w.drain()
		if row := w.row(key("2026-05-01", late)); !row.ScheduledOn.Equal(at(4, 25, 13)) {
			w.Errorf("%+v", row)
		}
	})
}

// Rows in shadow are not walked. What was saved meanwhile reaches them when they are
// handed over.
func TestWhatIsSavedInShadowReachesWhatIsHandedOver(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.reminders.Register(automation.ReminderType{
			Name: "guarded", SendAt: "09:00", Zone: "UTC", Guarded: true,
			Triggers:   w.settings.Triggers("guarded", w.load, "guarded-changed"),
			Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
		})
		office := w.saveUnit(unit("office", "Europe/Dublin"))
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "office"}}
		w.save(expiry(func(r *settings.ReminderSetting) { r.Type = "guarded" }))
		_, err := w.reminders.HandleEvent(w.ctx, automation.Event{Type: "guarded-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: 1})
		if err != nil {
			w.Fatal(err)
		}
		w.drain()
		office.Zone = "America/New_York"
		w.saveUnit(office)
		w.drain()
		for _, stage := range []cutover.Stage{cutover.StageShadow, cutover.StageRunNow, cutover.StageScheduled} {
			by := automation.By{Actor: "ann", Reason: "hand-over"}
			if _, err := w.reminders.Rollout().MoveRollout(w.ctx, cutover.Part{Type: "guarded"}, stage, by, nil); err != nil {
				w.Fatal(err)
			}
		}
		w.drain()
		if row := w.row(key("2026-05-01", late)); row.Status != automation.StatusPending || !row.ScheduledOn.Equal(at(4, 24, 13)) {
			w.Errorf("%+v", row)
		}
	})
}

// A re-plan knows the row, and so whom it is about: the rows that it moves and makes are
// about the same person.
func TestAReplanKeepsWhomAWishIsAbout(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.targets = []settings.Target{{Date: firstOfMay, Person: "sam"}}
		setting := w.save(expiry(nil))
		w.changeReachesSources()
		setting.Offsets, setting.SendAt = []int{early, 14}, "10:00"
		w.save(setting)
		w.drain()
		for _, days := range []int{early, 14} {
			if row := w.row(key("2026-05-01", days)); row.Person != "sam" || row.Status != automation.StatusPending {
				w.Errorf("%d days: %+v", days, row)
			}
		}
	})
}

// A row that stands for more than the setting knows is planned again like any other: the
// source says what it stands for.
func TestARowWithAnIdentityIsReplannedAsItsSourceSays(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.targets = []settings.Target{{Date: firstOfMay, Identity: map[string]string{"number": "4711"}}}
		setting := w.save(expiry(nil))
		w.changeReachesSources()
		setting.Offsets, setting.SendAt = []int{early, 14}, "10:00"
		w.save(setting)
		w.drain()
		all := []string{key("2026-05-01", early), key("2026-05-01", late), key("2026-05-01", 14)}
		want := map[string]string{all[0]: "Pending", all[1]: "Deactivated Superseded", all[2]: "Pending"}
		if diff := cmp.Diff(want, w.statuses(all...)); diff != "" {
			w.Error(diff)
		}
		if row := w.row(all[0]); !row.ScheduledOn.Equal(at(4, 1, 10)) || row.IsOnSupportHold {
			w.Errorf("%+v", row)
		}
		if got := w.changeReachesSources(); got.Ensured[1].Outcome != storage.Unchanged {
			w.Errorf("an event asks for another identity: %+v", got.Ensured)
		}
	})
}

// What no row depends on marks nothing, nor does what is saved as it was.
func TestOnlyWhatRowsDependOnIsPlannedAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.targets = []settings.Target{{Date: firstOfMay}}
		setting := w.save(expiry(nil))
		w.drain()
		replans, err := w.reminders.Maintenance().Replans(w.ctx, "")
		if err != nil || len(replans) != 1 || !replans[0].Done || replans[0].Setting != "" || replans[0].Type != "certificate" {
			w.Fatalf("%+v %v", replans, err)
		}
		w.clk.Add(time.Hour)
		setting.Template, setting.Channels, setting.Name = "friendly", []string{"sms:print"}, "Other words"
		setting = w.save(setting)
		w.save(setting)
		again, err := w.reminders.Maintenance().Replans(w.ctx, "")
		if diff := cmp.Diff(replans, again); diff != "" || err != nil {
			w.Error(diff, err)
		}
	})
}

// The moment comes before the re-plan does: what was asked for then goes to nobody.
func TestADueRowIsComparedWithItsSettingOfNow(t *testing.T) {
	for name, change := range map[string]func(*settings.ReminderSetting){
		"offset": func(r *settings.ReminderSetting) { r.Offsets = []int{early, 5} },
		"unit":   func(r *settings.ReminderSetting) { r.BusinessUnit = "office" },
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				setting, completed := w.settle()
				w.saveUnit(unit("office", "UTC"))
				change(&setting)
				w.save(setting)
				if sent := w.pollAt(at(4, 24, 9)); len(sent) != 0 {
					w.Errorf("%q went out", sent)
				}
				want := map[string]string{key("2026-05-01", late): "Deactivated Superseded"}
				if name == "offset" {
					want = map[string]string{key("2026-05-01", late): "Deactivated InputChanged", key("2026-05-01", 5): "Pending"}
				}
				w.mustBe(completed, want)
			})
		})
	}
	t.Run("time of sending", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			setting, _ := w.settle()
			setting.SendAt = "17:30"
			w.save(setting)
			if sent := w.pollAt(at(4, 24, 9)); len(sent) != 0 {
				w.Errorf("%q at the old time", sent)
			}
			if sent := w.pollAt(at(4, 24, 18)); len(sent) != 1 {
				w.Errorf("%q at the new time", sent)
			}
		})
	})
	t.Run("threshold", func(t *testing.T) {
		eachWorld(t, func(w *world) {
			w.targets = []settings.Target{{Readings: []settings.Reading{{Metric: "occupancy", Value: "95"}}}}
			setting := w.save(expiry(func(r *settings.ReminderSetting) {
				r.Thresholds = []settings.Threshold{{Metric: "occupancy", Comparison: threshold.AtLeast, Value: "90", Policy: threshold.OncePerThreshold}}
			}))
			w.changeReachesSources()
			setting.Thresholds[0].Value = "99"
			w.save(setting)
			if sent := w.pollAt(w.clk.Now()); len(sent) != 0 {
				w.Errorf("%q of a threshold that nobody wants", sent)
			}
		})
	})
}

// afterwards does something once a provider has read the settings.
type afterwards struct {
	automation.TriggerProvider
	do func()
}

func (p *afterwards) Wanted(ctx context.Context, of []automation.Request) ([]automation.Answer, error) {
	a, err := p.TriggerProvider.Wanted(ctx, of)
	if do := p.do; do != nil {
		p.do = nil
		do()
	}
	return a, err
}

// The setting changes between what the provider has read and what the event writes.
func TestAnEventThatWasPlannedWithAnOlderSettingUndoesNoNewerOne(t *testing.T) {
	for name, replanned := range map[string]bool{"re-planned meanwhile": true, "not yet": false} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				p := &afterwards{TriggerProvider: w.settings.Triggers("other", w.load, "other-changed")}
				w.reminders.Register(automation.ReminderType{
					Name: "other", SendAt: "09:00", Zone: "UTC", Triggers: p,
					Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
				})
				w.targets = []settings.Target{{Date: firstOfMay}}
				setting := w.save(expiry(func(r *settings.ReminderSetting) { r.Type, r.Offsets = "other", []int{early} }))
				tell := func(version int64) {
					_, err := w.reminders.HandleEvent(w.ctx, automation.Event{
						Type: "other-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: version,
					})
					if err != nil {
						w.Fatal(err)
					}
				}
				tell(1)
				w.drain()
				p.do = func() {
					setting.Offsets = []int{14}
					w.save(setting)
					if replanned {
						w.drain()
					}
				}
				tell(2)
				want := map[string]string{key("2026-05-01", early): "Deactivated Superseded", key("2026-05-01", 14): "Pending"}
				if diff := cmp.Diff(want, w.statuses(key("2026-05-01", early), key("2026-05-01", 14))); diff != "" {
					w.Error(diff)
				}
				w.drain()
				if diff := cmp.Diff(want, w.statuses(key("2026-05-01", early), key("2026-05-01", 14))); diff != "" {
					w.Error(diff)
				}
			})
		})
	}
}

// The answer is what the re-plan then does, and nothing is written for it.
func TestAChangeSaysHowManyRowsWillChange(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		change := func(set *settings.Settings, reminders *automation.Scheduler) (automation.ReconcileReport, error) {
			return set.Change(w.ctx, reminders, func(bound *settings.Settings) error {
				other := setting
				other.Offsets = []int{early, 14}
				_, err := bound.SaveReminder(w.ctx, other)
				return err
			})
		}
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			_, err := change(w.settings.WithTx(tx), w.reminders.WithTx(tx))
			return errors.Join(err, errBoom)
		})
		if now, _ := w.settings.Reminder(w.ctx, "", "expiry"); !errors.Is(err, errBoom) || len(now.Offsets) != 2 || now.Offsets[1] != late {
			w.Fatal(err, now)
		}
		got, err := change(w.settings, w.reminders)
		if err != nil || got.Created != 1 || got.Deactivated != 1 || got.Scanned != 1 || got.More || len(got.Differences) != 2 {
			w.Fatalf("%+v %v", got, err)
		}
		w.mustBe(completed, map[string]string{key("2026-05-01", late): "Pending"})
		w.drain()
		w.mustBe(completed, map[string]string{
			key("2026-05-01", late): "Deactivated Superseded", key("2026-05-01", 14): "Pending",
		})
	})
}

// It stops after a thousand sources, and says so.
func TestAChangeStopsCounting(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.targets, w.all = []settings.Target{{Date: firstOfMay}}, true
		setting := w.save(expiry(nil))
		var all []automation.Candidate
		for i := range 1300 {
			for _, c := range setting.Candidates(w.targets[0]) {
				c.Source = automation.Source{Type: "employee", ID: fmt.Sprint(i)}
				all = append(all, c)
			}
		}
		if _, err := w.reminders.Ensure(w.ctx, all...); err != nil {
			w.Fatal(err)
		}
		got, err := w.settings.Change(w.ctx, w.reminders, func(bound *settings.Settings) error {
			setting.Offsets = []int{30}
			_, err := bound.SaveReminder(w.ctx, setting)
			return err
		})
		if err != nil || !got.More || got.Scanned < 1000 || got.Scanned > 1200 || got.Deactivated != got.Scanned {
			w.Errorf("%d scanned, %d deactivated, %v %v", got.Scanned, got.Deactivated, got.More, err)
		}
		w.drain()
		again, err := w.settings.Change(w.ctx, w.reminders, func(bound *settings.Settings) error {
			setting, _ = bound.Reminder(w.ctx, "", "expiry")
			setting.Offsets = []int{30, 29}
			_, err := bound.SaveReminder(w.ctx, setting)
			return err
		})
		if err != nil || again.Deactivated != 0 || again.Created != again.Scanned {
			w.Errorf("%+v %v", again, err)
		}
	})
}
