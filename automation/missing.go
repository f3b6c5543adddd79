package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/causes"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Finding is what is known about one row that exists or could.
type Finding struct {
	Key         string // empty if no key can be built
	Cause       causes.Cause
	ScheduledOn time.Time // zero if it is not known
	Status      string    // of a row that exists
	Reason      Reason    // of a row that has ended or is on hold
	Detail      string    // for people
}

// Absence says why no row exists for a setting and a source. String tells it to
// people.
type Absence struct {
	Scope   Scope
	Setting string
	Source  Source
	// Cause says why the setting, its type or its provider asks for none, or else is the
	// one of the first finding.
	Cause  causes.Cause
	Detail string // for people; may be empty
	// LastEvent is the event of the source that was handled last, "{type} {id}";
	// empty: none ever was.
	LastEvent string
	// Findings are about single rows, those that are nearest to running first.
	Findings []Finding
}

// String is a text of several lines.
func (a Absence) String() string {
	var b strings.Builder
	what, why := "no open row", ": "+a.Cause.Words()
	if a.Cause == causes.Exists {
		what, why = "open rows", ""
	}
	fmt.Fprintf(&b, "%s of %s for %s %s%s", what, a.Setting, a.Source.Type, a.Source.ID, why)
	if a.Detail != "" {
		fmt.Fprintf(&b, ": %s", a.Detail)
	}
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "\n  %s", f)
	}
	if a.LastEvent == "" {
		b.WriteString("\n  no event of the source was ever handled")
	} else {
		fmt.Fprintf(&b, "\n  last event of the source: %s", a.LastEvent)
	}
	return b.String()
}

// String is a line of text.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", cmp.Or(f.Key, "no key"), f.Cause.Words())
	if f.Status != "" {
		fmt.Fprintf(&b, ", %s", f.Status)
	}
	if f.Reason != "" {
		fmt.Fprintf(&b, ", %s", f.Reason)
	}
	if !f.ScheduledOn.IsZero() {
		fmt.Fprintf(&b, ", for %s", stampText(f.ScheduledOn))
	}
	if f.Detail != "" {
		fmt.Fprintf(&b, " (%s)", f.Detail)
	}
	return b.String()
}

// maxFindings bounds the open rows that ExplainMissing names.
const maxFindings = 100

// ExplainMissing says why no row exists of a setting for a source: it looks for
// open rows, asks the setting and the type's provider, builds the candidates'
// keys as an event would, and looks those up. Providers are asked outside of any
// transaction of its own, recipients as at the moment when the row would be due.
// It writes nothing. The error is for what could not be read.
func (s *Scheduler) ExplainMissing(ctx context.Context, scope Scope, setting string, source Source) (Absence, error) {
	a := Absence{Scope: scope, Setting: setting, Source: source}
	if setting == "" {
		return a, errors.New("automation: ExplainMissing: no setting")
	}
	if _, err := keys.Join(source.Type, source.ID); err != nil {
		return a, fmt.Errorf("automation: ExplainMissing: Source: %w", err)
	}
	if err := s.read(ctx, func(from driver.Reader) error { return a.read(ctx, from) }); err != nil {
		return a, fmt.Errorf("automation: ExplainMissing: %w", err)
	}
	if !slices.ContainsFunc(a.Findings, func(f Finding) bool { return f.Cause == causes.Exists }) {
		if err := s.explainer().explainAbsence(within(ctx, s.tx), &a); err != nil {
			return a, fmt.Errorf("automation: ExplainMissing: %w", err)
		}
	}
	slices.SortStableFunc(a.Findings, func(x, y Finding) int { return cmp.Compare(nearness(x.Cause), nearness(y.Cause)) })
	if len(a.Findings) > 0 && (a.Cause == "" || a.Cause == causes.NoProvider) {
		a.Cause = a.Findings[0].Cause
	}
	return a, nil
}

