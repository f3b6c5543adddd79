package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// full uses every field.
func full(change func(*settings.ReminderSetting)) settings.ReminderSetting {
	r := settings.ReminderSetting{
		Scope: "north", ID: "expiry", Type: "certificate", Name: "Ablauf ✓", Active: true, BusinessUnit: "office",
		Offsets: []int{30, 0, -3}, SendAt: "09:00:30", Cadence: settings.Cadence{Cron: "0 9 * * 1", Start: firstOfMay, Except: []automation.Date{firstOfMay}}, Template: "friendly", Channels: []string{"email:smtp"},
		Thresholds: []settings.Threshold{
			{Metric: "occupancy", Comparison: threshold.AtLeast, Value: "0.90", Policy: keys.FalseToTrue},
			{Metric: "occupancy", Comparison: threshold.AtLeast, Value: "1", Policy: keys.OncePerDay},
		},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// office saves the unit that full names.
func (w *world) office() {
	w.saveUnit(settings.BusinessUnit{Scope: "north", ID: "office", Zone: "Europe/Dublin"})
}

func TestWhatIsSavedIsReadAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.office()
		want := full(func(r *settings.ReminderSetting) { r.Version, r.SavedOn = 1, w.clk.Now().UTC() })
		got, err := w.settings.SaveReminder(w.ctx, full(nil))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.Fatal(err, diff)
		}
		w.clk.Add(time.Hour)
		want.Version, want.SavedOn, want.Name, want.Offsets = 2, w.clk.Now().UTC(), "", nil
		got.Name, got.Offsets = "", []int{}
		if _, err := w.settings.SaveReminder(w.ctx, got); err != nil {
			w.Fatal(err)
		}
		again, err := w.settings.Reminder(w.ctx, "north", "expiry")
		if diff := cmp.Diff(want, again); diff != "" || err != nil {
			w.Error(err, diff)
		}
	})
}

func TestEveryFaultIsListedAndNothingIsWritten(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.settings = settings.New(w.store, &settings.Options{Types: []string{"certificate"}})
		bad := settings.ReminderSetting{
			ID: "expiry", Type: "invoice", Name: strings.Repeat("x", 201), BusinessUnit: "nowhere",
			Offsets: []int{30, 7, 30, 9999}, SendAt: "9:00",
			Thresholds: []settings.Threshold{
				{Metric: "a:b", Comparison: "=>", Value: "much", Policy: "Twice"},
				{Metric: "m", Comparison: threshold.MoreThan, Value: "0.9", Policy: keys.OncePerDay},
				{Metric: "m", Comparison: threshold.AtLeast, Value: ".90", Policy: keys.OncePerDay},
			},
			Cadence: settings.Cadence{RRule: "\x00", End: automation.Date{Year: 2026, Month: 2, Day: 30}}, Template: "\xff", Channels: []string{"", "email:smtp", "email:smtp"},
		}
		_, err := w.settings.SaveReminder(w.ctx, bad)
		want := &settings.InvalidError{Kind: "reminder setting", ID: "expiry", Faults: []settings.Fault{
			{Path: "Name", Problem: "has 201 bytes, more than 200"},
			{Path: "Offsets[3]", Problem: "is 9999 days, more than ten years"},
			{Path: "Offsets[2]", Problem: "is the same as Offsets[0]"},
			{Path: "SendAt", Problem: `time of day "9:00" must be written as HH:MM or HH:MM:SS`},
			{Path: "Thresholds[0].Metric", Problem: "holds ':' at byte 1"},
			{Path: "Thresholds[0].Comparison", Problem: `is "=>", but must be one of AtLeast, MoreThan, AtMost, LessThan`},
			{Path: "Thresholds[0].Value", Problem: `is "much", but must be a decimal number`},
			{Path: "Thresholds[0].Policy", Problem: `is "Twice", but must be one of OncePerSource, OncePerThreshold, OncePerDay, FalseToTrue`},
			{Path: "Thresholds[2]", Problem: "is the same as Thresholds[1]"},
			{Path: "Cadence.RRule", Problem: "holds a NUL"},
			{Path: "Cadence.Start", Problem: "is required with RRule, which counts from it"},
			{Path: "Cadence.End", Problem: "2026-02-30 does not exist"},
			{Path: "Template", Problem: "is not valid UTF-8"},
			{Path: "Channels[0]", Problem: "is empty"},
			{Path: "Channels[2]", Problem: "is the same as Channels[1]"},
			{Path: "Type", Problem: `reminder type "invoice" is not registered`},
			{Path: "BusinessUnit", Problem: `business unit "nowhere" does not exist in this scope; save it first`},
		}}
		var got *settings.InvalidError
		if !errors.As(err, &got) {
			w.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
		if _, err := w.settings.Reminder(w.ctx, "", "expiry"); !errors.Is(err, storage.ErrNotFound) {
			w.Error("something was written:", err)
		}
		for _, part := range []string{`settings: reminder setting "expiry": Name: has 201`, "; Offsets[2]: is the same", "nowhere"} {
			if !strings.Contains(err.Error(), part) {
				w.Errorf("%q is not in %q", part, err)
			}
		}
	})
}

