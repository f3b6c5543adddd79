package settings

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// NotificationSetting says whether a business unit wants a type of notification, and who
// gets it (Communication - Codebase flow, "What Notification Settings control"). A
// setting without a BusinessUnit seeds the type for all units; a unit's own setting
// replaces it there.
type NotificationSetting struct {
	Scope automation.Scope
	// Type is the notification type, BusinessUnit the unit or empty. Together they identify
	// the setting.
	Type, BusinessUnit string
	Enabled            bool
	// Subscribers refer to recipients in the host's own form, such as "employee:7" or
	// "role:manager".
	Subscribers []string
	// Channels are keys such as "email:smtp"; empty leaves the choice to the recipients.
	// Template is a name that the host interprets.
	Channels []string
	Template string

	// Version is the version that was read; zero for a new setting.
	Version int64
	// SavedOn is when it was last written. Save ignores it.
	SavedOn time.Time
}

// Validate lists all problems of n in an [*InvalidError]. It does not read the store.
func (n NotificationSetting) Validate() error { return n.faults().err("notification setting", n.Type) }

func (n NotificationSetting) faults() faults {
	var f faults
	f.Scope(n.Scope)
	f.Part("Type", n.Type)
	f.Optional("BusinessUnit", n.BusinessUnit)
	f.names("Subscribers", n.Subscribers, maxSubscribers)
	f.names("Channels", n.Channels, maxList)
	f.text("Template", n.Template, maxName)
	return f
}

// maxSubscribers is enough for single people; use a role for larger groups.
const maxSubscribers = 200

// notificationKey is the identity. It sorts the settings of a type together, the one for
// all units first. Checked parts are never refused.
func notificationKey(notificationType, businessUnit string) string {
	if businessUnit == "" {
		return notificationType
	}
	key, _ := keys.Join(notificationType, businessUnit)
	return key
}

// notificationRow is a row of notification_setting. Its type is the notification
// type. It is never due.
type notificationRow struct {
	storage.Record
	BusinessUnit string               `db:"business_unit,fixed,plain"`
	Enabled      bool                 `db:"enabled"`
	Document     notificationDocument `db:"document,json,address"`
	SavedOn      time.Time            `db:"saved_on"`
}

// notificationDocument holds the fields that no query uses.
type notificationDocument struct {
	Subscribers []string `json:"subscribers,omitempty"`
	Channels    []string `json:"channels,omitempty"`
	Template    string   `json:"template,omitempty"`
}

var notifications = driver.Define[notificationRow]("notification_setting").Grows(driver.Bounded).
	Kept(driver.Always, "as many as people configure").Limit(maxRow)

func (n NotificationSetting) row(now time.Time) *notificationRow {
	return &notificationRow{
		Record:       storage.Record{Scope: n.Scope, Key: notificationKey(n.Type, n.BusinessUnit), Kind: n.Type},
		BusinessUnit: n.BusinessUnit, Enabled: n.Enabled,
		Document: notificationDocument{n.Subscribers, n.Channels, n.Template}, SavedOn: now,
	}
}

func (r *notificationRow) setting() NotificationSetting {
	return NotificationSetting{
		Scope: r.Scope, Type: r.Kind, BusinessUnit: r.BusinessUnit, Enabled: r.Enabled,
		Subscribers: r.Document.Subscribers, Channels: r.Document.Channels, Template: r.Document.Template,
		Version: r.Version, SavedOn: r.SavedOn,
	}
}

// says reports whether two rows have the same content.
func (r *notificationRow) says(other *notificationRow) bool {
	return r.Enabled == other.Enabled && sameDocument(r.Document, other.Document)
}

// SaveNotification inserts a setting (Version zero) or updates one that was read, and
// returns the stored setting. Errors are those of [Settings.SaveReminder].
func (s *Settings) SaveNotification(ctx context.Context, want NotificationSetting) (NotificationSetting, error) {
	f := want.faults()
	if f.Has("Scope", "Type", "BusinessUnit") {
		return NotificationSetting{}, f.err("notification setting", want.Type)
	}
	var saved NotificationSetting
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		saved, err = s.saveNotification(ctx, tx, want, faults{slices.Clone(f.Faults)})
		return err
	})
	if err != nil {
		return NotificationSetting{}, wrap("notification setting", want.Type, err)
	}
	return saved, nil
}

func (s *Settings) saveNotification(ctx context.Context, tx storage.Tx, want NotificationSetting, f faults) (NotificationSetting, error) {
	if err := f.unit(ctx, tx, want.Scope, want.BusinessUnit); err != nil {
		return NotificationSetting{}, err
	}
	if err := f.err("notification setting", want.Type); err != nil {
		return NotificationSetting{}, err
	}
	row := want.row(driver.Now(tx.Store()))
	stored, err := find(ctx, tx, notifications, want.Scope, row.Key)
	if err != nil {
		return NotificationSetting{}, err
	}
	if row, err = put(ctx, s, tx, notifications, stored, row, want.Version); err != nil {
		return NotificationSetting{}, err
	}
	return row.setting(), nil
}

// Notification returns the setting of a type for a business unit, its own or else that of
// all units. storage.ErrNotFound says that the type is not seeded; a pipeline then has no
// recipients, which is not a failure.
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

// NotificationsFor is Notification for many types in one statement; the result is by
// type. Types that are not seeded are left out.
func (s *Settings) NotificationsFor(ctx context.Context, scope automation.Scope, businessUnit string, types ...string) (map[string]NotificationSetting, error) {
	var keys []string
	for _, t := range types {
		keys = append(keys, t, notificationKey(t, businessUnit))
	}
	out := map[string]NotificationSetting{}
	err := s.read(ctx, func(from driver.Reader) error {
		rows, err := findAll(ctx, from, notifications, scope, keys)
		clear(out)
		for _, t := range types {
			for _, key := range []string{t, notificationKey(t, businessUnit)} { // its own comes last
				if r, ok := rows[key]; ok && r.Kind == t {
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
func (s *Settings) Notifications(ctx context.Context, scope automation.Scope, notificationType string, p storage.Page) ([]NotificationSetting, string, error) {
	return list(ctx, s, notifications, scope, notificationType, p, (*notificationRow).setting)
}

// KeepChannels is an automation.DeliveryPolicyFunc. It keeps the recipients' channels
// that the setting of the due row lists, or all if the setting lists none. Inboxes stay.
func KeepChannels(_ context.Context, d automation.Due, to []notify.Recipient) ([]notify.Recipient, error) {
	setting, ok := Of(d)
	if !ok || len(setting.Channels) == 0 {
		return to, nil
	}
	var kept []notify.Recipient
	for _, r := range to {
		if !slices.Contains(setting.Channels, r.Channel) {
			r.Channel, r.Address = "", ""
		}
		if r.Channel != "" || r.Inbox != "" {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

var _ automation.DeliveryPolicy = automation.DeliveryPolicyFunc(KeepChannels)
