package automation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// defaultTriggerKey is that of a candidate that names none.
const defaultTriggerKey = "default"

// plan is a checked candidate: the row that it asks for.
type plan struct {
	want     scheduleRow
	lateness Lateness     // zero: its moment is never too long ago
	skipped  bool         // its local time does not exist, and the policy is GapSkip
	series   *seriesPlan  // of a recurring candidate
	ended    bool         // the series has no further occurrence
	found    *scheduleRow // the occurrence as it is and stays; nothing is written
	moves    bool         // only in a preview: the series would be written, and
	ends     *scheduleRow // this occurrence of it would end
	shadow   bool         // the old scheduler does the series' runs

	condition *condition // of a threshold; the row is complete once measured
	unmet     bool       // the condition is not met, so no row is wanted
	version   int64      // of the source that was measured
	stream    string     // what version counts

	settingVersion int64 // with which it was planned; zero: not known
}

// plans checks candidates and computes their rows. It reads no row and writes
// nothing; the error joins a *CandidateError for each candidate refused.
func (s planner) plans(ctx context.Context, candidates []Candidate) ([]plan, error) {
	out := sparePlans.take(len(candidates))
	var refused []error
	for i := range candidates {
		c := &candidates[i]
		if field, err := s.plan(ctx, c, &out[i]); err != nil {
			refused = append(refused, &CandidateError{Index: i, Type: cmp.Or(c.Type, c.AutomationType), Field: field, Err: err})
		}
		out[i].settingVersion = c.SettingVersion
	}
	return out, errors.Join(refused...)
}

// plan fills in p, a large struct of which there are many. It returns the field at
// fault beside an error that does not name it.
func (s planner) plan(ctx context.Context, c *Candidate, p *plan) (field string, err error) {
	if field, err := checkTenancy(c.Scope, c.BusinessUnit); err != nil {
		return field, err
	}
	if err := checkPart(c.Person); err != nil {
		return "Person", err
	}
	if strings.Contains(c.TriggerKey, rerunMark) {
		return "TriggerKey", errors.New("holds " + rerunMark + ", which is kept for reruns by support")
	}
	switch {
	case c.AutomationType == TypeReportSubscription:
		*p, field, err = s.planReport(ctx, *c)
		return field, err
	case c.AutomationType != "" && c.AutomationType != TypeReminder:
		return s.planHost(ctx, *c, p)
	case c.Run != "":
		return "Run", errors.New("is for reports and a host's own work; support does a reminder once more")
	}
	if err := checkName(c.Type); err != nil {
		return "Type", err
	}
	t, registered := s.registry.reminder(c.Type)
	if !registered {
		t = ReminderType{Name: c.Type}
	}
	switch {
	case c.Recurrence != nil:
		*p, field, err = s.planRecurring(ctx, *c, t)
	case c.Threshold != nil:
		*p, field, err = s.planThreshold(ctx, *c, t)
	case c.isInstant():
		return s.planInstant(ctx, *c, t, p)
	default:
		return s.planReminder(ctx, *c, t, p)
	}
	return field, err
}

// checkTenancy refuses what no part of the key looks at.
func checkTenancy(scope Scope, unit string) (field string, err error) {
	for _, part := range []struct{ field, text string }{
		{"Scope", string(scope)}, {"BusinessUnit", unit},
	} {
		if err := checkPart(part.text); err != nil {
			return part.field, err
		}
	}
	return "", nil
}

// checkPart refuses what could stand in no key; nothing may.
func checkPart(text string) error {
	switch {
	case text == "":
		return nil
	case len(text) > keys.MaxPartLen:
		return errors.New("is too long")
	}
	_, err := keys.Join(text)
	return err
}