// What could not even be asked for is refused before anything is read.
func TestAnIdentityThatNoKeyCanHoldIsRefused(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, bad := range []string{"", "a:b", "\x00", "\xff", "a\x1fb", strings.Repeat("x", 201)} {
			if _, err := w.settings.SaveReminder(w.ctx, expiry(func(r *settings.ReminderSetting) { r.ID = bad })); !isInvalid(err, "ID") {
				w.Errorf("id %.20q: %v", bad, err)
			}
			if _, err := w.settings.SaveReminder(w.ctx, expiry(func(r *settings.ReminderSetting) { r.Type = bad })); !isInvalid(err, "Type") {
				w.Errorf("type %.20q: %v", bad, err)
			}
			if _, err := w.settings.SaveNotification(w.ctx, settings.NotificationSetting{Type: bad}); !isInvalid(err, "Type") {
				w.Errorf("notification type %.20q: %v", bad, err)
			}
			if _, err := w.settings.SaveBusinessUnit(w.ctx, settings.BusinessUnit{ID: bad, Zone: "UTC"}); !isInvalid(err, "ID") {
				w.Errorf("unit %.20q: %v", bad, err)
			}
			if _, err := w.settings.Reminder(w.ctx, "", bad); !errors.Is(err, storage.ErrNotFound) {
				w.Errorf("read %.20q: %v", bad, err)
			}
			if bad == "" {
				continue
			}
			if _, err := w.settings.SaveReminder(w.ctx, expiry(func(r *settings.ReminderSetting) { r.BusinessUnit = bad })); !isInvalid(err, "BusinessUnit") {
				w.Errorf("business unit %.20q: %v", bad, err)
			}
		}
	})
}

func isInvalid(err error, path string) bool {
	var invalid *settings.InvalidError
	return errors.As(err, &invalid) && len(invalid.Faults) == 1 && invalid.Faults[0].Path == path
}

// Rows of the type are under way under the setting's id.
func TestATypeNeverChanges(t *testing.T) {
	eachWorld(t, func(w *world) {
		saved := w.save(expiry(nil))
		saved.Type = "invoice"
		if _, err := w.settings.SaveReminder(w.ctx, saved); !isInvalid(err, "Type") {
			w.Error(err)
		}
	})
}

// Two people have the same form open: the second one learns of it.
func TestALostUpdateIsStale(t *testing.T) {
	eachWorld(t, func(w *world) {
		ann := w.save(expiry(nil))
		bob := ann
		ann.Name = "by Ann"
		w.save(ann)
		bob.Name = "by Bob"
		if _, err := w.settings.SaveReminder(w.ctx, bob); !errors.Is(err, storage.ErrStale) || !strings.Contains(err.Error(), `"expiry"`) {
			w.Error(err)
		}
		if _, err := w.settings.SaveReminder(w.ctx, expiry(nil)); !errors.Is(err, storage.ErrStale) {
			w.Error("made anew over another:", err)
		}
		if _, err := w.settings.SaveReminder(w.ctx, expiry(func(r *settings.ReminderSetting) { r.ID, r.Version = "gone", 3 })); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		got, err := w.settings.Reminder(w.ctx, "", "expiry")
		if err != nil || got.Name != "by Ann" || got.Version != 2 {
			w.Errorf("%+v %v", got, err)
		}
		office := w.saveUnit(unit("office", "UTC"))
		office.Name = "first"
		w.saveUnit(office)
		office.Name = "second"
		if _, err := w.settings.SaveBusinessUnit(w.ctx, office); !errors.Is(err, storage.ErrStale) {
			w.Error(err)
		}
		mail, err := w.settings.SaveNotification(w.ctx, settings.NotificationSetting{Type: "welcome"})
		if err != nil {
			w.Fatal(err)
		}
		mail.Enabled = true
		if _, err := w.settings.SaveNotification(w.ctx, mail); err != nil {
			w.Error(err)
		}
		mail.Template = "second"
		if _, err := w.settings.SaveNotification(w.ctx, mail); !errors.Is(err, storage.ErrStale) {
			w.Error(err)
		}
	})
}

