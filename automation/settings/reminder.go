package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/recur"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ReminderSetting says when and how to remind of a type of event. Several settings of one
// type are independent: each makes its own rows.
type ReminderSetting struct {
	Scope automation.Scope
	// ID is the host's id, usually a GUID. It is part of the keys of all rows, and must not
	// be empty or contain a colon or a control character.
	ID string
	// Type is the Name of the automation.ReminderType; it never changes.
	Type string
	// Name is for people.
	Name string
	// Active is false for a setting that is off: its rows end as Deactivated,
	// ReminderSettingInactive.
	Active bool
	// BusinessUnit limits it to sources of that unit; empty: all.
	BusinessUnit string

	// Offsets are days before the date; negative: after it.
	Offsets []int
	// SendAt is the local time of day, "09:00" or "09:00:30"; empty leaves it to
	// the type.
	SendAt string
	// Thresholds are conditions on the host's measurements of a source.
	Thresholds []Threshold
	// Cadence makes a series for each source; with an RRULE it happens at SendAt.
	Cadence Cadence

	// Template and Channels are read when a row is due. Template is a name that the host
	// interprets. Channels are keys such as "email:smtp"; empty leaves the choice to the
	// recipients. See [KeepChannels].
	Template string
	Channels []string

	// Version is the version that was read; zero for a new setting.
	Version int64
	// SavedOn is when it was last written. Save ignores it.
	SavedOn time.Time
}

// Of returns the setting of a due row, for recipient providers and delivery policies. It
// returns false if the setting comes from another SettingsSource, or there is none.
func Of(d automation.Due) (ReminderSetting, bool) {
	r, ok := d.Setting.Data.(ReminderSetting)
	return r, ok
}

// maxOffset is ten years of days.
const maxOffset = 3660

// Validate lists all problems of r in an [*InvalidError]. It does not read the store.
func (r ReminderSetting) Validate() error { return r.faults().err("reminder setting", r.ID) }

func (r ReminderSetting) faults() faults {
	var f faults
	f.Scope(r.Scope)
	f.Part("ID", r.ID)
	f.Part("Type", r.Type)
	f.text("Name", r.Name, maxName)
	f.Optional("BusinessUnit", r.BusinessUnit)
	for i, days := range r.Offsets {
		if days > maxOffset || days < -maxOffset {
			f.Add(fmt.Sprintf("Offsets[%d]", i), "is %d days, more than ten years", days)
		}
	}
	distinct(&f, "Offsets", r.Offsets, maxList)
	if r.SendAt != "" {
		_, err := civil.ParseTimeOfDay(r.SendAt)
		f.Because("SendAt", err)
	}
	f.thresholds(r.Thresholds)
	f.cadence(r.Cadence, r.SendAt)
	f.text("Template", r.Template, maxName)
	f.names("Channels", r.Channels, maxList)
	return f
}

// Threshold is a condition on a metric of a source (Automation & Reminders, "Two trigger
// types").
type Threshold struct {
	// Metric names what is measured, such as "occupancy".
	Metric string
	// Comparison says on which side of Value the condition is met.
	Comparison threshold.Comparison
	// Value is a decimal number in any spelling.
	Value string
	// Policy says how often a met condition fires.
	Policy keys.FiringPolicy
}

// thresholds checks conditions. Two with the same key in every scope count as duplicates.
func (f *faults) thresholds(all []Threshold) {
	canonical := make([]Threshold, len(all))
	for i, t := range all {
		at := fmt.Sprintf("Thresholds[%d].", i)
		f.Part(at+"Metric", t.Metric)
		switch t.Comparison {
		case threshold.AtLeast, threshold.MoreThan, threshold.AtMost, threshold.LessThan:
		default:
			f.Add(at+"Comparison", "is %.40q, but must be one of AtLeast, MoreThan, AtMost, LessThan", string(t.Comparison))
		}
		value, err := keys.Decimal(t.Value)
		if err != nil {
			f.Add(at+"Value", "is %.40q, but must be a decimal number", t.Value)
			value = t.Value
		}
		switch t.Policy {
		case keys.OncePerSource, keys.OncePerThreshold, keys.OncePerDay, keys.FalseToTrue:
		default:
			f.Add(at+"Policy", "is %.40q, but must be one of OncePerSource, OncePerThreshold, OncePerDay, FalseToTrue", string(t.Policy))
		}
		canonical[i] = Threshold{Metric: t.Metric, Value: value, Policy: t.Policy}
	}
	distinct(f, "Thresholds", canonical, maxList)
}

