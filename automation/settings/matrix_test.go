package settings_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
)

// The rows of the table (Automation & Reminders, "When settings change"). Every
// story begins alike: two reminders, of which the first has gone out before the
// change; it must be what it was at the end.

const (
	early = 30 // days before: 1 April
	late  = 7  // 24 April
)

// settle tells the stories' common beginning, and returns the setting and the
// completed row.
func (w *world) settle() (settings.ReminderSetting, stored) {
	w.Helper()
	w.targets = []settings.Target{{Date: firstOfMay}}
	saved := w.save(expiry(nil))
	w.changeReachesSources()
	if diff := cmp.Diff([]string{"email:print 2026-05-01-30"}, w.pollAt(at(4, 1, 9))); diff != "" {
		w.Fatal(diff)
	}
	completed := w.row(key("2026-05-01", early))
	if completed.Status != automation.StatusCompleted {
		w.Fatalf("%+v", completed)
	}
	return saved, completed
}

// mustBe checks the rows after a change, and that the completed one is untouched.
func (w *world) mustBe(completed stored, want map[string]string) {
	w.Helper()
	var keys []string
	for k := range want {
		keys = append(keys, k)
	}
	if diff := cmp.Diff(want, w.statuses(keys...)); diff != "" {
		w.Error(diff)
	}
	if diff := cmp.Diff(completed, w.row(completed.Key)); diff != "" {
		w.Error("the completed row was touched:", diff)
	}
}

func TestMatrixAnotherOffsetDeactivatesAndRecreates(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		setting.Offsets = []int{early, 14}
		w.save(setting)
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{
			key("2026-05-01", late): "Deactivated Superseded", key("2026-05-01", 14): "Pending",
		})
	})
}

func TestMatrixAnotherDateDeactivatesAndRecreates(t *testing.T) {
	eachWorld(t, func(w *world) {
		_, completed := w.settle()
		w.targets[0].Date = automation.Date{Year: 2026, Month: 6, Day: 1}
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{
			key("2026-05-01", late):  "Deactivated Superseded",
			key("2026-06-01", early): "Pending", key("2026-06-01", late): "Pending",
		})
	})
}

func TestMatrixATimeOfSendingMovesRowsInPlace(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		before := w.row(key("2026-05-01", late))
		setting.SendAt = "17:30"
		w.save(setting)
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{key("2026-05-01", late): "Pending"})
		after := w.row(key("2026-05-01", late))
		if after.ID != before.ID || !after.ScheduledOn.Equal(at(4, 24, 17).Add(30*time.Minute)) || !after.DueOn.Equal(after.ScheduledOn) {
			w.Errorf("%+v", after)
		}
		if sent := w.pollAt(at(4, 24, 12)); len(sent) != 0 {
			w.Errorf("%q at the old time", sent)
		}
		if sent := w.pollAt(at(4, 24, 18)); len(sent) != 1 {
			w.Errorf("%q at the new time", sent)
		}
	})
}

// The pending row is not even written, and what is due takes the new choice.
func TestMatrixTemplateAndChannelsAreReadAtExecution(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		before := w.row(key("2026-05-01", late))
		setting.Template, setting.Channels = "friendly", []string{"sms:print"}
		w.save(setting)
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{key("2026-05-01", late): "Pending"})
		if diff := cmp.Diff(before, w.row(before.Key)); diff != "" {
			w.Error("the pending row was written:", diff)
		}
		if diff := cmp.Diff([]string{"sms:print 2026-05-01-7"}, w.pollAt(at(4, 24, 9))); diff != "" {
			w.Error(diff)
		}
		if now, ok := settings.Of(w.due[len(w.due)-1]); !ok || now.Template != "friendly" {
			w.Errorf("%+v", now)
		}
	})
}

