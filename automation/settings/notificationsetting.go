package settings

import (
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/keys"
)

// NotificationSetting says whether a business unit wants a type of notification
// and who hears of it (Communication - Codebase flow, "What Notification
// Settings control"). The one without a BusinessUnit seeds the type for all
// units: a unit's own takes its place there.
type NotificationSetting struct {
	Scope automation.Scope
	// Type is the notification type, and BusinessUnit the unit or empty: together
	// they are the identity.
	Type, BusinessUnit string
	Enabled            bool
	// Subscribers are references to recipients in the host's own words, such as
	// "employee:7" or "role:manager".
	Subscribers []string
	// Channels are keys such as "email:smtp"; none leaves the choice to the
	// recipients. Template is a name that means something to the host.
	Channels []string
	Template string

	// Version is what the setting was read with; zero for a new one.
	Version int64
	// SavedOn is when it was last written. Save ignores it.
	SavedOn time.Time
}

// Validate says all that is wrong with n as far as n alone tells, with an
// [*InvalidError].
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

// maxSubscribers is for people; a larger circle is a role of the host's.
const maxSubscribers = 200

// notificationKey is the identity, which sorts a type's settings side by side,
// the one for all units first. Parts that were checked are never refused.
func notificationKey(notificationType, businessUnit string) string {
	if businessUnit == "" {
		return notificationType
	}
	key, _ := keys.Join(notificationType, businessUnit)
	return key
}
