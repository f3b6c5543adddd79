package automation

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/notify"
)

// ReminderType is a kind of reminder and all that the host's code says about it
// (Automation & Reminders, "Reminders"). Only Name and Recipients are required.
type ReminderType struct {
	// Name is stored with every row and must be the same in every process. It may
	// not be empty or hold a colon or a control character.
	Name string

	// Template makes the messages, over the EventData {"Source":{"Type","ID"},
	// "TargetDate","DaysBefore","Key"}, and in a ThresholdCondition "Metric",
	// "Comparison","Value","Reading","Scope" as texts, of a recurring reminder
	// "Occurrence":{"LocalDate","LocalTime","Zone"}. Register gives it to a dispatcher that is
	// a [notify.Registrar], as a notify.Type of the reminder's Name.
	Template notify.Template
	// NotificationType names a notify.Type that the host registered itself,
	// instead of Template: for texts by locale, for an InDoubt other than Hold, for
	// Mandatory. Give it [Scheduler.Revalidator]; without one the Validator is asked
	// when a row is due, and not about messages that waited.
	NotificationType string
	// Urgent rows and messages go to the urgent lane and pass quiet hours.
	Urgent bool

	// Triggers, Invalidations and Immediate react to events; each may be nil.
	Triggers      TriggerProvider
	Invalidations InvalidationProvider
	Immediate     ImmediateNotificationProvider

	// Scan declares how reconciliation repairs what missed events left behind, by
	// asking Triggers about the sources; nil: it does not. See [Scheduler.Reconcile].
	Scan *Scan

	// Recipients is asked when a row is due. It is required.
	Recipients RecipientProvider
	// Policy has the last word on recipients and channels; nil leaves them.
	Policy DeliveryPolicy
	// Validator loads the source again when a row is due, and again before a message
	// that waited or failed goes out (see NotificationType); nil: it counts as valid.
	Validator Validator

	// SendAt, Zone, Gap and Overlap are for candidates that name none. Register
	// panics on a zone that is not in the IANA data of this machine.
	SendAt  string
	Zone    string
	Gap     GapPolicy
	Overlap OverlapPolicy
	// BusinessDay may move the local date of a reminder by the host's calendar;
	// the key stays. Nil leaves it. It may be called from several goroutines.
	BusinessDay func(ctx context.Context, scope Scope, businessUnit string, d Date) (Date, error)

	// CatchUp is how far in the past the moment of a new row may lie; an older
	// candidate is answered with OffsetPassed, so that a first import does not send
	// every offset of the past at once. Default 24 h.
	CatchUp time.Duration
	// Lateness is about rows that exist already.
	Lateness Lateness
	// LongRunning types are retried every 24 h after the usual steps, at most
	// seven times, before they are put on hold.
	LongRunning bool
	// Guarded types have runs that an old scheduler may do as well: each is done by
	// the side that owns it, and nothing is due before [Scheduler.MoveRollout] says
	// so. Set it in every process that registers the type.
	Guarded bool
	// Retention says when ended rows are deleted; the zero value keeps them.
	Retention Retention
}

// notificationType is the type of the jobs of this reminder.
func (t *ReminderType) notificationType() string {
	if t.NotificationType != "" {
		return t.NotificationType
	}
	return t.Name
}
