package automation

// TypeReminder is the automation type of what [Scheduler.Register] serves.
// Types that hosts add with [Scheduler.Handle] have names of their own.
const TypeReminder = "Reminder"

// TypeReportSubscription is the automation type of runs of reports, which package
// automation/report serves (Report Subscription). It is their Setting and the
// type of their Source as well, whose ID is the subscription's.
const TypeReportSubscription = "ReportSubscription"

// TriggerType says what makes a row due (Automation & Reminders,
// "AutomationScheduler").
type TriggerType string

// The trigger types.
const (
	DateBased TriggerType = "DateBased" // so many days before a date, at a time of day in a zone
	// ThresholdCondition rows are due at once, since a reading met a [Threshold].
	ThresholdCondition TriggerType = "ThresholdCondition"
	Recurring          TriggerType = "Recurring" // an occurrence of a series; see Recurrence
	// ScheduledRun rows are at an instant: those of types that hosts add, and the
	// occurrences of a report's series.
	ScheduledRun TriggerType = "ScheduledRun"
	ManualRun    TriggerType = "ManualRun" // a run of a report that a person asked for
)
