package settings

import (
	"time"

	"github.com/belfry-go/belfry/storage"
)

// reminderRow is a row of reminder_setting. Its key is the setting's id, its
// type the reminder type. It is never due.
type reminderRow struct {
	storage.Record
	Name         string           `db:"name"`
	Active       bool             `db:"active"`
	BusinessUnit string           `db:"business_unit"`
	Document     reminderDocument `db:"document,json"`
	SavedOn      time.Time        `db:"saved_on"`
}

// reminderDocument is what no query asks for.
type reminderDocument struct {
	Offsets    []int       `json:"offsets,omitempty"`
	SendAt     string      `json:"sendAt,omitempty"`
	Thresholds []Threshold `json:"thresholds,omitempty"`
	Cadence    Cadence     `json:"cadence,omitzero"`
	Template   string      `json:"template,omitempty"`
	Channels   []string    `json:"channels,omitempty"`
}

// maxRow bounds a row of any table here.
const maxRow = 64 << 10

var reminders = storage.Define[reminderRow]("reminder_setting").Limit(maxRow)

func (r ReminderSetting) row(now time.Time) *reminderRow {
	return &reminderRow{
		Record: storage.Record{Scope: r.Scope, Key: r.ID, Type: r.Type},
		Name:   r.Name, Active: r.Active, BusinessUnit: r.BusinessUnit,
		Document: reminderDocument{r.Offsets, r.SendAt, r.Thresholds, r.Cadence, r.Template, r.Channels},
		SavedOn:  now,
	}
}

func (r *reminderRow) setting() ReminderSetting {
	d := r.Document
	return ReminderSetting{
		Scope: r.Scope, ID: r.Key, Type: r.Type, Name: r.Name, Active: r.Active, BusinessUnit: r.BusinessUnit,
		Offsets: d.Offsets, SendAt: d.SendAt, Thresholds: d.Thresholds, Cadence: d.Cadence,
		Template: d.Template, Channels: d.Channels, Version: r.Version, SavedOn: r.SavedOn,
	}
}