// read finds the open rows, and how far the events of the source have come.
func (a *Absence) read(ctx context.Context, from driver.Reader) error {
	a.Findings, a.LastEvent = nil, ""
	key, _ := keys.Join(a.Source.Type, a.Source.ID) // was checked
	state, err := sources.Get(ctx, from, a.Scope, key)
	switch {
	case errors.Is(err, storage.ErrNotFound):
	case err != nil:
		return err
	default:
		a.LastEvent = strings.TrimSpace(state.EventType + " " + state.EventID)
		if err := a.readPassed(ctx, from, state.Passed); err != nil {
			return err
		}
	}
	rows, err := schedules.Find(ctx, from, a.Scope, driver.Query{Where: []driver.Cond{
		driver.Eq("setting", a.Setting), driver.Eq("source_type", a.Source.Type), driver.Eq("source", a.Source.ID), open(),
	}, Limit: maxFindings})
	for _, row := range rows {
		a.Findings = append(a.Findings, findingOf(row))
	}
	return err
}

// readPassed finds what was asked for too late, and is not there.
func (a *Absence) readPassed(ctx context.Context, from driver.Reader, all []passed) error {
	var places []driver.ScopedKey
	var asked []passed
	for _, p := range all {
		if p.Setting == a.Setting {
			asked = append(asked, p)
			places = append(places, driver.ScopedKey{Scope: a.Scope, Key: keyPrefix(a.Setting, a.Source) + p.Key})
		}
	}
	rows, err := schedules.GetMany(ctx, from, places, "key")
	for i, p := range asked {
		if rows[places[i]] == nil {
			a.Findings = append(a.Findings, Finding{Key: places[i].Key, Cause: causes.OffsetPassed, ScheduledOn: p.ScheduledOn, Detail: p.Why})
		}
	}
	return err
}

// findingOf is about a row that is there: one that is open exists, though it may be on hold.
func findingOf(r *scheduleRow) Finding {
	f := Finding{Key: r.Key, Cause: causes.Exists, ScheduledOn: r.ScheduledOn, Status: r.Status, Reason: r.ReasonCode}
	if !r.IsOpen() {
		f.Cause = causes.Ended
	}
	if r.IsOnSupportHold {
		f.Reason = r.HoldReason
	}
	return f
}

// explainAbsence asks setting and provider.
func (s explainer) explainAbsence(ctx context.Context, a *Absence) error {
	t := s.servedBy(ctx, a)
	if a.Cause != "" {
		return nil
	}
	settings, err := s.settings(ctx, a.Scope, []string{a.Setting})
	if err != nil {
		return err
	}
	if !settings[0].Active {
		a.Cause = causes.SettingInactive
		return nil
	}
	p, err := s.ask(ctx, t, a.Scope, a.Source)
	if err != nil {
		return err
	}
	if a.narrow(p.sources[0]); a.Cause != "" {
		return nil
	}
	found, err := s.findAll(ctx, p)
	for _, f := range found {
		known := slices.IndexFunc(a.Findings, func(k Finding) bool { return k.Key == f.Key && f.Key != "" })
		switch {
		case known < 0:
			a.Findings = append(a.Findings, f)
		case f.Cause != causes.OffsetPassed: // else it is remembered when it was asked for
			a.Findings[known] = f
		}
	}
	return err
}

// ask plans what a source wants of a type now, as a re-plan does. What the provider cannot
// say is the err of the source.
func (s explainer) ask(ctx context.Context, t ReminderType, scope Scope, source Source) (*page, error) {
	p := &page{
		s: s.core, t: t, scope: scope, sourceType: source.Type, now: s.now(), explains: true,
		sources: []*pageSource{{event: Event{Scope: scope, Source: source}}},
	}
	err := p.plan(remembering(ctx), p.sources)
	if err == nil {
		_, err = p.loadSettings(ctx, p.sources)
	}
	return p, err
}

// findAll says of each row that is planned for the source of a page whether it exists, and
// why not.
func (s explainer) findAll(ctx context.Context, p *page) (out []Finding, err error) {
	x := p.sources[0]
	x.plan.plans = distinct(x.plan.plans)
	if err = s.read(ctx, func(from driver.Reader) error { return p.compare(ctx, from, p.sources) }); err != nil {
		return nil, err
	}
	for _, v := range x.found.verdicts {
		out = append(out, s.findMissing(ctx, v))
	}
	return out, nil
}

