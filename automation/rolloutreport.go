package automation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// RolloutReport says how the runs of a part did, stage by stage.
type RolloutReport struct {
	Part   RolloutPart
	Window Window
	// Stages has those in which there were runs, the first one first. A run counts
	// for the stage in which it was delivered, else for the one of its part now.
	Stages []StageReport
	// Capped says that there are more than 100,000 runs, which are looked at.
	Capped bool
}

// StageReport counts runs of one stage.
type StageReport struct {
	Stage Stage
	Runs  int
	// Delivered here, DeliveredThere by the old scheduler, and Cancelled: nothing
	// was to be delivered.
	Delivered, DeliveredThere, Cancelled int
	// Conflicts are on hold since both sides wanted them, Doubled were delivered by
	// both, as far as the old scheduler has said so.
	Conflicts, Doubled int
	// Failed tries of runs that are not delivered, and runs that are on hold for
	// another reason than a conflict.
	Failing, Held int
	// Undelivered runs have come, and their owner has not delivered them.
	Undelivered int
	// How long after its moment a run was delivered here.
	LatencyMedian, Latency95, LatencyMax time.Duration

	latencies []time.Duration
}

// RolloutReport counts the runs of a part whose moment is in the window: what to
// watch while a stage lasts. It writes nothing.
//
//spec:r-035
func (s Rollout) RolloutReport(ctx context.Context, part RolloutPart, w Window) (RolloutReport, error) {
	w, err := w.check(s.now())
	if err == nil {
		err = part.check()
	}
	out := RolloutReport{Part: part, Window: w}
	byStage := map[Stage]*StageReport{}
	if err == nil {
		err = s.read(ctx, func(from driver.Reader) error {
			clear(byStage)
			out.Capped, err = s.countRuns(ctx, from, part, w, byStage)
			return err
		})
	}
	if err != nil {
		return RolloutReport{}, fmt.Errorf("automation: RolloutReport: %w", err)
	}
	for stage := StageDesign; stage <= StageCutOver; stage++ {
		if r := byStage[stage]; r != nil {
			r.summarize()
			out.Stages = append(out.Stages, *r)
		}
	}
	return out, nil
}

func (s Rollout) countRuns(ctx context.Context, from driver.Reader, part RolloutPart, w Window, byStage map[Stage]*StageReport) (bool, error) {
	type run struct {
		o   *ownership
		row *scheduleRow
	}
	var runs []run
	var parts []RolloutPart
	capped, err := eachRun(ctx, from, part, w, func(o *ownership, row *scheduleRow) {
		runs, parts = append(runs, run{o, row}), append(parts, o.rolloutPart())
	})
	if err != nil {
		return false, err
	}
	stages, err := loadStages(ctx, from, parts)
	for _, r := range runs {
		stage := r.o.Stage
		if !r.o.ran(AutomationScheduler) {
			stage = stages.of(r.o.rolloutPart())
		}
		if byStage[stage] == nil {
			byStage[stage] = &StageReport{Stage: stage}
		}
		byStage[stage].add(r.o, r.row)
	}
	return capped, err
}

// add counts one run; row may be nil.
func (r *StageReport) add(o *ownership, row *scheduleRow) {
	r.Runs++
	switch {
	case o.ran(AutomationScheduler):
		r.Delivered++
		r.latencies = append(r.latencies, o.EndedOn.Sub(o.ScheduledOn))
		if !o.OldRanOn.IsZero() {
			r.Doubled++
		}
	case o.ran(OldScheduler):
		r.DeliveredThere++
	case o.Status == OwnershipCancelled:
		r.Cancelled++
	default:
		r.Undelivered++
	}
	switch {
	case row == nil:
	case row.IsOnSupportHold && row.HoldReason == OwnershipConflict:
		r.Conflicts++
	case row.IsOnSupportHold:
		r.Held++
	case row.IsOpen() && row.RetryCount > 0:
		r.Failing++
	}
}

