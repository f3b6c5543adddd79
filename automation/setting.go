package automation

import "context"

// Setting is what the host's reminder setting says now.
type Setting struct {
	ID string
	// Active is false for a setting that is off or does not exist: its rows end as
	// Deactivated, ReminderSettingInactive.
	Active bool
	// Data is the host's own: delivery choices, texts. Providers and policies find
	// it in [Due].Setting.
	Data any
}

// SettingsSource loads reminder settings, when events make rows and again when
// rows are due. It may be called from several goroutines. Without one, every
// type is its own active setting. One that keeps its settings in the scheduler's
// own store reads through [TxOf]; package automation/settings is one.
type SettingsSource interface {
	// Setting returns the setting with that id; one that does not exist is not
	// Active, which is no error.
	Setting(ctx context.Context, scope Scope, id string) (Setting, error)
}

// BatchSettingsSource is the batch form: it answers for many ids of one scope in
// their order, and is asked instead of Setting.
type BatchSettingsSource interface {
	Settings(ctx context.Context, scope Scope, ids []string) ([]Setting, error)
}
