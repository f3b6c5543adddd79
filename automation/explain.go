package automation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Explanation is the story of one key: who asked for the work, what happened to
// it, and what would happen now. String tells it to people.
type Explanation struct {
	Scope Scope
	Key   string
	// Schedule is the row; nil if there is none.
	Schedule *Schedule
	// Condition is that of a threshold's key, whether there is a row or not; nil
	// for other keys.
	Condition *Condition
	// Dispatched has the coordinates of what it led to.
	Dispatched notify.DispatchResult
	// Series is the series that the key is an occurrence of; nil: of none.
	Series *SeriesState
	// Job is what its notification has led to so far; zero also where the dispatcher cannot
	// tell.
	Job notify.JobResult
	// Digests are those that its notification waits for, or was told in; none also where
	// the dispatcher cannot tell.
	Digests []notify.InDigest
	// History is what happened to it, the oldest first: who made it, the last 100
	// changes that programs and support made beside the usual way, its completion.
	History []Transition
	// Pauses are those that keep it from being claimed.
	Pauses []Pause
	// Now says what would happen at this moment, and why not more.
	Now string
}

// String is a text of several lines.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, e.Key)
	if e.Schedule != nil {
		if forgotten := e.Schedule.ForgottenOn; forgotten.IsZero() {
			e.origin(&b)
		} else {
			fmt.Fprintf(&b, "  forgotten on %s, but for what a repeated wish is answered with\n", stampText(forgotten))
		}
		e.state(&b)
	}
	e.series(&b)
	for _, t := range e.History {
		fmt.Fprintf(&b, "  %s\n", t)
	}
	fmt.Fprintf(&b, "  now: %s", e.Now)
	return b.String()
}

// origin says what the work is about and who asked for it.
func (e Explanation) origin(b *strings.Builder) {
	r := e.Schedule
	fmt.Fprintf(b, "  %s for %s %s", r.Type, r.SourceType, r.Source)
	if r.TriggerType == DateBased {
		fmt.Fprintf(b, ", %s %s, at %s %s", r.offset(), r.TargetDate, r.SendAt, r.TimeZone)
	}
	if r.TriggerType == InstantBased {
		fmt.Fprintf(b, ", %s %s, at %s %s", r.span(), stampText(r.At), r.SendAt, r.TimeZone)
	}
	if e.Condition != nil {
		fmt.Fprintf(b, ", %s", e.Condition)
	}
	fmt.Fprintf(b, ": %s\n", stampText(r.ScheduledOn))
	if first := baseKey(r.Key, r.TriggerKey); first != r.Key {
		fmt.Fprintf(b, "  a rerun of %s\n", first)
	}
	if r.Setting != r.Type {
		fmt.Fprintf(b, "  by setting %s\n", r.Setting)
	}
}

// state says what became of it.
func (e Explanation) state(b *strings.Builder) {
	r := e.Schedule
	fmt.Fprintf(b, "  %s", r.Status)
	if !r.EndedOn.IsZero() {
		fmt.Fprintf(b, " on %s", stampText(r.EndedOn))
	}
	if r.ReasonCode != "" {
		fmt.Fprintf(b, " (%s)", r.ReasonCode)
	}
	if r.EndedBecause != "" {
		fmt.Fprintf(b, ": %s", r.EndedBecause)
	}
	if r.RetryCount > 0 {
		fmt.Fprintf(b, ", failed tries: %d, lost leases among them: %d", r.RetryCount, r.LeaseLossCount)
	}
	fmt.Fprintln(b)
	if r.Diagnostics != "" {
		fmt.Fprintf(b, "  last error: %s\n", r.Diagnostics)
	}
	if r.IsOnSupportHold {
		fmt.Fprintf(b, "  on hold (%s): %s\n", r.HoldReason, r.HoldDetail)
	}
	if job := e.Dispatched.Notification; !job.IsZero() {
		fmt.Fprintf(b, "  delivery: %s, job %s / %s, %s, messages: %d\n",
			e.Dispatched.Path, job.PartitionKey, job.RowKey, e.Dispatched.Summary, e.Job.Messages)
	}
	if e.Job.Diagnostics != "" {
		fmt.Fprintf(b, "  its messages could not be rendered: %s\n", e.Job.Diagnostics)
	}
	for _, d := range e.Digests {
		fmt.Fprintf(b, "  %s: %s\n", d.RecipientRef, d)
	}
}

func stampText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// offset is the way from the date, as people say it.
func (s *Schedule) offset() string {
	switch days := s.DaysBefore; {
	case days == 0:
		return "on"
	case days == 1:
		return "1 day before"
	case days == -1:
		return "1 day after"
	case days < 0:
		return fmt.Sprintf("%d days after", -days)
	default:
		return fmt.Sprintf("%d days before", days)
	}
}