func (r *StageReport) summarize() {
	slices.Sort(r.latencies)
	if n := len(r.latencies); n > 0 {
		r.LatencyMedian, r.Latency95, r.LatencyMax = r.latencies[n/2], r.latencies[n*95/100], r.latencies[n-1]
	}
	r.latencies = nil
}

// OldReport is what [Rollout.ReportOldRun] found.
type OldReport struct {
	// Recorded runs were news, Known ones were reported or delivered under the guard
	// before.
	Recorded, Known int
	// Trespassed names runs that were this side's and not delivered yet. They count
	// as delivered by the old scheduler from now on; where this side wanted them,
	// their rows go on hold when they are due.
	Trespassed []string
	// Doubled names runs that this side had delivered already: people heard twice.
	Doubled []string
}

// ReportOldRun tells what the old scheduler has done, as long as it does not ask
// the guard itself: in [StageDesign] and [StageShadow]. [Rollout.Compare] looks
// at it, and a run that was reported is never delivered here. Runs that are not
// known here belong to part for the comparison, whose Type is required. It is
// safe to repeat; the first report of a run stands.
//
//spec:r-032
func (s Rollout) ReportOldRun(ctx context.Context, part RolloutPart, runs ...OldRun) (OldReport, error) {
	if err := part.check(); err != nil {
		return OldReport{}, err
	}
	typed := make([]OldRun, len(runs))
	for i, run := range runs {
		run.Type = part.Type
		typed[i] = run
	}
	var report OldReport
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := s.oldRows(part.Scope, typed, (*ownership).delivered)
		if err != nil {
			return err
		}
		for _, o := range rows {
			o.BusinessUnit = part.BusinessUnit
		}
		before := map[string]ownership{}
		got, err := ownerships.Ensure(ctx, tx, func(stored, want *ownership) (storage.Outcome, bool) {
			before[stored.Key] = *stored
			return stored.reported(want)
		}, rows...)
		report = OldReport{}
		for _, g := range got {
			was, known := before[g.Row.Key]
			report.count(g, was, known)
		}
		return err
	})
	if err != nil {
		return OldReport{}, fmt.Errorf("automation: ReportOldRun: %w", err)
	}
	return report, nil
}

// reported records that the old scheduler has delivered the run, whoever owns
// it: what is delivered is delivered.
func (o *ownership) reported(want *ownership) (storage.Outcome, bool) {
	switch {
	case !o.OldRanOn.IsZero():
		return storage.Unchanged, false
	case o.Status != OwnershipDeliveryCreated:
		if o.Status == OwnershipCancelled {
			o.to(time.Time{}, OwnershipOwned)
		}
		o.give(OldScheduler)
		o.to(want.EndedOn, OwnershipDeliveryCreated)
		o.Coordinates = want.Coordinates
	}
	o.OldRanOn = want.OldRanOn
	return storage.Updated, true
}

func (r *OldReport) count(g driver.Ensured[ownership], was ownership, known bool) {
	switch {
	case known && was.ran(AutomationScheduler):
		r.Doubled = append(r.Doubled, g.Row.Key)
	case g.Outcome == storage.Unchanged:
		r.Known++
	case known && was.Owner == AutomationScheduler:
		r.Trespassed = append(r.Trespassed, g.Row.Key)
	default:
		r.Recorded++
	}
}

// wakeSeries moves series of the part on whose current occurrence came while
// they were in shadow: nobody did, since nothing was due. Going back there is
// nothing to wake.
func (m *moving) wakeSeries(ctx context.Context) error {
	if m.report.DryRun || !m.report.To.runs("") {
		return nil
	}
	for after := (*driver.Position)(nil); ; {
		var page []*series
		err := m.s.inTx(ctx, func(tx storage.Tx) (err error) {
			if page, err = m.report.Part.series(ctx, tx, after); err != nil {
				return err
			}
			return m.s.rollout().advanceShadows(ctx, tx, page)
		})
		if err != nil || len(page) == 0 {
			return err
		}
		after = &driver.Position{Value: page[len(page)-1].Key, ID: page[len(page)-1].ID}
	}
}

