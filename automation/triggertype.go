package automation

// TypeReminder is the automation type of what [Scheduler.Register] serves.
// Types that hosts add with [Scheduler.Handle] have names of their own.
const TypeReminder = "Reminder"

// TriggerType says what makes a row due (Automation & Reminders,
// "AutomationScheduler").
type TriggerType string

// The trigger types.
const (
	DateBased TriggerType = "DateBased" // so many days before a date, at a time of day in a zone
	// ThresholdCondition rows are due at once, since a reading met a [Threshold].
	ThresholdCondition TriggerType = "ThresholdCondition"
	Recurring          TriggerType = "Recurring"    // an occurrence of a series; see Recurrence
	ScheduledRun       TriggerType = "ScheduledRun" // at an instant: rows of types that hosts add
)
