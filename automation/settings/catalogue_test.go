package settings_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/notify"
)

// Communication - Codebase flow, "What Notification Settings control".
func TestACatalogueSaysWhatABusinessUnitWants(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, n := range []settings.NotificationSetting{
			{Type: "visit", Enabled: true, Subscribers: []string{"role:manager"}},
			{Type: "visit", BusinessUnit: "north"},
			{Type: "visit", BusinessUnit: "south", Enabled: true},
			{Scope: "elsewhere", Type: "report", Enabled: true},
		} {
			if n.BusinessUnit != "" {
				if _, err := w.settings.SaveBusinessUnit(w.ctx, settings.BusinessUnit{ID: n.BusinessUnit, Zone: "UTC"}); err != nil {
					w.Fatal(err)
				}
			}
			if _, err := w.settings.SaveNotification(w.ctx, n); err != nil {
				w.Fatal(err)
			}
		}
		resolve := func(_ context.Context, n settings.NotificationSetting) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: n.Subscribers[0]}}, nil
		}
		got, err := w.settings.Catalogue(resolve).Options(w.ctx, []notify.Question{
			{Type: "visit", BusinessUnit: "west"}, {Type: "visit", BusinessUnit: "north"}, {Type: "visit", BusinessUnit: "south"}, {Type: "report"},
		})
		want := []notify.NotificationOption{
			{Seeded: true, Enabled: true, Subscribers: []notify.Recipient{{Ref: "role:manager"}}},
			{Seeded: true}, {Seeded: true, Enabled: true}, {},
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			w.Error(err, diff)
		}
		down := errors.New("directory is down")
		fails := func(context.Context, settings.NotificationSetting) ([]notify.Recipient, error) { return nil, down }
		if _, err := w.settings.Catalogue(fails).Options(w.ctx, []notify.Question{{Type: "visit"}}); !errors.Is(err, down) {
			w.Error(err)
		}
	})
}
