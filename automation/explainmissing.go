package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// ExplainEvent is the Type of the event with which [Scheduler.ExplainMissing]
// asks a [TriggerProvider] (and its [SettingLister]) what a source should be
// reminded of now, whatever events it listens to. The event has a Scope and a
// Source, and neither ID nor Version nor Data. Nothing is written for it.
const ExplainEvent = "belfry.explain"

// maxFindings bounds the open rows that ExplainMissing names.
const maxFindings = 100

// ExplainMissing says why no row exists of a setting for a source: it looks for
// open rows, asks the setting and the type's provider, builds the candidates'
// keys as an event would, and looks those up. Providers are asked outside of any
// transaction of its own, recipients as at the moment when the row would be due.
// It writes nothing. The error is for what could not be read.
func (s *Scheduler) ExplainMissing(ctx context.Context, scope Scope, setting string, source Source) (Absence, error) {
	a := Absence{Scope: scope, Setting: setting, Source: source}
	if scope == storage.AnyScope {
		return a, errAnyScope
	}
	if setting == "" {
		return a, errors.New("automation: ExplainMissing: no setting")
	}
	if _, err := keys.Join(source.Type, source.ID); err != nil {
		return a, fmt.Errorf("automation: ExplainMissing: Source: %w", err)
	}
	if err := s.inTx(ctx, func(tx storage.Tx) error { return a.read(ctx, tx) }); err != nil {
		return a, fmt.Errorf("automation: ExplainMissing: %w", err)
	}
	if len(a.Findings) == 0 {
		if err := s.explainAbsence(within(ctx, s.tx), &a); err != nil {
			return a, fmt.Errorf("automation: ExplainMissing: %w", err)
		}
	}
	if len(a.Findings) > 0 {
		a.Cause = a.Findings[0].Cause
	}
	return a, nil
}

// read finds the open rows, and how far the events of the source have come.
func (a *Absence) read(ctx context.Context, tx storage.Tx) error {
	a.Findings, a.LastEvent = nil, ""
	key, _ := keys.Join(a.Source.Type, a.Source.ID) // was checked
	state, err := sources.Get(ctx, tx, a.Scope, key)
	switch {
	case errors.Is(err, storage.ErrNotFound):
	case err != nil:
		return err
	default:
		a.LastEvent = strings.TrimSpace(state.EventType + " " + state.EventID)
	}
	rows, err := schedules.Find(ctx, tx, a.Scope, storage.Query{Where: []storage.Cond{
		storage.Eq("setting", a.Setting), storage.Eq("source_type", a.Source.Type), storage.Eq("source", a.Source.ID), open(),
	}, Limit: maxFindings})
	for _, row := range rows {
		a.Findings = append(a.Findings, row.finding(CauseExists))
	}
	return err
}

func (r *Schedule) finding(why Cause) Finding {
	f := Finding{Key: r.Key, Cause: why, ScheduledOn: r.ScheduledOn, Status: r.Status, Reason: r.ReasonCode}
	if r.IsOnSupportHold {
		f.Reason = r.HoldReason
	}
	return f
}

// explainAbsence asks setting and provider.
func (s *Scheduler) explainAbsence(ctx context.Context, a *Absence) error {
	name := s.servedBy(ctx, a)
	if a.Cause != "" {
		return nil
	}
	settings, err := s.settings(ctx, a.Scope, []string{a.Setting})
	if err != nil {
		return err
	}
	if !settings[0].Active {
		a.Cause = CauseSettingOff
		return nil
	}
	plans := s.planMissing(ctx, a, name)
	if a.Cause != "" {
		return nil
	}
	return s.explainPlans(ctx, a, plans)
}

// explainPlans says of each row that should exist why it does not.
func (s *Scheduler) explainPlans(ctx context.Context, a *Absence, plans []plan) error {
	late, stored := map[int]bool{}, map[string]*Schedule{}
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		if plans, err = s.foresee(ctx, tx, plans); err != nil {
			return err
		}
		if plans, err = foreseeSeries(ctx, tx, s.now(), plans); err != nil {
			return err
		}
		places := map[string]int{}
		for i, p := range plans {
			places[p.want.Key] = i
		}
		if late, err = passed(ctx, tx, s.now(), plans); err != nil {
			return err
		}
		rows, err := findKeys(ctx, tx, a.Scope, places)
		for _, row := range rows {
			stored[row.Key] = row
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, p := range plans {
		a.Findings = append(a.Findings, s.findMissing(ctx, p, stored[p.want.Key], late[i]))
	}
	slices.SortStableFunc(a.Findings, func(x, y Finding) int { return cmp.Compare(nearness(x.Cause), nearness(y.Cause)) })
	return nil
}

// foresee gives plans of conditions the rows that they would ask for after the
// readings that they have, and records none.
func (s *Scheduler) foresee(ctx context.Context, tx storage.Tx, plans []plan) ([]plan, error) {
	out := slices.Clone(plans)
	for i, p := range out {
		if p.condition == nil {
			continue
		}
		place, state := p.condition.place(), p.state()
		stored, err := thresholdStates.Get(ctx, tx, place.scope, place.key)
		switch {
		case err == nil:
			decideReading(stored, state)
			state = stored
		case !errors.Is(err, storage.ErrNotFound):
			return nil, err
		}
		if out[i], err = p.fire(state, s.now()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// nearness orders findings: what could run soonest comes first.
func nearness(c Cause) int {
	return slices.Index([]Cause{CauseExists, CauseNotAskedYet, CauseNoRecipients, CauseEnded, CauseThresholdNotMet, CauseOffsetPassed, CauseTimeSkipped, CauseSeriesEnded}, c)
}

// findMissing says why the row of one plan is missing.
func (s *Scheduler) findMissing(ctx context.Context, p plan, row *Schedule, late bool) Finding {
	f := Finding{Key: p.want.Key, ScheduledOn: p.want.ScheduledOn}
	switch {
	case row != nil && (row.IsOpen() || row.IsOnSupportHold):
		return row.finding(CauseExists) // made meanwhile, or for another setting
	case p.ended:
		f.Key, f.Cause, f.ScheduledOn = "", CauseSeriesEnded, time.Time{}
		return f
	case p.unmet:
		f.Cause, f.ScheduledOn = CauseThresholdNotMet, time.Time{}
		return f
	case row != nil:
		return row.finding(CauseEnded)
	case p.skipped:
		f.Cause = CauseTimeSkipped
		return f
	case late:
		f.Cause = CauseOffsetPassed
		return f
	}
	f.Cause, f.Detail = CauseNotAskedYet, ""
	want := p.want
	t := s.tryOut(ctx, &want)
	switch {
	case t.stop == NoRecipients:
		f.Cause = CauseNoRecipients
	case t.err != nil:
		f.Detail = fmt.Sprintf("the step %q would fail: %s", t.at, storable(t.err.Error()))
	case t.stop != "":
		f.Detail = fmt.Sprintf("it would end as Deactivated, %s", t.stop)
	}
	return f
}

// tryOut takes a row through the steps of the due pass, and writes nothing.
func (s *Scheduler) tryOut(ctx context.Context, row *Schedule) *try {
	b := s.newBatch([]work.Item[Schedule]{{Row: row, Ctx: ctx}})
	b.tx = s.tx
	b.run(ctx)
	return b.tries[0]
}
