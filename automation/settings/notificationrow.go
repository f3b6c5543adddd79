package settings

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// notificationRow is a row of notification_setting. Its type is the notification
// type. It is never due.
type notificationRow struct {
	storage.Record
	BusinessUnit string               `db:"business_unit,fixed"`
	Enabled      bool                 `db:"enabled"`
	Document     notificationDocument `db:"document,json"`
	SavedOn      time.Time            `db:"saved_on"`
}

// notificationDocument is what no query asks for.
type notificationDocument struct {
	Subscribers []string `json:"subscribers,omitempty"`
	Channels    []string `json:"channels,omitempty"`
	Template    string   `json:"template,omitempty"`
}

var notifications = storage.Define[notificationRow]("notification_setting").Limit(maxRow)

func (n NotificationSetting) row(now time.Time) *notificationRow {
	return &notificationRow{
		Record:       storage.Record{Scope: n.Scope, Key: notificationKey(n.Type, n.BusinessUnit), Type: n.Type},
		BusinessUnit: n.BusinessUnit, Enabled: n.Enabled,
		Document: notificationDocument{n.Subscribers, n.Channels, n.Template}, SavedOn: now,
	}
}

func (r *notificationRow) setting() NotificationSetting {
	return NotificationSetting{
		Scope: r.Scope, Type: r.Type, BusinessUnit: r.BusinessUnit, Enabled: r.Enabled,
		Subscribers: r.Document.Subscribers, Channels: r.Document.Channels, Template: r.Document.Template,
		Version: r.Version, SavedOn: r.SavedOn,
	}
}

// says reports whether two rows hold the same setting.
func (r *notificationRow) says(other *notificationRow) bool {
	return r.Enabled == other.Enabled && sameDocument(r.Document, other.Document)
}