// series reads a page of active series that may belong to the part, in the order
// of their keys.
func (p RolloutPart) series(ctx context.Context, from driver.Reader, after *driver.Position) ([]*series, error) {
	where := []driver.Cond{driver.Eq("kind", p.Type), driver.Eq("active", true)}
	if p.BusinessUnit != "" {
		where = append(where, driver.Eq("business_unit", p.BusinessUnit))
	}
	if p.Source != "" {
		where = append(where, driver.Eq("source", p.Source))
	}
	if p.Setting != "" { // the beginning of the key
		automationType := TypeReminder
		if p.Setting == TypeReportSubscription {
			automationType = TypeReportSubscription
		}
		prefix := strings.Join([]string{automationType, p.Setting, ""}, "\x1f")
		where = append(where, driver.Eq("setting", p.Setting), driver.Greater("key", prefix), driver.Less("key", prefix+"\U0010ffff"))
	}
	return seriesTable.Find(ctx, from, p.Scope, driver.Query{Where: where, OrderBy: "key", Limit: movePage, After: after})
}

// advanceShadows moves series on whose current occurrence has come in shadow, or was
// delivered ahead of its moment.
func (s Rollout) advanceShadows(ctx context.Context, tx storage.Tx, page []*series) error {
	rows, err := occurrencesOf(ctx, tx, page)
	if err != nil {
		return err
	}
	ended, err := s.deliveredAhead(ctx, tx, page, rows)
	if err != nil {
		return err
	}
	var left []gone
	for _, d := range page {
		if row := rows[d.ID]; row != nil && row.inShadow() && (ended[d.ID] || !d.NextOn.After(s.now())) {
			g := row.gone()
			g.reason = Shadow
			left = append(left, g)
		}
	}
	return s.recurrer().advance(ctx, tx, left)
}

// deliveredAhead says of which series the old scheduler has delivered the current
// occurrence whose moment lies ahead here: it ran early, or its clock is fast.
func (s Rollout) deliveredAhead(ctx context.Context, from driver.Reader, page []*series, rows map[int64]*scheduleRow) (map[int64]bool, error) {
	var places []driver.Place
	for _, d := range page {
		if row := rows[d.ID]; row != nil && row.inShadow() && d.NextOn.After(s.now()) {
			places = append(places, schedules.PlaceOf(row))
		}
	}
	known, err := ownerships.GetMany(ctx, from, places)
	out := map[int64]bool{}
	for _, d := range page {
		if row := rows[d.ID]; row != nil {
			o := known[schedules.PlaceOf(row)]
			out[d.ID] = o != nil && o.ran(OldScheduler)
		}
	}
	return out, err
}

// rolledOut counts a run that the due pass settled under the guard. It is told
// inside the transaction, so one that runs again counts again.
func (t *telemetry) rolledOut(ctx context.Context, o *ownership, conflict bool, now time.Time) {
	outcome := o.Status
	switch {
	case conflict:
		outcome = "Conflict"
	case o.Owner == OldScheduler:
		outcome = string(Shadow)
	}
	t.stageRun(ctx, o.Stage, outcome)
	if outcome == OwnershipDeliveryCreated {
		t.rolloutLatency.Record(ctx, now.Sub(o.ScheduledOn).Seconds(), metric.WithAttributes(attribute.Int("stage", int(o.Stage))))
	}
}

func (t *telemetry) stageRun(ctx context.Context, stage Stage, outcome string) {
	t.rolloutRuns.Add(ctx, 1, metric.WithAttributes(attribute.Int("stage", int(stage)), attribute.String("outcome", outcome)))
}
