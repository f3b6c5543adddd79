package settings_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/storage"
)

var errBoom = errors.New("boom")

// On a store with one writer a source that began a transaction of its own would
// wait for the event's for ever.
func TestAnEventWithoutVersionsReadsSettingsInsideItsTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.version = 0
		w.saveUnit(unit("office", "Europe/Dublin"))
		w.save(expiry(nil))
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "office"}}
		w.changeReachesSources()
		if row := w.row(key("2026-05-01", late)); !row.ScheduledOn.Equal(at(4, 24, 8)) {
			w.Errorf("%+v", row)
		}
	})
}

// A host saves a setting, tells of a source and looks at the outcome in one
// transaction: the event sees the setting, and both vanish together.
func TestABoundSchedulerSeesWhatItsTransactionHasSaved(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.targets = []settings.Target{{Date: firstOfMay}}
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			if _, err := w.settings.WithTx(tx).SaveReminder(w.ctx, expiry(nil)); err != nil {
				w.Error(err)
			}
			bound := w.reminders.WithTx(tx)
			got, err := bound.HandleEvent(w.ctx, automation.Event{
				Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: 1,
			})
			if err != nil || len(got.Ensured) != 2 || got.Ensured[0].Outcome != storage.Created {
				w.Errorf("%+v %v", got, err)
			}
			if e, err := bound.Explain(w.ctx, "", key("2026-05-01", late)); err != nil || e.Schedule == nil {
				w.Errorf("%v %v", e, err)
			}
			return errBoom
		})
		if !errors.Is(err, errBoom) {
			w.Fatal(err)
		}
		if _, err := w.settings.Reminder(w.ctx, "", "expiry"); !errors.Is(err, storage.ErrNotFound) {
			w.Error("the setting was left behind:", err)
		}
	})
}

func TestTheSourceAnswersInTheOrderOfTheIds(t *testing.T) {
	eachWorld(t, func(w *world) {
		on := w.save(expiry(nil))
		off := w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.Active = "off", false }))
		got, err := w.settings.Settings(w.ctx, "", []string{"off", "gone", "expiry", "off", "", "\xff"})
		want := []automation.Setting{
			{ID: "off", Version: 1, Data: off}, {ID: "gone"}, {ID: "expiry", Active: true, Version: 1, Data: on},
			{ID: "off", Version: 1, Data: off}, {}, {ID: "\xff"},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.Error(err, diff)
		}
		one, err := w.settings.Setting(w.ctx, "", "expiry")
		if diff := cmp.Diff(want[2], one); diff != "" || err != nil {
			w.Error(err, diff)
		}
	})
}

// The same id in another tenant is another setting and another unit.
func TestI28_SettingsAndUnitsOfAnotherScopeAreNotSeen(t *testing.T) {
	eachWorld(t, func(w *world) {
		other := unit("office", "America/New_York")
		other.Scope, other.Calendar = "other", settings.Calendar{Weekend: []time.Weekday{time.Friday}, Shift: settings.ShiftNext}
		w.saveUnit(other)
		w.save(expiry(func(r *settings.ReminderSetting) { r.Scope = "other" }))

		if got, err := w.settings.Setting(w.ctx, "", "expiry"); err != nil || got.Active || got.Data != nil {
			w.Errorf("%+v %v", got, err)
		}
		if zone, err := w.settings.Zone(w.ctx, "", "office"); err != nil || zone != "" {
			w.Errorf("%q %v", zone, err)
		}
		if d, err := w.settings.BusinessDay(w.ctx, "", "office", firstOfMay); err != nil || d != firstOfMay {
			w.Errorf("%v %v", d, err)
		}
		if _, err := w.settings.BusinessUnit(w.ctx, "", "office"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		if all, _, err := w.settings.Reminders(w.ctx, "", "", storage.Page{}); err != nil || len(all) != 0 {
			w.Errorf("%+v %v", all, err)
		}
		if err := w.settings.DeactivateReminder(w.ctx, "", "expiry"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		if zone, err := w.settings.Zone(w.ctx, "other", "office"); err != nil || zone != "America/New_York" {
			w.Errorf("%q %v", zone, err)
		}

		w.saveUnit(unit("office", "Europe/Dublin"))
		w.save(expiry(nil))
		if zone, err := w.settings.Zone(w.ctx, "", "office"); err != nil || zone != "Europe/Dublin" {
			w.Errorf("%q %v", zone, err)
		}
	})
}

// Neither zone nor calendar is known for a unit that nobody has saved: its type
// decides.
func TestAnUnknownUnitLeavesZoneAndDayToTheType(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.save(expiry(nil))
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "nowhere"}}
		w.changeReachesSources()
		if row := w.row(key("2026-05-01", late)); row.TimeZone != "UTC" || row.LocalDate != "2026-04-24" {
			w.Errorf("%+v", row)
		}
	})
}

// A source is reminded by the settings of all units and by those of its own.
func TestTriggersTakeTheSettingsOfTheSourcesUnit(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, id := range []string{"north", "south"} {
			w.saveUnit(unit(id, "UTC"))
			w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.BusinessUnit, r.Offsets = "of-"+id, id, []int{1} }))
		}
		w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.Offsets = "of-all", []int{2, -3} }))
		w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.Type = "of-another-type", "invoice" }))
		w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.Active = "of-nobody", false }))
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "south"}, {Date: firstOfMay, TriggerKey: "second", BusinessUnit: "south"}}
		var got []string
		for _, e := range w.changeReachesSources().Ensured {
			got = append(got, e.Key)
		}
		want := []string{
			"reminder:of-all:employee:7:default:2026-05-01:2", "reminder:of-all:employee:7:default:2026-05-01:-3",
			"reminder:of-all:employee:7:second:2026-05-01:2", "reminder:of-all:employee:7:second:2026-05-01:-3",
			"reminder:of-south:employee:7:default:2026-05-01:1", "reminder:of-south:employee:7:second:2026-05-01:1",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
	})
}

// A source that has no dates any more loses the rows of every setting.
func TestASourceWithoutDatesLosesItsRows(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.save(expiry(nil))
		w.targets = []settings.Target{{Date: firstOfMay}}
		w.changeReachesSources()
		w.targets = nil
		w.changeReachesSources()
		if diff := cmp.Diff(map[string]string{key("2026-05-01", late): "Deactivated Superseded"}, w.statuses(key("2026-05-01", late))); diff != "" {
			w.Error(diff)
		}
	})
}

func TestOnlyAProgrammersMistakesPanic(t *testing.T) {
	eachWorld(t, func(w *world) {
		none := settings.TargetsFunc(w.load)
		for name, f := range map[string]func(){
			"no store":   func() { settings.New(nil, nil) },
			"no tx":      func() { w.settings.WithTx(nil) },
			"no type":    func() { w.settings.Triggers("", none, "e") },
			"no targets": func() { w.settings.Triggers("certificate", nil, "e") },
			"no events":  func() { w.settings.Triggers("certificate", none) },
		} {
			if !panics(f) {
				w.Error(name)
			}
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = fmt.Sprint(recover()) != "<nil>" }()
	f()
	return false
}