// Explain tells the story of a key: which setting and event made it, what
// happened, and what would happen now and why not. For a pending row of a
// reminder that is registered here it asks settings, validator, recipients and
// policy as the due pass would, and writes nothing. A key without a row is
// explained as well; the error is for what could not be read.
func (s *Scheduler) Explain(ctx context.Context, scope Scope, key string) (Explanation, error) {
	var e Explanation
	var row *scheduleRow
	var tooLate string // by how much its moment had passed when it was asked for
	err := s.read(ctx, func(from driver.Reader) (err error) {
		e = Explanation{Scope: scope, Key: key}
		if e.Series, err = seriesState(ctx, from, scope, key); err != nil {
			return err
		}
		row, err = schedules.Get(ctx, from, scope, key)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			if e.Condition, err = loadCondition(ctx, from, scope, key); err == nil {
				tooLate, err = askedTooLate(ctx, from, scope, key)
			}
			return err
		case err != nil:
			return err
		}
		return e.tellStory(ctx, from, row)
	})
	if err == nil {
		err = s.explainer().readJob(ctx, &e)
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("automation: Explain: %w", err)
	}
	if e.Now = s.explainer().prospect(within(ctx, s.tx), e, row); tooLate != "" {
		e.Now = "there is no row: " + tooLate
	}
	return e, nil
}

// jobReader is a dispatcher that knows what a job has led to, such as *notify.Notifier.
type jobReader interface {
	JobResult(ctx context.Context, tx storage.Tx, scope Scope, job notify.Coordinates) (notify.JobResult, error)
}

// digester is a dispatcher that knows which digests have a job, likewise.
type digester interface {
	Digests(ctx context.Context, tx storage.Tx, scope Scope, job notify.Coordinates) ([]notify.InDigest, error)
}

// tellStory reads what happened to the row, and what stands in its way.
func (e *Explanation) tellStory(ctx context.Context, from driver.Reader, row *scheduleRow) (err error) {
	told := row.view()
	e.Schedule = &told
	e.Dispatched, _ = row.Dispatched() // undecodable: Now says so
	if e.History, err = historyOf(ctx, from, row); err != nil {
		return err
	}
	if e.Condition, err = loadCondition(ctx, from, row.Scope, row.baseKey()); err != nil {
		return err
	}
	all, err := pausesOf(ctx, from, row.Scope)
	for _, p := range all {
		if p.covers(row.Scope, row.Kind) {
			e.Pauses = append(e.Pauses, p)
		}
	}
	return err
}

// readJob asks the dispatcher, if it can tell, what its notification has led to.
func (s explainer) readJob(ctx context.Context, e *Explanation) (err error) {
	job := e.Dispatched.Notification
	if job.IsZero() {
		return nil
	}
	if reader, ok := s.out.(jobReader); ok {
		if e.Job, err = reader.JobResult(ctx, s.tx, e.Scope, job); err != nil {
			return err
		}
	}
	if of, ok := s.out.(digester); ok {
		e.Digests, err = of.Digests(ctx, s.tx, e.Scope, job)
	}
	return err
}

// prospect says what would happen to the row now.
func (s explainer) prospect(ctx context.Context, e Explanation, r *scheduleRow) string {
	if r == nil {
		if why := e.Condition.missing(); why != "" {
			return why
		}
		if _, err := keys.Parse(e.Key); err != nil {
			return "there is no row, and there can be none: " + err.Error()
		}
		return "there is no row: it was not requested in this tenant, or its time had passed when it was"
	}
	switch {
	case r.IsOnSupportHold:
		return fmt.Sprintf("nothing: it is on hold (%s) until support releases it", r.HoldReason)
	case r.Status == StatusCompleted:
		return "nothing more: delivery work is queued, which does not mean that it arrived"
	case r.inShadow():
		return "nothing: the old scheduler owns the run until the roll-out moves on"
	case !r.IsOpen():
		return s.askedAgain(e, r)
	case r.Status == StatusProcessing && r.LeaseExpiresOn.After(s.now()):
		return "a worker has it"
	case r.Status == StatusProcessing:
		return "its worker is gone: the next poll counts a lost lease and puts it back" + e.stopped()
	}
	return s.when(r) + e.stopped() + s.rehearse(ctx, r)
}

// askedAgain says what it would lead to, if somebody asked for an ended row once more.
func (s explainer) askedAgain(e Explanation, r *scheduleRow) string {
	const again, never = "nothing, unless it is asked for again", "nothing, and nothing if it is asked for again: "
	now := s.now()
	switch {
	case r.recurs() && e.Series != nil && e.Series.Active:
		return "nothing: its series goes on, next " + stampText(e.Series.Next)
	case r.recurs() && !r.ScheduledOn.After(now):
		return never + "a series makes no occurrence of the past"
	case r.ReasonCode == reasons.PersonErased:
		return never + "its person was erased"
	}
	limit := ""
	if t, ok := s.registry.reminder(r.Kind); ok {
		limit = t.latenessOf(r.TriggerType).limits(now, r, false)
	}
	stored, want := *r, *r
	switch outcome, _ := decideAt(now, map[*scheduleRow]bool{&want: limit != ""})(&stored, &want); outcome {
	case storage.Reactivated:
		return again
	case causes.OffsetPassed:
		return never + r.passedBy(now, limit)
	}
	return never + "what it was about is over"
}