// planHost plans the row of a type that the host added: at a moment, the next one of a
// series, or one that a person asked for.
func (s planner) planHost(ctx context.Context, c Candidate, p *plan) (field string, err error) {
	switch {
	case c.Type != "" && c.Type != c.AutomationType:
		return "Type", errors.New("is for reminders; a host's type has its AutomationType only")
	case !c.TargetDate.IsZero() || c.DaysBefore != 0:
		return "TargetDate", errors.New("is for reminders; a host's type has ScheduledOn, Recurrence or Run")
	case c.isInstant():
		return "At", errors.New("is for reminders; a host's type has ScheduledOn, Recurrence or Run")
	case c.Threshold != nil:
		return "Threshold", errors.New("is for reminders; a host's type has ScheduledOn, Recurrence or Run")
	case c.Recurrence != nil || c.Run != "":
		return s.planHostRun(ctx, c, p)
	case c.ScheduledOn.IsZero():
		return "ScheduledOn", errors.New("is not set, and neither are Recurrence and Run")
	}
	c.TriggerKey = cmp.Or(c.TriggerKey, defaultTriggerKey)
	key, err := keys.Host{Type: c.AutomationType, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey}.Key()
	if err != nil {
		return "", err
	}
	c.Type, c.Setting = c.AutomationType, cmp.Or(c.Setting, c.AutomationType)
	c.fill(&p.want, key, ScheduledRun, keys.Input{})
	p.want.ScheduledOn = driver.Time(c.ScheduledOn)
	return "", nil
}

// planHostRun plans an occurrence, or a run that was asked for. Their keys have no setting.
func (s planner) planHostRun(ctx context.Context, c Candidate, p *plan) (field string, err error) {
	switch {
	case c.Recurrence != nil && c.Run != "":
		return "Run", errors.New("does not go with a Recurrence: a candidate has one of them")
	case c.Setting != "" && c.Setting != c.AutomationType:
		return "Setting", errors.New("does not go with a Recurrence or a Run of a host's type")
	}
	c.Type, c.Setting, c.TriggerKey = c.AutomationType, c.AutomationType, cmp.Or(c.TriggerKey, defaultTriggerKey)
	if c.Recurrence == nil {
		c.Recurrence = &Recurrence{} // what is refused beside one is refused beside a Run
	}
	if field, err := c.checkRecurring(); err != nil {
		return field, err
	}
	own := s.registry.workType(c.AutomationType)
	t := ReminderType{Name: own.Name, SendAt: own.SendAt, Zone: own.Zone}
	if c.Run != "" {
		t.Zone = cmp.Or(t.Zone, "UTC") // of its local date alone
		key, err := keys.HostRun{Type: c.AutomationType, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey, Run: c.Run}.Key()
		if err != nil {
			return "", err
		}
		*p, field, err = s.planManual(ctx, c, t, key)
		return field, err
	}
	*p, field, err = s.planSeries(ctx, c, t, Recurring)
	return field, err
}

// planReminder plans the row of a date-based reminder.
func (s planner) planReminder(ctx context.Context, c Candidate, t ReminderType, p *plan) (field string, err error) {
	if !c.ScheduledOn.IsZero() {
		return "ScheduledOn", errors.New("is for types that hosts add; a reminder has TargetDate")
	}
	if !c.TargetDate.Valid() {
		return "TargetDate", errors.New("date " + c.TargetDate.String() + " does not exist")
	}
	c = c.reminder(t)
	date := c.TargetDate.String()
	key, err := keys.Reminder{
		Setting: c.Setting, SourceType: c.Source.Type, Source: c.Source.ID, TriggerKey: c.TriggerKey,
		TargetDate: date, OffsetDays: c.DaysBefore,
	}.Key()
	if err != nil {
		return "", err
	}
	c.fill(&p.want, key, DateBased, keys.Input{TargetDate: date, OffsetDays: c.DaysBefore})
	p.want.TargetDate = date
	field, err = s.resolve(ctx, &p.want, c, t)
	if errors.Is(err, civil.ErrSkipped) {
		p.skipped = true
		return "", nil
	}
	p.lateness = t.latenessOf(DateBased)
	return field, err
}

