package settings_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

func TestListsComeInPagesInTheOrderOfTheIds(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, n := range []int{3, 1, 4, 0, 2} {
			w.save(expiry(func(r *settings.ReminderSetting) {
				r.ID = fmt.Sprint("id-", n)
				if n == 2 {
					r.Type = "invoice"
				}
			}))
			w.saveUnit(unit(fmt.Sprint("unit-", n), "UTC"))
		}
		if diff := cmp.Diff([][]string{{"id-0", "id-1"}, {"id-2", "id-3"}, {"id-4"}}, w.pages("")); diff != "" {
			w.Error(diff)
		}
		if diff := cmp.Diff([][]string{{"id-0", "id-1"}, {"id-3", "id-4"}}, w.pages("certificate")); diff != "" {
			w.Error(diff)
		}
		all, next, err := w.settings.BusinessUnits(w.ctx, "", storage.Page{After: "unit-2"})
		if err != nil || next != "" || len(all) != 2 || all[0].ID != "unit-3" {
			w.Errorf("%+v %q %v", all, next, err)
		}
		if _, _, err := w.settings.BusinessUnits(w.ctx, "", storage.Page{After: "\xff"}); err == nil {
			w.Error("a page after what no id can be")
		}
	})
}

// pages lists the ids, two at a time.
func (w *world) pages(reminderType string) (out [][]string) {
	for p := (storage.Page{Limit: 2}); ; {
		rows, next, err := w.settings.Reminders(w.ctx, "", reminderType, p)
		if err != nil {
			w.Fatal(err)
		}
		var ids []string
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		out = append(out, ids)
		if next == "" {
			return out
		}
		p.After = next
	}
}

// A unit's own setting takes the place of the one for all; a type that nobody
// seeded is left out.
func TestNotificationSettingsOfAUnit(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.saveUnit(unit("north", "UTC"))
		save := func(n settings.NotificationSetting) {
			w.Helper()
			if _, err := w.settings.SaveNotification(w.ctx, n); err != nil {
				w.Fatal(err)
			}
		}
		save(settings.NotificationSetting{Type: "welcome", Enabled: true, Subscribers: []string{"role:manager"}})
		save(settings.NotificationSetting{Type: "welcome", BusinessUnit: "north", Template: "short"})
		save(settings.NotificationSetting{Type: "incident", Enabled: true, Channels: []string{"sms:x"}})
		if _, err := w.settings.SaveNotification(w.ctx, settings.NotificationSetting{Type: "welcome", BusinessUnit: "nowhere"}); !isInvalid(err, "BusinessUnit") {
			w.Error(err)
		}
		_, err := w.settings.SaveNotification(w.ctx, settings.NotificationSetting{Type: "bad", Subscribers: []string{"a", "", "a"}, Template: "\x00"})
		var invalid *settings.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Faults) != 3 {
			w.Error(err)
		}

		got, err := w.settings.NotificationsFor(w.ctx, "", "north", "welcome", "incident", "unknown", "welcome\x1fnorth")
		if err != nil || len(got) != 2 || got["welcome"].Template != "short" || got["welcome"].Enabled || !got["incident"].Enabled {
			w.Errorf("%+v %v", got, err)
		}
		if n, err := w.settings.Notification(w.ctx, "", "welcome", "south"); err != nil || !n.Enabled || n.Subscribers[0] != "role:manager" {
			w.Errorf("%+v %v", n, err)
		}
		if _, err := w.settings.Notification(w.ctx, "", "unknown", "north"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		if _, err := w.settings.Notification(w.ctx, "other", "welcome", "north"); !errors.Is(err, storage.ErrNotFound) {
			w.Error(err)
		}
		all, next, err := w.settings.Notifications(w.ctx, "", "welcome", storage.Page{})
		if err != nil || next != "" || len(all) != 2 || all[0].BusinessUnit != "" || all[1].BusinessUnit != "north" {
			w.Errorf("%+v %q %v", all, next, err)
		}
	})
}

func TestAUnitIsSavedWithItsCalendarOrWithEveryFault(t *testing.T) {
	eachWorld(t, func(w *world) {
		u := unit("office", "Europe/Dublin")
		u.Calendar = settings.Calendar{
			Weekend: []time.Weekday{time.Saturday, time.Sunday}, Shift: settings.ShiftPrevious,
			Holidays: []automation.Date{{Year: 2026, Month: 12, Day: 25}},
		}
		want := u
		want.Version, want.SavedOn = 1, w.clk.Now().UTC()
		w.saveUnit(u)
		got, err := w.settings.BusinessUnit(w.ctx, "", "office")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			w.Error(err, diff)
		}
		u.Zone = "Local"
		u.Calendar = settings.Calendar{
			Weekend: []time.Weekday{0, 1, 2, 3, 4, 5, 6, 7}, Shift: "sideways",
			Holidays: []automation.Date{{Year: 2026, Month: 2, Day: 30}, firstOfMay, firstOfMay},
		}
		var invalid *settings.InvalidError
		if _, err := w.settings.SaveBusinessUnit(w.ctx, u); !errors.As(err, &invalid) {
			w.Fatal(err)
		}
		var paths []string
		for _, f := range invalid.Faults {
			paths = append(paths, f.Path)
		}
		wantPaths := []string{
			"Zone", "Calendar.Weekend[7]", "Calendar.Weekend", "Calendar.Holidays[0]", "Calendar.Holidays[2]", "Calendar.Shift",
		}
		if diff := cmp.Diff(wantPaths, paths); diff != "" {
			w.Error(diff)
		}
	})
}

func TestKeepChannelsLeavesInboxesAndWhatTheSettingLists(t *testing.T) {
	t.Parallel()
	mail := notify.Recipient{Ref: "sam", Channel: "email:x", Address: "sam@example.com"}
	text := notify.Recipient{Ref: "sam", Channel: "sms:x", Address: "+353871234567", Inbox: "user:1"}
	inbox := notify.Recipient{Ref: "sam", Inbox: "user:1"}
	for name, c := range map[string]struct {
		data any
		want []notify.Recipient
	}{
		"no setting of ours": {"data of the host", []notify.Recipient{mail, text, inbox}},
		"no channels":        {settings.ReminderSetting{}, []notify.Recipient{mail, text, inbox}},
		"mail":               {settings.ReminderSetting{Channels: []string{"email:x"}}, []notify.Recipient{mail, inbox, inbox}},
		"another":            {settings.ReminderSetting{Channels: []string{"push:x"}}, []notify.Recipient{inbox, inbox}},
	} {
		due := automation.Due{Setting: automation.Setting{Data: c.data}}
		got, err := settings.KeepChannels(t.Context(), due, []notify.Recipient{mail, text, inbox})
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Error(name, err, diff)
		}
	}
}
