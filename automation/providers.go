package automation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// InvalidationProvider says which rows an event ends (Automation & Reminders,
// "Provider contracts"): the source was deleted, a setting was switched off.
// Its methods may be called from several goroutines, and again for the same event, and
// change nothing.
type InvalidationProvider interface {
	// EventTypes is asked once, by Register.
	EventTypes() []string
	Invalidations(ctx context.Context, e Event) ([]Invalidation, error)
}

// Invalidation names open rows to deactivate. Completed rows always stay. Many rows end
// in pages; see [Scheduler.HandleEvent].
type Invalidation struct {
	// Setting is required; for rows of candidates that named none it is the type's
	// Name.
	Setting string
	// Source is the entity; the zero value means every source of the setting.
	Source Source
	// Keys narrows it to these rows; none means all of them.
	Keys []string
	// Reason is kept with the rows; default Invalidated.
	Reason Reason
}

func (s planner) planInvalidations(ctx context.Context, e Event, name string, p *eventPlan) error {
	t, _ := s.registry.reminder(name)
	invalid, err := t.Invalidations.Invalidations(ctx, e)
	if err != nil {
		return fmt.Errorf("automation: invalidations of %s: %w", name, err)
	}
	out := p.invalid
	for i, in := range invalid {
		if in.Setting == "" {
			return fmt.Errorf("automation: invalidation %d of %s: no Setting", i, name)
		}
		in.Reason = cmp.Or(in.Reason, reasons.Invalidated)
		out = append(out, in)
	}
	p.invalid = out
	return nil
}

// ImmediateNotificationProvider says what to send at once about an event
// (Automation & Reminders, "Provider contracts"). Its methods may be called from
// several goroutines, and again for the same event, and change nothing.
type ImmediateNotificationProvider interface {
	// EventTypes is asked once, by Register.
	EventTypes() []string
	Notifications(ctx context.Context, e Event) ([]Immediate, error)
}

// RecipientProvider decides whom, at the moment the row is due, so that pending
// rows stay as they are when configuration changes. It may be called from
// several goroutines and again for the same row, and changes nothing. The
// context ends when the row's lease is lost.
type RecipientProvider interface {
	Recipients(ctx context.Context, d Due) ([]notify.Recipient, error)
}

// BatchRecipientProvider is the batch form: it answers for many rows of one type
// in their order, and is asked instead of Recipients.
type BatchRecipientProvider interface {
	RecipientsOf(ctx context.Context, due []Due) ([][]notify.Recipient, error)
}

// RecipientFunc is a RecipientProvider made of a function.
type RecipientFunc func(ctx context.Context, d Due) ([]notify.Recipient, error)

// Recipients calls f.
func (f RecipientFunc) Recipients(ctx context.Context, d Due) ([]notify.Recipient, error) {
	return f(ctx, d)
}

// DeliveryPolicy decides how, at the moment the row is due: it may choose other
// channels, add inboxes, and leave recipients out. If it leaves out all, the row ends
// as Deactivated, SkippedByPolicy. Otherwise it is as RecipientProvider.
type DeliveryPolicy interface {
	Deliver(ctx context.Context, d Due, to []notify.Recipient) ([]notify.Recipient, error)
}

// DeliveryPolicyFunc is a DeliveryPolicy made of a function.
type DeliveryPolicyFunc func(ctx context.Context, d Due, to []notify.Recipient) ([]notify.Recipient, error)

// Deliver calls f.
func (f DeliveryPolicyFunc) Deliver(ctx context.Context, d Due, to []notify.Recipient) ([]notify.Recipient, error) {
	return f(ctx, d, to)
}

// Setting is what the host's reminder setting says now.
type Setting struct {
	ID string
	// Active is false for a setting that is off or does not exist: its rows end as
	// Deactivated, ReminderSettingInactive.
	Active bool
	// Version grows each time that the setting is saved; zero: it has none. See
	// [Candidate].SettingVersion.
	Version int64
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
	// Active, which is not an error.
	Setting(ctx context.Context, scope Scope, id string) (Setting, error)
}

// BatchSettingsSource is the batch form: it answers for many ids of one scope in
// their order, and is asked instead of Setting.
type BatchSettingsSource interface {
	Settings(ctx context.Context, scope Scope, ids []string) ([]Setting, error)
}

// settings loads the settings with those ids, in their order. Without a source
// every setting is active.
func (s *core) settings(ctx context.Context, scope Scope, ids []string) ([]Setting, error) {
	out := make([]Setting, len(ids))
	if batch, ok := s.opts.Settings.(BatchSettingsSource); ok && len(ids) > 0 {
		loaded, err := batch.Settings(ctx, scope, ids)
		if err == nil && len(loaded) != len(ids) {
			err = fmt.Errorf("%d answers for %d ids", len(loaded), len(ids))
		}
		if err != nil {
			return nil, fmt.Errorf("automation: settings: %w", err)
		}
		copy(out, loaded)
		return named(out, ids), nil
	}
	for i, id := range ids {
		out[i] = Setting{Active: true}
		if s.opts.Settings == nil {
			continue
		}
		loaded, err := s.opts.Settings.Setting(ctx, scope, id)
		if err != nil {
			return nil, fmt.Errorf("automation: setting %.40q: %w", id, err)
		}
		out[i] = loaded
	}
	return named(out, ids), nil
}