// row is the row that the candidate asks for, without its moment.
func (c *Candidate) row(key string, trigger TriggerType, in keys.Input) scheduleRow {
	var r scheduleRow
	c.fill(&r, key, trigger, in)
	return r
}

// fill fills in what does not depend on the moment.
func (c *Candidate) fill(r *scheduleRow, key string, trigger TriggerType, in keys.Input) {
	in.SourceType, in.Source = c.Source.Type, c.Source.ID // the unit moves with the row
	in.Setting, in.TriggerType, in.TriggerKey = c.Setting, string(trigger), c.TriggerKey
	in.Identity = c.Identity
	r.Scope, r.Key, r.Kind, r.Status, r.Lane = c.Scope, key, c.Type, StatusPending, c.Lane
	r.AutomationType, r.TriggerType, r.BusinessUnit, r.Setting = c.AutomationType, trigger, c.BusinessUnit, c.Setting
	r.Person = c.Person
	r.SourceType, r.Source, r.TriggerKey, r.DaysBefore = c.Source.Type, c.Source.ID, c.TriggerKey, c.DaysBefore
	r.InputHash = in.Hash()
}

// planThreshold checks a candidate with a threshold. Which row it asks for is
// known once the reading is compared with those before; see measure.
func (s planner) planThreshold(ctx context.Context, c Candidate, t ReminderType) (plan, string, error) {
	if c.isInstant() {
		return plan{}, "At", errInstant
	}
	if field := c.dated(); field != "" {
		return plan{}, field, errors.New("is not for candidates with a Threshold, which are due at once")
	}
	full, field, err := completeThreshold(*c.Threshold)
	if err != nil {
		return plan{}, "Threshold." + field, err
	}
	c = c.reminder(t)
	c.Threshold = &full
	k := condition{candidate: c, met: meets(full.Comparison, full.Reading, full.Value)}
	if full.Policy == threshold.OncePerDay {
		if k.candidate.Zone, k.loc, err = s.zone(ctx, c, t); err != nil {
			return plan{}, "Zone", err
		}
	}
	// The longest day and number show that no firing can be refused later.
	longest, err := k.row("9999-12-31", math.MaxInt64)
	if err != nil {
		return plan{}, "", err
	}
	id, _, _ := conditionOf(&longest)
	k.state = id.state
	return plan{want: longest, condition: &k, unmet: !k.met}, "", nil
}

// reminder fills in what a candidate of a reminder may leave out.
func (c Candidate) reminder(t ReminderType) Candidate {
	c.AutomationType = TypeReminder
	c.Setting, c.TriggerKey = cmp.Or(c.Setting, c.Type), cmp.Or(c.TriggerKey, defaultTriggerKey)
	if t.Urgent && c.Lane == storage.LaneNormal {
		c.Lane = storage.LaneUrgent
	}
	return c
}

// dated names the first field that says when, if there is one.
func (c Candidate) dated() string {
	switch {
	case !c.TargetDate.IsZero():
		return "TargetDate"
	case c.DaysBefore != 0:
		return "DaysBefore"
	case c.SendAt != "":
		return "SendAt"
	case !c.ScheduledOn.IsZero():
		return "ScheduledOn"
	}
	return ""
}

// complete fills in the defaults and the one spelling of the numbers. It
// returns the field at fault beside an error.
func completeThreshold(t threshold.Threshold) (out threshold.Threshold, field string, err error) {
	t.Comparison = cmp.Or(t.Comparison, threshold.AtLeast)
	t.Policy, t.Scope = cmp.Or(t.Policy, threshold.OncePerThreshold), cmp.Or(t.Scope, defaultThresholdScope)
	if err = checkComparison(t.Comparison); err != nil {
		return t, "Comparison", err
	}
	if t.Value, err = keys.Decimal(t.Value); err != nil {
		return t, "Value", err
	}
	if t.Reading, err = keys.Decimal(t.Reading); err != nil {
		return t, "Reading", err
	}
	return t, "", nil
}

