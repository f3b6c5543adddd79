package automation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/permanent"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Handler serves an automation type of the host's own. It decides about a group
// of due rows and gives one Outcome for each, in order; an error fails all of
// them. It is called from several goroutines, and again for rows whose outcome
// could not be stored. A group that fails or panics is asked again row by row,
// so that one bad row does not fail the others.
//
// Handlers decide, the pass writes: a handler writes nothing to the store but
// blobs. What it wants to exist it returns.
type Handler interface {
	Handle(ctx context.Context, due []Due) ([]Outcome, error)
}

// HandlerFunc is a Handler made of a function.
type HandlerFunc func(ctx context.Context, due []Due) ([]Outcome, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, due []Due) ([]Outcome, error) { return f(ctx, due) }

// WorkType is a kind of work of the host's own, and all that the host's code says about it.
// Only Name and Handler are required.
type WorkType struct {
	// Name is the AutomationType of its candidates. It is stored with every row and must be
	// the same in every process. It may not be empty or hold a colon or a control character.
	Name    string
	Handler Handler

	// SendAt and Zone are for candidates with a Recurrence or a Run that name none.
	SendAt string
	Zone   string

	// Lateness says what a moment that has passed is still worth; of it only Window, and of
	// a series OnlyLatest and SkipOverlapped.
	Lateness Lateness
	// CallTimeout bounds the time that the Handler takes for one group of due rows. After it
	// its context ends and the rows count as failed. Default 15 min; 6 h if it is LongRunning.
	CallTimeout time.Duration
	// LongRunning types are retried every 24 h after the usual steps, at most seven times,
	// before they are put on hold.
	LongRunning bool
	// Guarded types have runs that an old scheduler may do as well; see
	// [ReminderType].Guarded.
	Guarded bool
	// Retention says when ended rows are deleted; the zero value keeps them.
	Retention Retention
}

func (t *WorkType) check() error {
	switch {
	case t.Handler == nil:
		return errors.New("it has no Handler")
	case t.Name == TypeReminder || t.Name == TypeReportSubscription:
		return errors.New("the name is reserved")
	case t.Lateness.negative():
		return errors.New("a negative Lateness")
	case t.CallTimeout < 0:
		return errors.New("a negative CallTimeout")
	}
	if err := checkClock(t.Zone, t.SendAt); err != nil {
		return err
	}
	if err := t.Retention.check(); err != nil {
		return err
	}
	return checkName(t.Name)
}

// Handle adds a kind of work of the host's own: from now on this process serves its rows,
// which [Scheduler.Ensure] makes of candidates with that AutomationType: at a moment
// (ScheduledOn), again and again (Recurrence, until [Scheduler.Deactivate]) or now (Run). It
// panics on what only a programmer can get wrong: no handler, a name that no key can hold,
// that is taken, or that the documents reserve.
func (s *Scheduler) Handle(t WorkType) { s.claim("Handle", t, func() {}) }

// claim registers a type for the caller of that method.
func (s *Scheduler) claim(method string, t WorkType, add func()) {
	if err := t.check(); err != nil {
		panic(fmt.Sprintf("automation: %s(%q): %v", method, t.Name, err))
	}
	free := s.registry.claim(t.Name, func() {
		s.registry.work[t.Name] = t
		add()
	})
	if !free {
		panic(fmt.Sprintf("automation: %s(%q): the name is registered already", method, t.Name))
	}
}

// Outcome is what a handler decided about one row. The zero value completes it.
type Outcome struct {
	// Err fails the try; see [Permanent]. Nothing else of the outcome counts then.
	Err error
	// Deactivate ends the row as no longer wanted, which is not a failure; the reason
	// is kept with it. Result and Artifacts count as they do for a row that is
	// completed.
	Deactivate Reason
	// Result is kept with the row, merged with what is there.
	Result notify.DispatchResult
	Artifacts
}

// Artifacts are what has to exist once a row is settled. The pass ensures them
// in the transaction that settles the row, in the order of the fields. A
// conflict puts the row on support hold, and what would follow is left out.
type Artifacts struct {
	Candidates       []Candidate
	AutomationJobs   []notify.AutomationJob
	Jobs             []notify.Job
	MessagingJobs    []notify.MessagingJob
	Schedules        []notify.Schedule
	UserMessages     []notify.UserMessage
	OutgoingMessages []notify.OutgoingMessage
	// Blobs are what the artifacts name in their data; they are kept until then, at
	// least, or if it is zero for as long as the row, which [Retention] says. A row whose
	// artifacts are in conflict keeps none.
	Blobs      []storage.Ref
	BlobsUntil time.Time
}

func (a *Artifacts) empty() bool {
	return len(a.Candidates)+len(a.AutomationJobs)+len(a.Jobs)+len(a.MessagingJobs)+len(a.Schedules)+
		len(a.UserMessages)+len(a.OutgoingMessages)+len(a.Blobs) == 0
}