// named fills in what the host left out.
func named(settings []Setting, ids []string) []Setting {
	for i := range settings {
		settings[i].ID = ids[i]
	}
	return settings
}

// Immediate is a notification about an event itself, not scheduled ahead. It is
// made once for each event id and notification type, however often the event is
// delivered; the first one stands.
type Immediate struct {
	// Type is the notification type; default that of the reminder type whose
	// provider asks for it.
	Type         string
	BusinessUnit string
	// Recipients are those to tell; none leaves it to the subscribers of the
	// notification type.
	Recipients []notify.Recipient
	// Data is what the renderer works on, as JSON of at most notify.MaxEventData
	// bytes; default {"Source":{"Type","ID"},"Event":{"Type","ID"}}.
	Data any
	// On is when to send; zero means at once.
	On time.Time
	// Lane is storage.LaneNormal unless set.
	Lane int16
}

// planImmediates asks a provider and builds what it wants.
func (s planner) planImmediates(ctx context.Context, e Event, name string, p *eventPlan) error {
	t, _ := s.registry.reminder(name)
	wanted, err := t.Immediate.Notifications(ctx, e)
	if err != nil {
		return fmt.Errorf("automation: immediate notifications of %s: %w", name, err)
	}
	out := p.immediate
	for i, n := range wanted {
		if n.Type == "" {
			n.Type = t.notificationType()
		}
		job, err := n.job(e)
		if err != nil {
			return fmt.Errorf("automation: immediate notification %d of %s: %w", i, name, err)
		}
		out.Jobs = append(out.Jobs, job)
		out.Schedules = append(out.Schedules, notify.ScheduleFor(job, driver.Time(n.On)))
	}
	p.immediate = out
	return nil
}

func (n Immediate) job(e Event) (notify.Job, error) {
	row, err := keys.NotificationEvent{
		EntityType: e.Source.Type, Entity: e.Source.ID, EventType: e.Type, EventID: e.ID, NotificationType: n.Type,
	}.Key()
	if err != nil {
		return notify.Job{}, err
	}
	data := n.Data
	if data == nil {
		data = map[string]any{"Source": e.Source, "Event": map[string]string{"Type": e.Type, "ID": e.ID}}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return notify.Job{}, err
	}
	return notify.Job{
		Scope: e.Scope, Type: n.Type, Lane: n.Lane,
		PartitionKey: e.Source.ID, RowKey: row, BusinessUnit: n.BusinessUnit,
		EntityType: e.Source.Type, Entity: e.Source.ID, EventData: text, Recipients: n.Recipients,
		InputHash: keys.Input{
			BusinessUnit: n.BusinessUnit, SourceType: e.Source.Type, Source: e.Source.ID,
			Setting: n.Type, TriggerType: "Event", TriggerKey: e.Type, Identity: map[string]string{"event": e.ID},
		}.Hash(),
	}, nil
}

// ensureImmediate leaves a conflict with its answer: it concerns no row here.
func (s ensurer) ensureImmediate(ctx context.Context, tx storage.Tx, _ Event, p eventPlan, result *EventResult) error {
	if len(p.immediate.Jobs) == 0 {
		return nil
	}
	jobs, err := s.out.EnsureNotificationJob(ctx, tx, p.immediate.Jobs...)
	if jobs == nil && err != nil {
		return err
	}
	result.Immediate = jobs
	var schedules []notify.Schedule
	for i, job := range jobs {
		if job.Conflict == nil {
			schedules = append(schedules, p.immediate.Schedules[i])
		}
	}
	answers, err := s.out.EnsureNotificationScheduler(ctx, tx, schedules...)
	if answers == nil {
		return err
	}
	return nil // a conflict is in the answers, and recorded by the dispatcher
}

// The names that (Automation & Reminders, "Provider contracts") uses.
type (
	// IReminderTriggerProvider is [TriggerProvider].
	IReminderTriggerProvider = TriggerProvider
	// IEventInvalidationProvider is [InvalidationProvider].
	IEventInvalidationProvider = InvalidationProvider
	// IImmediateNotificationProvider is [ImmediateNotificationProvider].
	IImmediateNotificationProvider = ImmediateNotificationProvider
	// IReminderRecipientProvider is [RecipientProvider].
	IReminderRecipientProvider = RecipientProvider
	// IReminderDeliveryPolicy is [DeliveryPolicy].
	IReminderDeliveryPolicy = DeliveryPolicy
)