// A reply was lost, so the host saves again what it has saved.
func TestSavingTheSameAgainWritesNothing(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.office()
		first, err := w.settings.SaveReminder(w.ctx, full(nil))
		if err != nil {
			w.Fatal(err)
		}
		w.clk.Add(time.Hour)
		again, err := w.settings.SaveReminder(w.ctx, full(nil))
		if diff := cmp.Diff(first, again); diff != "" || err != nil {
			w.Error(err, diff)
		}
		u := settings.BusinessUnit{Scope: "north", ID: "office", Zone: "Europe/Dublin"}
		if got, err := w.settings.SaveBusinessUnit(w.ctx, u); err != nil || got.Version != 1 {
			w.Errorf("%+v %v", got, err)
		}
		for range 2 {
			n := settings.NotificationSetting{Scope: "north", Type: "welcome", Subscribers: []string{"sam"}}
			if got, err := w.settings.SaveNotification(w.ctx, n); err != nil || got.Version != 1 {
				w.Errorf("%+v %v", got, err)
			}
		}
	})
}

// A refused setting leaves the host's transaction usable.
func TestABoundSaveThatIsRefusedLeavesTheTransactionUsable(t *testing.T) {
	eachWorld(t, func(w *world) {
		saved := w.save(expiry(nil))
		w.save(func() settings.ReminderSetting { r := saved; r.Name = "newer"; return r }())
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			bound := w.settings.WithTx(tx)
			if _, err := bound.SaveReminder(w.ctx, expiry(func(r *settings.ReminderSetting) { r.SendAt = "x" })); !isInvalid(err, "SendAt") {
				w.Error(err)
			}
			saved.Name = "older"
			if _, err := bound.SaveReminder(w.ctx, saved); !errors.Is(err, storage.ErrStale) {
				w.Error(err)
			}
			_, err := bound.SaveReminder(w.ctx, expiry(func(r *settings.ReminderSetting) { r.ID = "another" }))
			return err
		})
		if err != nil {
			w.Fatal(err)
		}
		if _, err := w.settings.Reminder(w.ctx, "", "another"); err != nil {
			w.Error(err)
		}
	})
}

func TestASettingCanBeSwitchedOffTwice(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.save(expiry(nil))
		for range 2 {
			if err := w.settings.DeactivateReminder(w.ctx, "", "expiry"); err != nil {
				w.Error(err)
			}
		}
		if got, err := w.settings.Reminder(w.ctx, "", "expiry"); err != nil || got.Active || got.Version != 2 {
			w.Errorf("%+v %v", got, err)
		}
	})
}

// Who changes a setting is found by whoever asks later; who changes nothing is not, and
// neither is a save that did not say.
func TestWhoSavedIsInTheAudit(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.office()
		kim := w.settings.As(automation.By{Actor: "kim", Reason: "the new term"})
		for range 2 { // the second changes nothing
			if _, err := kim.SaveReminder(w.ctx, full(nil)); err != nil {
				w.Fatal(err)
			}
			if _, err := kim.SaveNotification(w.ctx, settings.NotificationSetting{Scope: "north", Type: "welcome", Enabled: true}); err != nil {
				w.Fatal(err)
			}
			if _, err := kim.SaveBusinessUnit(w.ctx, settings.BusinessUnit{Scope: "north", ID: "garage", Zone: "Europe/Dublin"}); err != nil {
				w.Fatal(err)
			}
		}
		for _, by := range []automation.By{{}, {Actor: "kim"}} {
			if _, err := w.settings.As(by).SaveBusinessUnit(w.ctx, settings.BusinessUnit{Scope: "north", ID: "attic", Zone: "Europe/Dublin"}); err == nil {
				w.Errorf("a save by %+v was taken", by)
			}
		}
		var told []string
		err := w.store.View(w.ctx, func(from driver.Reader) error {
			all, _, err := audit.Newest(w.ctx, from, "north", storage.Page{Limit: 10})
			for _, e := range all {
				told = append(told, strings.Join([]string{e.Action, e.Subject, e.Actor, e.Reason}, " "))
			}
			return err
		})
		slices.Sort(told)
		want := []string{"Save business_unit kim the new term", "Save notification_setting kim the new term", "Save reminder_setting kim the new term"}
		if diff := cmp.Diff(want, told); diff != "" || err != nil {
			w.Error(err, diff)
		}
	})
}