func TestMatrixASettingThatIsSwitchedOffDeactivatesItsRows(t *testing.T) {
	eachWorld(t, func(w *world) {
		_, completed := w.settle()
		if err := w.settings.DeactivateReminder(w.ctx, "", "expiry"); err != nil {
			w.Fatal(err)
		}
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{key("2026-05-01", late): "Deactivated ReminderSettingInactive"})

		setting, err := w.settings.Reminder(w.ctx, "", "expiry")
		if err != nil || setting.Active {
			w.Fatalf("%+v %v", setting, err)
		}
		setting.Active = true
		w.save(setting)
		w.changeReachesSources()
		if row := w.row(key("2026-05-01", late)); row.Status != automation.StatusPending {
			w.Errorf("switched on again: %+v", row)
		}
	})
}

// Nobody told the sources, so the row itself finds out at its moment.
func TestMatrixASettingThatIsOffEndsARowAtItsMoment(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		setting.Active = false
		w.save(setting)
		if sent := w.pollAt(at(4, 24, 9)); len(sent) != 0 {
			w.Errorf("%q of a setting that is off", sent)
		}
		w.mustBe(completed, map[string]string{key("2026-05-01", late): "Deactivated ReminderSettingInactive"})
		if row := w.row(key("2026-05-01", late)); row.RetryCount != 0 {
			w.Errorf("it counts as a failure: %+v", row)
		}
	})
}

func TestMatrixAnotherZoneMovesRowsInPlace(t *testing.T) {
	eachWorld(t, func(w *world) {
		office := w.saveUnit(unit("office", "Europe/Dublin"))
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "office"}}
		w.save(expiry(nil))
		w.changeReachesSources()
		w.pollAt(at(4, 1, 8)) // 09:00 in Dublin
		completed := w.row(key("2026-05-01", early))
		before := w.row(key("2026-05-01", late))
		if !before.ScheduledOn.Equal(at(4, 24, 8)) || completed.Status != automation.StatusCompleted {
			w.Fatalf("%+v\n%+v", before, completed)
		}
		office.Zone = "America/New_York"
		w.saveUnit(office)
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{before.Key: "Pending"})
		before.ScheduledOn, before.DueOn, before.TimeZone = at(4, 24, 13), at(4, 24, 13), "America/New_York"
		moved := cmpopts.IgnoreFields(stored{}, "Version", "EventType", "EventID")
		if diff := cmp.Diff(before, w.row(before.Key), moved); diff != "" {
			w.Error(diff)
		}
	})
}

// A calendar is like a zone: the date moves, the key stays.
func TestMatrixAHolidayMovesRowsInPlace(t *testing.T) {
	eachWorld(t, func(w *world) {
		office := w.saveUnit(unit("office", "UTC"))
		w.targets = []settings.Target{{Date: firstOfMay, BusinessUnit: "office"}}
		w.save(expiry(nil))
		w.changeReachesSources()
		office.Calendar = settings.Calendar{
			Weekend: []time.Weekday{time.Saturday, time.Sunday}, Shift: settings.ShiftNext,
			Holidays: []automation.Date{{Year: 2026, Month: 4, Day: 24}}, // a Friday
		}
		w.saveUnit(office)
		w.changeReachesSources()
		if row := w.row(key("2026-05-01", late)); !row.ScheduledOn.Equal(at(4, 27, 9)) || row.Status != automation.StatusPending {
			w.Errorf("%+v", row)
		}
	})
}

// A setting that becomes another unit's leaves the rows of the first one.
func TestMatrixAnotherBusinessUnitDeactivates(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		w.saveUnit(unit("office", "UTC"))
		setting.BusinessUnit = "office"
		w.save(setting)
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{key("2026-05-01", late): "Deactivated Superseded"})
	})
}

// One setting's change leaves the rows of another.
func TestMatrixSettingsAreIndependent(t *testing.T) {
	eachWorld(t, func(w *world) {
		setting, completed := w.settle()
		w.save(expiry(func(r *settings.ReminderSetting) { r.ID, r.Offsets = "manager", []int{2} }))
		w.changeReachesSources()
		setting.Active = false
		w.save(setting)
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{
			key("2026-05-01", late):                            "Deactivated ReminderSettingInactive",
			"reminder:manager:employee:7:default:2026-05-01:2": "Pending",
		})
	})
}