// nearness orders findings: what could run soonest comes first.
func nearness(c causes.Cause) int {
	return slices.Index([]causes.Cause{causes.Exists, causes.NotAskedYet, causes.NoRecipients, causes.Ended, causes.ThresholdNotMet, causes.OffsetPassed, causes.TimeSkipped, causes.SeriesEnded}, c)
}

// absences are the outcomes by which no row is made. Each is a cause, too.
var absences = []storage.Outcome{causes.SettingInactive, causes.TimeSkipped, causes.ThresholdNotMet, causes.SeriesEnded, causes.OffsetPassed}

// findMissing says why the row of one plan is missing.
func (s explainer) findMissing(ctx context.Context, v verdict) Finding {
	f := Finding{Key: v.plan.want.Key, ScheduledOn: v.plan.want.ScheduledOn}
	if slices.Contains(absences, v.outcome) {
		f.Cause = causes.Cause(v.outcome)
	}
	switch {
	case v.row != nil && (v.row.IsOpen() || f.Cause == "" || f.Cause == causes.OffsetPassed):
		return findingOf(v.row)
	case f.Cause == causes.SeriesEnded:
		return Finding{Cause: f.Cause}
	case f.Cause == causes.ThresholdNotMet:
		f.ScheduledOn = time.Time{}
		return f
	case f.Cause == causes.OffsetPassed:
		f.Detail = v.plan.want.passedBy(s.now(), v.limit)
		return f
	case f.Cause != "":
		return f
	}
	f.Cause = causes.NotAskedYet
	want := v.plan.want
	t := s.tryOut(ctx, &want)
	switch {
	case t.stop == reasons.NoRecipients:
		f.Cause = causes.NoRecipients
	case t.err != nil:
		f.Detail = fmt.Sprintf("the step %q would fail: %s", t.at, storable(t.err.Error()))
	case t.stop != "":
		f.Detail = fmt.Sprintf("it would end as Deactivated, %s", t.stop)
	}
	return f
}

// servedBy finds the reminder type that serves the setting of a: the one of that
// name, or the first whose provider speaks for it. It sets the cause if none does.
func (s explainer) servedBy(ctx context.Context, a *Absence) (t ReminderType) {
	if _, ok := s.registry.handler(a.Setting); ok {
		a.Cause, a.Detail = causes.NoProvider, "it is a type of the host's own"
		return t
	}
	if t, ok := s.registry.reminder(a.Setting); ok {
		if t.Triggers == nil {
			a.Cause = causes.NoProvider
		}
		return t
	}
	for _, name := range slices.Sorted(slices.Values(s.registry.types())) {
		t, ok := s.registry.reminder(name)
		if !ok || t.Triggers == nil {
			continue
		}
		if p, err := s.ask(ctx, t, a.Scope, a.Source); err == nil && slices.Contains(p.sources[0].plan.spoken, a.Setting) {
			return t
		}
	}
	a.Cause = causes.NoSuchType
	return t
}

// narrow leaves of what a source wants the plans of the setting of a. It sets the cause if
// there are none, or cannot be.
func (a *Absence) narrow(x *pageSource) {
	if x.err != nil {
		a.refuse(x.err)
		return
	}
	all := len(x.plan.plans)
	x.plan.plans = slices.DeleteFunc(x.plan.plans, func(p plan) bool { return p.want.Setting != a.Setting })
	if len(x.plan.plans) > 0 {
		return
	}
	a.Cause = causes.ProviderGaveNone
	if all > 0 {
		a.Detail = fmt.Sprintf("it gave %d of other settings", all)
	}
}

// refuse says what is wrong with the provider, or with a candidate of it.
func (a *Absence) refuse(err error) {
	a.Cause, a.Detail = causes.ProviderFailed, storable(err.Error())
	var refused *CandidateError
	if errors.As(err, &refused) {
		a.Cause = causes.CandidateRefused
		if refused.Field == "Zone" {
			a.Cause = causes.ZoneUnknown
		}
	}
}