// deliver reports whether anything of it reaches people; rows of this package
// and traces do not.
func (a *Artifacts) deliver() bool {
	return len(a.Jobs)+len(a.MessagingJobs)+len(a.Schedules)+len(a.UserMessages)+len(a.OutgoingMessages) > 0
}

// coordinates name the delivery, the same on each try: the first artifact of the
// kinds that group others, or of the others.
func (a *Artifacts) coordinates() json.RawMessage {
	var d notify.DispatchResult
	for _, j := range slices.Clone(a.Jobs[:min(1, len(a.Jobs))]) {
		d.Notification = j.Coordinates()
	}
	for _, j := range a.MessagingJobs[:min(1, len(a.MessagingJobs))] {
		d.MessagingJob = j.GUID
	}
	if d.IsZero() {
		for _, m := range a.UserMessages[:min(1, len(a.UserMessages))] {
			d.UserMessages = []notify.Coordinates{{PartitionKey: m.PartitionKey, RowKey: m.RowKey}}
		}
		for _, m := range slices.Clone(a.OutgoingMessages[:min(1, len(a.OutgoingMessages))]) {
			d.OutgoingMessages = []notify.Coordinates{m.Coordinates()}
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // it consists of texts
	}
	return text
}

// Due is a row whose moment has come, as providers and handlers see it.
type Due struct {
	Scope          Scope
	Key            string
	AutomationType string
	Type           string // the reminder type, or the host's automation type
	TriggerType    TriggerType
	BusinessUnit   string
	Person         string // whom it is about; empty: unknown
	Setting        Setting
	Source         Source
	TriggerKey     string        // the host's own, in a rerun too
	TargetDate     Date          // zero unless DateBased; of an InstantBased one the day of At in Zone
	DaysBefore     int           // of an InstantBased one the days from the one to the other
	At             time.Time     // zero unless InstantBased, UTC
	Before         time.Duration // likewise
	ScheduledOn    time.Time     // UTC
	LocalDate      Date          // of ScheduledOn in Zone; zero unless DateBased, InstantBased, OncePerDay, of a series or a ManualRun
	Zone           string
	InputHash      string // what the row stands for
	// Threshold is set in a ThresholdCondition: what the key says, and for people
	// the Comparison, Value and Reading of what the [TriggerProvider] wants now, or those
	// of the last reading. They are empty if there was none.
	Threshold *threshold.Threshold
	// Occurrence is set in an occurrence of a series.
	Occurrence *Occurrence
	// Run is the id of a ManualRun.
	Run string
	// Attempt is 1 for the first try; a lost lease counts as one.
	Attempt int
	// Rerun is how many times support had it done once more; see
	// [Support.Rerun].
	Rerun int
}

// due decodes the row. The error says which column cannot be read.
func (r *scheduleRow) due() (Due, error) {
	d := Due{
		Scope: r.Scope, Key: r.Key, AutomationType: r.AutomationType, Type: r.Kind, TriggerType: r.TriggerType,
		BusinessUnit: r.BusinessUnit, Person: r.Person, Setting: Setting{ID: r.Setting, Active: true}, Source: Source{r.SourceType, r.Source},
		DaysBefore: r.DaysBefore, ScheduledOn: r.ScheduledOn, Zone: r.TimeZone, InputHash: r.InputHash,
		Attempt: r.RetryCount + 1,
	}
	d.TriggerKey, d.Rerun = baseTriggerKey(r.TriggerKey)
	if _, err := r.Dispatched(); err != nil {
		return Due{}, err
	}
	return d.withTrigger(r)
}

// withTrigger adds what rows of one trigger type have.
func (d Due) withTrigger(r *scheduleRow) (Due, error) {
	var err error
	switch {
	case r.recurs():
		err = d.recurring(r)
	case r.TriggerType == ManualRun:
		err = d.manual(r)
	case r.TriggerType == ThresholdCondition:
		err = d.threshold(r)
	case r.TriggerType == DateBased:
		err = d.dates(r)
	case r.TriggerType == InstantBased:
		err = d.instant(r)
	case r.TriggerType != ScheduledRun:
		return Due{}, fmt.Errorf("automation: trigger_type of %s: %.40q is unknown to this version", r.Key, r.TriggerType)
	}
	return d, err
}

func (d *Due) dates(r *scheduleRow) (err error) {
	if d.TargetDate, err = civil.ParseDate(r.TargetDate); err != nil {
		return fmt.Errorf("automation: target_date of %s: %w", r.Key, err)
	}
	return d.local(r)
}

func (d *Due) recurring(r *scheduleRow) error {
	if err := d.local(r); err != nil {
		return err
	}
	zone, err := civil.LoadZone(r.TimeZone)
	if err == nil {
		d.Occurrence, err = r.occurrence(d.LocalDate, zone)
	}
	if err != nil {
		return fmt.Errorf("automation: occurrence of %s: %w", r.Key, err)
	}
	return nil
}

func (d *Due) manual(r *scheduleRow) error {
	parsed, err := keys.Parse(r.Key)
	switch k := parsed.(type) {
	case keys.ManualReportRun:
		d.Run = k.Run
	case keys.HostRun:
		d.Run = k.Run
	}
	if d.Run == "" {
		return fmt.Errorf("automation: key of %s is not that of a run that was asked for: %w", r.Key, err)
	}
	return d.local(r)
}

func (d *Due) local(r *scheduleRow) (err error) {
	if d.LocalDate, err = civil.ParseDate(r.LocalDate); err != nil {
		return fmt.Errorf("automation: scheduled_local_date of %s: %w", r.Key, err)
	}
	if _, err = civil.LoadZone(r.TimeZone); err != nil {
		return fmt.Errorf("automation: time_zone of %s: %w", r.Key, err)
	}
	return nil
}

// Permanent marks an error of a provider, policy or handler as one that no
// retry will mend: the row is Failed and on support hold at once. It returns nil
// for nil.
func Permanent(err error) error { return permanent.Mark(err) }

// Validator loads the source of a due row again and says whether the row is
// still wanted (Automation & Reminders, "Execution-time revalidation"). It may
// be called from several goroutines and again for the same row, and changes
// nothing. Without one a source counts as valid.
type Validator interface {
	Validate(ctx context.Context, d Due) (Validity, error)
}

// Validity is a Validator's answer: [StillValid] or [NoLongerValid]. The zero value is
// NoLongerValid without a reason of its own.
type Validity struct {
	valid  bool
	reason Reason
}

// StillValid says that the source still wants what the row stands for.
func StillValid() Validity { return Validity{valid: true} }

// NoLongerValid says that the source is gone or wants no reminder any more: the
// row ends as Deactivated, which is not a failure. An empty reason is
// SourceNoLongerValid.
func NoLongerValid(reason Reason) Validity { return Validity{reason: reason} }

// why is the reason for which the row ends; empty if it goes on.
func (v Validity) why() Reason {
	if v.valid {
		return ""
	}
	return cmp.Or(v.reason, reasons.SourceNoLongerValid)
}

// word names the answer for people.
func (v Validity) word() string {
	if v.valid {
		return "StillValid"
	}
	return string(v.why())
}

// ValidatorFunc is a Validator made of a function.
type ValidatorFunc func(ctx context.Context, d Due) (Validity, error)

// Validate calls f.
func (f ValidatorFunc) Validate(ctx context.Context, d Due) (Validity, error) { return f(ctx, d) }

// revalidator answers notify's question whether a message is still wanted: it takes the
// row behind the job through the same settings and revalidate steps as when it was due.
type revalidator struct{ s *core }

// Revalidator is for a [notify.Type] that the host registers itself, because a
// [ReminderType] names it as its NotificationType: it asks before each call
// whether the message's reminder still stands, as Register has it
// asked for the types that it makes. It also serves types that are no reminder's.
func (s *Scheduler) Revalidator() notify.Revalidator { return revalidator{s.core} }

// Revalidate answers for each job in order. A job without a row behind it (an
// immediate notification) proceeds.
func (v revalidator) Revalidate(ctx context.Context, jobs []notify.Job) ([]gate.Verdict, error) {
	rows, err := v.rows(ctx, jobs)
	if err != nil {
		return nil, err
	}
	out := make([]gate.Verdict, len(jobs))
	items := map[string][]work.Item[scheduleRow]{} // by type
	places := map[*scheduleRow]int{}
	for i, row := range rows {
		if row != nil {
			items[row.Kind] = append(items[row.Kind], work.Item[scheduleRow]{Row: row, Ctx: ctx})
			places[row] = i
		}
	}
	for _, group := range items {
		b := v.s.worker().newBatch(group)
		b.steps = validitySteps
		b.run(ctx)
		for _, t := range b.tries {
			if t.err != nil {
				return nil, t.err
			}
			if t.stop != "" {
				out[places[t.row]] = gate.Skip(string(t.stop))
			}
		}
	}
	return out, nil
}

// rows gives the row behind each job, nil where there is none.
func (v revalidator) rows(ctx context.Context, jobs []notify.Job) ([]*scheduleRow, error) {
	places := map[driver.ScopedKey]int{}
	for i, j := range jobs {
		if j.SourceKey != "" {
			places[driver.ScopedKey{Scope: j.Scope, Key: j.SourceKey}] = i
		}
	}
	out := make([]*scheduleRow, len(jobs))
	err := v.s.store.View(ctx, func(from driver.Reader) error {
		found, err := schedules.GetMany(ctx, from, slices.Collect(maps.Keys(places)))
		for place, row := range found {
			out[places[place]] = row
		}
		return err
	})
	return out, err
}
