package settings_test

import (
	"context"
	"testing"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// Whoever only looks waits for no writer, not even on a database that has one at a
// time.
func TestWhoeverOnlyLooksWaitsForNoWriter(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.save(expiry(nil))
		w.saveUnit(unit("north", "Europe/Dublin"))
		if _, err := w.settings.SaveNotification(w.ctx, settings.NotificationSetting{Type: "certificate", Enabled: true}); err != nil {
			w.Fatal(err)
		}
		s, page, friday := w.settings, storage.Page{}, automation.Date{Year: 2026, Month: 3, Day: 6}
		storetest.BesideAWriter(w.T, w.store, map[string]func(context.Context) error{
			"Setting":       func(ctx context.Context) error { _, err := s.Setting(ctx, "", "expiry"); return err },
			"Reminder":      func(ctx context.Context) error { _, err := s.Reminder(ctx, "", "expiry"); return err },
			"Reminders":     func(ctx context.Context) error { _, _, err := s.Reminders(ctx, "", "", page); return err },
			"Notification":  func(ctx context.Context) error { _, err := s.Notification(ctx, "", "certificate", ""); return err },
			"Notifications": func(ctx context.Context) error { _, _, err := s.Notifications(ctx, "", "", page); return err },
			"BusinessUnit":  func(ctx context.Context) error { _, err := s.BusinessUnit(ctx, "", "north"); return err },
			"BusinessUnits": func(ctx context.Context) error { _, _, err := s.BusinessUnits(ctx, "", page); return err },
			"Zone":          func(ctx context.Context) error { _, err := s.Zone(ctx, "", "north"); return err },
			"BusinessDay":   func(ctx context.Context) error { _, err := s.BusinessDay(ctx, "", "north", friday); return err },
		})
	})
}
