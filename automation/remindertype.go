package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation/dst"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
)

// ReminderType is a kind of reminder and all that the host's code says about it
// (Automation & Reminders, "Reminders"). Only Name and Recipients are required.
type ReminderType struct {
	// Name is stored with every row and must be the same in every process. It may
	// not be empty or hold a colon or a control character.
	Name string
	// SourceType is what its reminders are about, such as "employee", for
	// [Reminders.Set] and re-plans; default that of the Scan, else Name.
	SourceType string

	// Template makes the messages, over the EventData {"Source":{"Type","ID"},
	// "TargetDate","DaysBefore","Key"}, and in a ThresholdCondition "Metric",
	// "Comparison","Value","Reading","Scope" as texts, of a recurring reminder
	// "Occurrence":{"LocalDate","LocalTime","Zone"}, before an instant the same as "At". Register gives it to a dispatcher that is
	// a [notify.Registrar], as a notify.Type of the reminder's Name.
	Template notify.Template
	// NotificationType names a notify.Type that the host registered itself,
	// instead of Template: for texts by locale, for an InDoubt other than Hold, for
	// Mandatory. Give it [Scheduler.Revalidator]; without one the Validator is asked
	// when a row is due, and not about messages in the queue.
	NotificationType string
	// Urgent rows and messages go to the urgent lane and pass quiet hours.
	Urgent bool

	// Triggers, Invalidations and Immediate react to events; each may be nil.
	Triggers      TriggerProvider
	Invalidations InvalidationProvider
	Immediate     ImmediateNotificationProvider

	// Stream names what the versions of its Scan, of its Validator and of
	// [Reminders.Set] count, as [Event].Stream does; default the type of event that
	// Triggers listen to, where it is one, else the Name.
	Stream string
	// Scan declares how reconciliation repairs what missed events left behind, by
	// asking Triggers about the sources; nil: it does not. See [Maintenance.Reconcile].
	Scan *Scan

	// Recipients is asked when a row is due. It is required.
	Recipients RecipientProvider
	// Policy has the last word on recipients and channels; nil leaves them.
	Policy DeliveryPolicy
	// Validator loads the source again when a row is due, and again before each call
	// for one of its messages (see NotificationType); nil: it counts as valid.
	Validator Validator

	// SendAt, Zone, Gap and Overlap are for candidates that name none. Register
	// panics on a zone that is not in the IANA data of this machine.
	SendAt  string
	Zone    string
	Gap     dst.GapPolicy
	Overlap dst.OverlapPolicy
	// BusinessDay may move the local date of a reminder by the host's calendar;
	// the key stays. Nil leaves it. It may be called from several goroutines.
	BusinessDay func(ctx context.Context, scope Scope, businessUnit string, d Date) (Date, error)

	// Lateness says what a moment that has passed is still worth.
	Lateness Lateness
	// CallTimeout bounds the time that the type's providers, Policy and Validator take
	// for one group of due rows, at most 50. After it their contexts end and the rows
	// count as failed. Default 15 min; 6 h for a LongRunning type.
	CallTimeout time.Duration
	// LongRunning types are retried every 24 h after the usual steps, at most
	// seven times, before they are put on hold.
	LongRunning bool
	// Guarded types have runs that an old scheduler may do as well: each is done by
	// the side that owns it, and nothing is due before [Rollout.MoveRollout] says
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

// Register adds a reminder type: from now on this process serves its rows and
// its providers hear of events. On a dispatcher that is a [notify.Registrar] it
// also registers a notify.Type of the same name, unless t.NotificationType names
// one. It panics on what only a programmer can get wrong: no name or one that no
// key can hold, a name that is taken, no source of recipients, an unknown zone or
// policy, a template that does not parse, a Scan without bounds. It logs if the
// template names what no reminder has. What it returns asks for reminders of the type.
func (s *Scheduler) Register(t ReminderType) Reminders {
	if err := t.check(); err != nil {
		panic(fmt.Sprintf("automation: Register(%q): %v", t.Name, err))
	}
	if t.Scan != nil {
		t.Scan = t.Scan.withDefaults(s.now)
		t.SourceType = t.Scan.SourceType
	}
	t.SourceType = cmp.Or(t.SourceType, t.Name)
	free := s.registry.claim(t.Name, func() {
		s.registry.listen(&t)
		t.Stream = cmp.Or(t.Stream, t.Name)
		s.registry.reminders[t.Name] = t
	})
	if !free {
		panic(fmt.Sprintf("automation: Register(%q): the name is registered already", t.Name))
	}
	if r, ok := s.out.(notify.Registrar); ok && t.NotificationType == "" {
		r.Register(notify.Type{Name: t.Name, Renderer: t.Template, Urgent: t.Urgent, Revalidator: revalidator{s.core}})
		s.trySample(&t)
	}
	return s.Type(t.Name)
}

func (t *ReminderType) check() error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if t.Recipients == nil {
		return errors.New("it has no Recipients")
	}
	if t.SourceType != "" && checkName(t.SourceType) != nil {
		return fmt.Errorf("its SourceType: %w", checkName(t.SourceType))
	}
	if t.Stream != "" && checkName(t.Stream) != nil {
		return fmt.Errorf("its Stream: %w", checkName(t.Stream))
	}
	if err := checkClock(t.Zone, t.SendAt); err != nil {
		return err
	}
	if t.Scan != nil {
		if err := t.Scan.check(t.Triggers); err != nil {
			return err
		}
		if t.SourceType != "" && t.SourceType != t.Scan.SourceType {
			return fmt.Errorf("its SourceType is %q, and that of its Scan %q: leave one out, or name the same", t.SourceType, t.Scan.SourceType)
		}
	}
	if t.Lateness.negative() {
		return errors.New("a negative Lateness")
	}
	if err := t.Retention.check(); err != nil {
		return err
	}
	return civil.Policy{Gap: t.Gap, Overlap: t.Overlap}.Validate()
}

// checkClock refuses a zone or a time of day that does not exist; either may be empty.
func checkClock(zone, sendAt string) error {
	if zone != "" {
		if _, err := civil.LoadZone(zone); err != nil {
			return err
		}
	}
	if sendAt != "" {
		if _, err := civil.ParseTimeOfDay(sendAt); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses a name that could not stand in a key.
func checkName(name string) error {
	_, err := keys.Host{Type: name, SourceType: "x", Source: "x", TriggerKey: "x"}.Key()
	var part *keys.PartError
	if errors.As(err, &part) {
		return errors.New("the name " + part.Problem)
	}
	return err
}