// eventData is what the renderer of a reminder works on.
type eventData struct {
	Source     Source
	TargetDate Date
	DaysBefore int
	Key        string
	At         *occurrenceData `json:",omitempty"` // of a reminder before an instant
	Occurrence *occurrenceData `json:",omitempty"` // of a recurring reminder
	*thresholdData
}

// occurrenceData is what texts may say about an occurrence, or an instant.
type occurrenceData struct {
	LocalDate Date
	LocalTime string
	Zone      string
}

func (d Due) occurrenceData() *occurrenceData {
	if d.Occurrence == nil {
		return nil
	}
	return &occurrenceData{d.Occurrence.LocalDate, d.Occurrence.LocalTime, d.Occurrence.Zone}
}

// messagePlanner is a dispatcher that can name messages before they exist.
type messagePlanner interface {
	PlannedMessages(jobType, rowKey string, sourceOn time.Time, to []notify.Recipient) (users, outgoing []notify.Coordinates)
}

// makeArtifacts says what delivery needs: the path of a direct reminder. All
// identities follow from the row, so the row can name them before they exist.
func (b *batch) makeArtifacts(context.Context) {
	b.each(func(t *try) error {
		job, err := t.job(b.reminder.notificationType())
		if err != nil {
			return err
		}
		schedule := notify.ScheduleFor(job, t.row.ScheduledOn)
		guard, err := schedule.Guard()
		if err != nil {
			return err
		}
		t.result = notify.DispatchResult{
			Path: path(t.to), AutomationJob: job.Coordinates(), Notification: job.Coordinates(), Scheduler: guard,
			Summary: fmt.Sprintf("recipients: %d", len(t.to)),
		}
		if out, ok := b.s.out.(messagePlanner); ok {
			t.result.UserMessages, t.result.OutgoingMessages = out.PlannedMessages(job.Type, job.RowKey, job.SourceOn, job.Recipients)
		}
		t.decision = &decision{artifacts: Artifacts{
			AutomationJobs: []notify.AutomationJob{t.mirror()}, Jobs: []notify.Job{job}, Schedules: []notify.Schedule{schedule},
		}}
		t.done = true
		return nil
	})
}

func (t *try) job(notificationType string) (notify.Job, error) {
	row := t.row
	data, err := json.Marshal(eventData{t.due.Source, t.due.TargetDate, t.due.DaysBefore, row.Key, t.due.instantData(), t.due.occurrenceData(), t.due.thresholdData()})
	return notify.Job{
		Scope: row.Scope, Type: notificationType, Lane: row.Lane,
		PartitionKey: row.Source, RowKey: keys.AutomationRowKey(row.Key), BusinessUnit: row.BusinessUnit,
		EntityType: row.SourceType, Entity: row.Source, EventData: data, Recipients: t.to,
		InputHash: row.InputHash, SourceKey: row.Key, SourceOn: row.ScheduledOn, ValidUntil: row.validUntil(),
	}, err
}

// mirror is the row's trace in the history of its source.
func (t *try) mirror() notify.AutomationJob {
	row := t.row
	return notify.AutomationJob{
		Scope: row.Scope, Type: row.AutomationType, Lane: row.Lane,
		PartitionKey: row.Source, RowKey: keys.AutomationRowKey(row.Key), SchedulerKey: row.Key,
		TriggerType: string(row.TriggerType), BusinessUnit: row.BusinessUnit, SourceType: row.SourceType,
		Source: row.Source, Setting: row.Setting, InputHash: row.InputHash, Result: t.result, ScheduledOn: row.ScheduledOn,
	}
}

// path is by (Communication - System architecture, "Choose send path by
// producer"): a reminder that goes to inboxes only makes no outgoing message.
func path(to []notify.Recipient) notify.Path {
	outgoing := func(r notify.Recipient) bool { return r.Channel != "" }
	if len(to) > 0 && !slices.ContainsFunc(to, outgoing) {
		return notify.PathUIOnlyReminder
	}
	return notify.PathDirectReminder
}