func (s explainer) when(r *scheduleRow) string {
	if now := s.now(); r.DueOn.After(now) {
		return fmt.Sprintf("it waits until %s (in %s)", stampText(r.DueOn), wait(r.DueOn.Sub(now)))
	}
	return "it is due"
}

// stopped says what keeps the row from being claimed.
func (e Explanation) stopped() string {
	var b strings.Builder
	for _, p := range e.Pauses {
		fmt.Fprintf(&b, "; paused by %s since %s", p.By.Actor, stampText(p.Since))
		if !p.Until.IsZero() {
			fmt.Fprintf(&b, " until %s", stampText(p.Until))
		}
		fmt.Fprintf(&b, ": %s", p.By.Reason)
	}
	return b.String()
}

// wait is a duration as people say it.
func wait(d time.Duration) string {
	if days := int(d.Hours() / 24); days >= 2 {
		return fmt.Sprintf("%d days", days)
	}
	return d.Round(time.Second).String()
}

// rehearse takes a copy of the row through the steps of the due pass.
func (s explainer) rehearse(ctx context.Context, row *scheduleRow) string {
	if _, ok := s.registry.handler(row.Kind); ok {
		return "; its handler decides then"
	}
	if _, ok := s.registry.reminder(row.Kind); !ok {
		return "; this process cannot run it, since its type is not registered here"
	}
	r := *row
	switch t := s.tryOut(ctx, &r); {
	case t.err != nil:
		return fmt.Sprintf("; as things are, the step %q would fail: %s", t.at, storable(t.err.Error()))
	case t.stop != "":
		return fmt.Sprintf("; as things are, it would end as Deactivated, %s", t.stop)
	case t.later:
		return "; as things are, it would wait on until " + stampText(t.moment)
	case r.ScheduledOn.After(s.now()) && !t.moment.IsZero() && !t.moment.Equal(r.ScheduledOn):
		return fmt.Sprintf("; a re-plan moves it to %s; as things are, delivery would be queued then (recipients: %d)", stampText(t.moment), len(t.to))
	default:
		return fmt.Sprintf("; as things are, delivery would be queued (recipients: %d)", len(t.to))
	}
}

// tryOut takes a row through the steps of the due pass, as at its moment, and writes nothing.
func (s explainer) tryOut(ctx context.Context, row *scheduleRow) *try {
	b := s.worker().newBatch([]work.Item[scheduleRow]{{Row: row, Ctx: ctx}})
	b.tx, b.now = s.tx, later(b.now, row.ScheduledOn)
	b.run(ctx)
	return b.tries[0]
}

// Condition is what is known of the condition that a threshold's key stands for.
type Condition struct {
	// Threshold is what was compared last. Before the first reading it has what
	// the key says.
	Threshold threshold.Threshold
	// Met is what the last reading said, of SourceVersion; zero: without versions.
	Met           bool
	SourceVersion int64
	// Rises is how often the condition has risen from not met to met, the first
	// reading included.
	Rises int64
}

// loadCondition loads the condition of a key; nil if the key is of no threshold.
func loadCondition(ctx context.Context, from driver.Reader, scope Scope, text string) (*Condition, error) {
	parsed, _ := keys.Parse(text) // what cannot be parsed stands for none
	key, ok := parsed.(keys.Threshold)
	if !ok {
		return nil, nil
	}
	f := key.Firing()
	c := &Condition{Threshold: threshold.Threshold{Metric: key.Metric, Value: f.Value, Policy: f.Policy, Scope: f.Scope}}
	place, err := stateKey(key)
	if err != nil {
		return nil, err
	}
	state, err := thresholdStates.Get(ctx, from, scope, place)
	if errors.Is(err, storage.ErrNotFound) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	c.Threshold.Comparison, c.Threshold.Value, c.Threshold.Reading = state.Comparison, state.Value, state.Reading
	c.Met, c.SourceVersion, c.Rises = state.Met, state.SourceVersion, state.Rises
	return c, nil
}

// String says it in one line.
func (c *Condition) String() string {
	t := c.Threshold
	words := []string{t.Metric, comparisons[t.Comparison].words, t.Value}
	if t.Policy != threshold.OncePerSource {
		words = append(words, "in", t.Scope)
	}
	words = append(words, "("+string(t.Policy)+"),", c.last())
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// last says what the last reading was.
func (c *Condition) last() string {
	t := c.Threshold
	if t.Reading == "" {
		return "no reading yet"
	}
	verdict := "not met"
	if c.Met {
		verdict = "met"
	}
	text := fmt.Sprintf("last reading %s: %s", t.Reading, verdict)
	if c.SourceVersion > 0 {
		text += fmt.Sprintf(", version %d", c.SourceVersion)
	}
	return fmt.Sprintf("%s; rises so far: %d", text, c.Rises)
}

// missing says why a condition has no row, if that follows from its readings.
func (c *Condition) missing() string {
	if c == nil || c.Met {
		return ""
	}
	return "there is no row: " + c.String()
}
