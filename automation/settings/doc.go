// Package settings keeps what people configure about reminders: reminder
// settings, notification settings and business units, in tables of the store
// that the reminders are in (Automation & Reminders, "Reminders - settings &
// trigger providers"; Communication - Codebase flow, "What Notification Settings
// control"). A host with settings of its own implements
// automation.SettingsSource instead.
//
// A [Settings] is given to the scheduler as Options.Settings, its Zone as
// Options.Zone, its BusinessDay to reminder types, and its Triggers as their
// TriggerProvider; then the host says which dates an entity has and whom to
// tell, and nothing else.
//
// # Saving
//
// Everything is checked before it is written, and an [InvalidError] lists all
// that is wrong. Save compares and swaps: a setting that somebody else has
// changed since it was read is storage.ErrStale. Nothing is ever deleted, since
// rows name settings and business units for years: switch off instead.
//
// # A change of settings
//
// Saving marks what it touches for a re-plan in the same transaction
// (automation.MarkReplan), and a Poller works that off. A row that is due before is
// compared with what its source and its setting ask for then. Other offsets, dates and thresholds deactivate
// rows and make new ones, a time of sending or a zone moves them in place, and
// template and channels are read when a row is due (Automation & Reminders,
// "When settings change").
package settings
