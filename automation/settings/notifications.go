package settings

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// SaveNotification inserts a setting (Version zero) or writes one that was read,
// and returns it as it is stored. Errors are those of [Settings.SaveReminder].
func (s *Settings) SaveNotification(ctx context.Context, want NotificationSetting) (NotificationSetting, error) {
	f := want.faults()
	if f.Has("Scope", "Type", "BusinessUnit") {
		return NotificationSetting{}, f.err("notification setting", want.Type)
	}
	var saved NotificationSetting
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		saved, err = saveNotification(ctx, tx, want, faults{slices.Clone(f.Faults)})
		return err
	})
	if err != nil {
		return NotificationSetting{}, wrap("notification setting", want.Type, err)
	}
	return saved, nil
}

func saveNotification(ctx context.Context, tx storage.Tx, want NotificationSetting, f faults) (NotificationSetting, error) {
	if err := f.unit(ctx, tx, want.Scope, want.BusinessUnit); err != nil {
		return NotificationSetting{}, err
	}
	if err := f.err("notification setting", want.Type); err != nil {
		return NotificationSetting{}, err
	}
	row := want.row(storage.Now(tx.Store()))
	stored, err := find(ctx, tx, notifications, want.Scope, row.Key)
	if err != nil {
		return NotificationSetting{}, err
	}
	if stored != nil && stored.says(row) {
		return stored.setting(), nil
	}
	if err := put(ctx, tx, notifications, stored, row, want.Version); err != nil {
		return NotificationSetting{}, err
	}
	return row.setting(), nil
}

// Notification returns the setting of a type for a business unit, its own or else
// that of all units. storage.ErrNotFound says that the type is not seeded, which
// a pipeline takes for "nobody" and no failure.
func (s *Settings) Notification(ctx context.Context, scope automation.Scope, notificationType, businessUnit string) (NotificationSetting, error) {
	found, err := s.NotificationsFor(ctx, scope, businessUnit, notificationType)
	if n, ok := found[notificationType]; ok {
		return n, nil
	}
	if err == nil {
		err = storage.ErrNotFound
	}
	return NotificationSetting{}, wrap("notification setting", notificationType, err)
}

// NotificationsFor is Notification for many types, by type and in one statement.
// Types that are not seeded are left out.
func (s *Settings) NotificationsFor(ctx context.Context, scope automation.Scope, businessUnit string, types ...string) (map[string]NotificationSetting, error) {
	var keys []string
	for _, t := range types {
		keys = append(keys, t, notificationKey(t, businessUnit))
	}
	out := map[string]NotificationSetting{}
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := findAll(ctx, tx, notifications, scope, keys)
		clear(out)
		for _, t := range types {
			for _, key := range []string{t, notificationKey(t, businessUnit)} { // its own comes last
				if r, ok := rows[key]; ok && r.Type == t {
					out[t] = r.setting()
				}
			}
		}
		return err
	})
	return out, err
}

// Notifications lists the settings of a notification type, of all types if it is
// empty, and says where the next page begins; empty after the last.
func (s *Settings) Notifications(ctx context.Context, scope automation.Scope, notificationType string, p Page) ([]NotificationSetting, string, error) {
	var out []NotificationSetting
	var next string
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, after, err := listRows(ctx, tx, notifications, scope, notificationType, p)
		out, next = nil, after
		for _, r := range rows {
			out = append(out, r.setting())
		}
		return err
	})
	return out, next, err
}