// Cadence is the rule of recurring reminders: a cron expression or an RRULE, in the zone
// of the business unit. The zero value means no recurrence.
type Cadence struct {
	// Cron has five fields: minute, hour, day of month, month, day of week.
	Cron string `json:"cron,omitempty"`
	// RRule is the value of an RRULE (RFC 5545); it needs a Start.
	RRule string `json:"rrule,omitempty"`
	// Start is the first local day, and End the last; zero means none.
	Start automation.Date `json:"start,omitzero"`
	End   automation.Date `json:"end,omitzero"`
	// Except are local days on which it does not happen, at most 366.
	Except []automation.Date `json:"except,omitempty"`
}

func (c Cadence) isZero() bool {
	return c.Cron == "" && c.RRule == "" && c.Start.IsZero() && c.End.IsZero() && len(c.Except) == 0
}

// cadence checks a rule. If its fields are valid it also evaluates the rule once.
func (f *faults) cadence(c Cadence, sendAt string) {
	if c.isZero() {
		return
	}
	known := len(f.Faults)
	f.text("Cadence.Cron", c.Cron, maxText)
	f.text("Cadence.RRule", c.RRule, maxText)
	at, err := civil.ParseTimeOfDay(sendAt)
	spec := recur.Spec{Cron: c.Cron, RRule: c.RRule, Start: c.Start, End: c.End, At: at, Except: c.Except}
	f.Cadence(spec)
	if len(f.Faults) > known || sendAt != "" && err != nil {
		return
	}
	_, err = recur.Parse(spec)
	f.Because("Cadence", err)
}

// reminderRow is a row of reminder_setting. Its key is the setting's id, its
// type the reminder type. It is never due.
type reminderRow struct {
	storage.Record
	Name         string           `db:"name,plain"`
	Active       bool             `db:"active"`
	BusinessUnit string           `db:"business_unit,plain"`
	Document     reminderDocument `db:"document,json,plain"`
	SavedOn      time.Time        `db:"saved_on"`
}

// reminderDocument holds the fields that no query uses.
type reminderDocument struct {
	Offsets    []int       `json:"offsets,omitempty"`
	SendAt     string      `json:"sendAt,omitempty"`
	Thresholds []Threshold `json:"thresholds,omitempty"`
	Cadence    Cadence     `json:"cadence,omitzero"`
	Template   string      `json:"template,omitempty"`
	Channels   []string    `json:"channels,omitempty"`
}

// maxRow is the limit of a row, in all tables of this package.
const maxRow = 64 << 10

var reminders = driver.Define[reminderRow]("reminder_setting").Grows(driver.Bounded).
	Kept(driver.Always, "as many as people configure").Limit(maxRow)

func (r ReminderSetting) row(now time.Time) *reminderRow {
	return &reminderRow{
		Record: storage.Record{Scope: r.Scope, Key: r.ID, Kind: r.Type},
		Name:   r.Name, Active: r.Active, BusinessUnit: r.BusinessUnit,
		Document: reminderDocument{r.Offsets, r.SendAt, r.Thresholds, r.Cadence, r.Template, r.Channels},
		SavedOn:  now,
	}
}

func (r *reminderRow) setting() ReminderSetting {
	d := r.Document
	return ReminderSetting{
		Scope: r.Scope, ID: r.Key, Type: r.Kind, Name: r.Name, Active: r.Active, BusinessUnit: r.BusinessUnit,
		Offsets: d.Offsets, SendAt: d.SendAt, Thresholds: d.Thresholds, Cadence: d.Cadence,
		Template: d.Template, Channels: d.Channels, Version: r.Version, SavedOn: r.SavedOn,
	}
}

