// Package settings stores what people configure about reminders: reminder settings,
// notification settings and business units, in tables beside the reminders (Automation &
// Reminders, "Reminders - settings & trigger providers"; Communication - Codebase flow,
// "What Notification Settings control"). A host with its own settings implements
// automation.SettingsSource instead.
//
// Give a [Settings] to the scheduler as Options.Settings, its Zone as Options.Zone, its
// BusinessDay to reminder types, and its Triggers as their TriggerProvider. Then the host
// only provides the dates of an entity and the recipients.
//
// # Saving
//
// A setting is checked before it is written; an [InvalidError] lists all its problems.
// Save compares and swaps: a setting that was changed since it was read is
// storage.ErrStale. Nothing is deleted, since rows refer to settings and business units
// for years: switch a setting off instead.
//
// # A change of settings
//
// Saving marks the affected rows for a re-plan in the same transaction
// (automation.MarkReplan); a Poller does it. A row that is due before that is compared
// with what its source and its setting ask for now. Changed offsets, dates and thresholds deactivate rows and
// make new ones. A changed time of sending or zone moves rows in place. Template and
// channels are read when a row is due (Automation & Reminders, "When settings change").
package settings