// SaveReminder inserts a setting (Version zero) or updates one that was read, and returns
// the stored setting. An [*InvalidError] lists all its problems, including a changed type
// and a business unit that does not exist. A setting that was changed meanwhile is
// storage.ErrStale. After an error nothing was written, and a bound transaction stays
// usable. An unchanged setting is not written, so a call may be repeated. Changes that
// affect rows are marked for a re-plan (automation.MarkReplan) in the same transaction.
func (s *Settings) SaveReminder(ctx context.Context, want ReminderSetting) (ReminderSetting, error) {
	var saved ReminderSetting
	f := want.faults()
	if len(s.opts.Types) > 0 && !slices.Contains(s.opts.Types, want.Type) {
		f.Add("Type", "reminder type %.40q is not registered", want.Type)
	}
	if f.Has("Scope", "ID") {
		return ReminderSetting{}, f.err("reminder setting", want.ID)
	}
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		saved, err = s.saveReminder(ctx, tx, want, faults{slices.Clone(f.Faults)})
		return err
	})
	if err != nil {
		return ReminderSetting{}, wrap("reminder setting", want.ID, err)
	}
	return saved, nil
}

func (s *Settings) saveReminder(ctx context.Context, tx storage.Tx, want ReminderSetting, f faults) (ReminderSetting, error) {
	stored, err := find(ctx, tx, reminders, want.Scope, want.ID)
	if err != nil {
		return ReminderSetting{}, err
	}
	if stored != nil && stored.Kind != want.Type {
		f.Add("Type", "is %.40q and cannot change, since rows of that type exist; make a new setting", stored.Kind)
	}
	if err := f.unit(ctx, tx, want.Scope, want.BusinessUnit); err != nil {
		return ReminderSetting{}, err
	}
	if err := f.err("reminder setting", want.ID); err != nil {
		return ReminderSetting{}, err
	}
	row, err := put(ctx, s, tx, reminders, stored, want.row(driver.Now(tx.Store())), want.Version)
	if err != nil {
		return ReminderSetting{}, err
	}
	return row.setting(), s.markReminder(ctx, tx, stored, row)
}

// markReminder marks a saved setting for a re-plan if a changed field affects its rows.
func (s *Settings) markReminder(ctx context.Context, tx storage.Tx, before, r *reminderRow) error {
	if before != nil && r.plansAs(before) {
		return nil
	}
	what := automation.Replan{Scope: r.Scope, Type: r.Kind, Setting: r.Key}
	if before == nil || !before.Active {
		what.Setting = "" // it has no open rows
	}
	return s.mark(ctx, tx, what)
}

// plansAs reports whether two rows make the same reminders.
func (r *reminderRow) plansAs(other *reminderRow) bool {
	a, b := r.Document, other.Document
	a.Template, a.Channels, b.Template, b.Channels = "", nil, "", nil
	return r.Active == other.Active && r.BusinessUnit == other.BusinessUnit && sameDocument(a, b)
}

// says reports whether two rows have the same content.
func (r *reminderRow) says(other *reminderRow) bool {
	return r.Kind == other.Kind && r.Name == other.Name && r.Active == other.Active &&
		r.BusinessUnit == other.BusinessUnit && sameDocument(r.Document, other.Document)
}

// Reminder returns the setting with that id, or storage.ErrNotFound.
func (s *Settings) Reminder(ctx context.Context, scope automation.Scope, id string) (ReminderSetting, error) {
	var found ReminderSetting
	err := s.read(ctx, func(from driver.Reader) error {
		row, err := find(ctx, from, reminders, scope, id)
		if err == nil && row == nil {
			return storage.ErrNotFound
		}
		if err == nil {
			found = row.setting()
		}
		return err
	})
	return found, wrap("reminder setting", id, err)
}

// Reminders lists the settings of a reminder type, of all types if it is empty,
// and says where the next page begins; empty after the last.
func (s *Settings) Reminders(ctx context.Context, scope automation.Scope, reminderType string, p storage.Page) ([]ReminderSetting, string, error) {
	return list(ctx, s, reminders, scope, reminderType, p, (*reminderRow).setting)
}

// DeactivateReminder switches a setting off, whatever its version. A setting that is off
// stays as it is. An unknown id is storage.ErrNotFound.
func (s *Settings) DeactivateReminder(ctx context.Context, scope automation.Scope, id string) error {
	err := s.inTx(ctx, func(tx storage.Tx) error {
		var before, after *reminderRow
		err := rewrite(ctx, tx, reminders, scope, id, func(r *reminderRow) bool {
			before, after = new(*r), r
			r.Active, r.SavedOn = false, driver.Now(tx.Store())
			return before.Active
		})
		if err != nil {
			return err
		}
		return s.markReminder(ctx, tx, before, after)
	})
	return wrap("reminder setting", id, err)
}
