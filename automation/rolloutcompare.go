package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxCompared bounds the runs that one comparison looks at.
const maxCompared = 100_000

// check completes the window.
func completeWindow(w cutover.Window, now time.Time) (cutover.Window, error) {
	w.From, w.Until = driver.Time(w.From), driver.Time(w.Until)
	if w.Until.IsZero() || w.Until.After(now) {
		w.Until = now
	}
	if !w.From.Before(w.Until) {
		return w, errors.New("the Window is empty")
	}
	return w, nil
}

func windowHolds(w cutover.Window, on time.Time) bool {
	return !on.Before(w.From) && on.Before(w.Until)
}

// eachRun visits the runs of a part whose moment is in the window, with their
// rows (nil: there is none), and tells whether there were more than it looks at.
func eachRun(ctx context.Context, from driver.Reader, part cutover.Part, w cutover.Window, visit func(*ownership, *scheduleRow)) (capped bool, err error) {
	where := []driver.Cond{driver.Eq("kind", part.Type), driver.AtLeast("run_on", w.From), driver.Less("run_on", w.Until)}
	seen := 0
	for after := (*driver.Position)(nil); ; {
		page, err := ownerships.Find(ctx, from, part.Scope, driver.Query{Where: where, OrderBy: "run_on", Limit: compareChunk, After: after})
		if err != nil {
			return false, err
		}
		rows, err := rowsOfRuns(ctx, from, part.Scope, page)
		if err != nil {
			return false, err
		}
		for _, o := range page {
			if o.SourceType == "" {
				o.read(o.Kind) // the old scheduler's own SQL leaves it to the key
			}
			if coversRun(part, o) {
				visit(o, rows[o.Key])
			}
		}
		if seen += len(page); len(page) < compareChunk || seen >= maxCompared {
			return len(page) == compareChunk, nil
		}
		after = &driver.Position{Value: page[len(page)-1].RunOn, ID: page[len(page)-1].ID}
	}
}

// rowsOfRuns reads the rows of runs, by key.
func rowsOfRuns(ctx context.Context, from driver.Reader, scope Scope, runs []*ownership) (map[string]*scheduleRow, error) {
	keys := make([]string, len(runs))
	for i, o := range runs {
		keys[i] = o.Key
	}
	out := map[string]*scheduleRow{}
	if len(keys) == 0 {
		return out, nil
	}
	found, err := schedules.Find(ctx, from, scope, driver.Query{Where: []driver.Cond{driver.In("key", keys)}, Limit: len(keys)})
	for _, row := range found {
		out[row.Key] = row
	}
	if err != nil {
		return nil, fmt.Errorf("rows of runs: %w", err)
	}
	return out, nil
}

// Compare compares the runs that this side expects in a window, in shadow or not,
// with those that the old scheduler has reported ([Rollout.ReportOldRun]) or
// delivered under the guard (Report Subscription, "Step-by-step rollout"). A
// recurring reminder is expected at each of its occurrences, as its cadence is
// now. Tolerance is how far apart the moments may lie; zero means five minutes.
// It writes nothing.
func (s Rollout) Compare(ctx context.Context, part cutover.Part, w cutover.Window, tolerance time.Duration) (cutover.Comparison, error) {
	w, err := completeWindow(w, s.now())
	if err == nil {
		err = checkRolloutPart(part)
	}
	c := comparing{part: part, window: w, runs: map[string]*cutover.ComparedRun{}}
	if err == nil {
		err = s.read(ctx, func(from driver.Reader) error {
			c.runs, c.capped = map[string]*cutover.ComparedRun{}, false
			return c.read(ctx, from)
		})
	}
	if err != nil {
		return cutover.Comparison{}, fmt.Errorf("automation: Compare: %w", err)
	}
	return c.report(cmp.Or(tolerance, 5*time.Minute)), nil
}

// comparing is one call of Compare.
type comparing struct {
	part   cutover.Part
	window cutover.Window
	runs   map[string]*cutover.ComparedRun
	capped bool
}

func (c *comparing) read(ctx context.Context, from driver.Reader) error {
	capped, err := eachRun(ctx, from, c.part, c.window, func(o *ownership, row *scheduleRow) {
		r := &cutover.ComparedRun{Key: o.Key, OldRanOn: o.OldRanOn}
		if expected(row) {
			r.ScheduledOn = o.ScheduledOn
		}
		if !r.ScheduledOn.IsZero() || !r.OldRanOn.IsZero() {
			c.runs[o.Key] = r
		}
	})
	c.capped = capped
	if err != nil {
		return err
	}
	return c.readSeries(ctx, from)
}

// expected reports whether a row stands for a run that is wanted here. Without a
// row it was wanted and has been deleted since.
func expected(row *scheduleRow) bool {
	return row == nil || row.Status != StatusDeactivated || row.inShadow()
}

// readSeries adds the occurrences that never had a row, since nothing moves a
// series on in shadow.
func (c *comparing) readSeries(ctx context.Context, from driver.Reader) error {
	for after := (*driver.Position)(nil); ; {
		page, err := seriesOfPart(ctx, c.part, from, after)
		if err != nil || len(page) == 0 {
			return err
		}
		missing := map[string]time.Time{}
		for _, d := range page {
			c.occurrences(d, missing)
		}
		if err := c.addMissing(ctx, from, missing); err != nil {
			return err
		}
		after = &driver.Position{Value: page[len(page)-1].Key, ID: page[len(page)-1].ID}
	}
}

// occurrences lists those of a series in the window that are not known yet.
func (c *comparing) occurrences(d *series, missing map[string]time.Time) {
	line, err := d.timeline()
	if err != nil {
		return // Health and Explain tell of it
	}
	from := later(c.window.From, d.CreatedOn).Add(-time.Microsecond)
	for range 10_000 {
		next, ok := line.After(from)
		if !ok || !windowHolds(c.window, next.On) {
			return
		}
		from = next.On
		key, err := d.key(next.On)
		if err != nil {
			return
		}
		switch known := c.runs[key]; {
		case known == nil:
			missing[key] = next.On
		case known.ScheduledOn.IsZero():
			known.ScheduledOn = next.On
		}
	}
	c.capped = true
}

// addMissing adds occurrences; the old scheduler may have run some of them
// outside of the window.
func (c *comparing) addMissing(ctx context.Context, from driver.Reader, missing map[string]time.Time) error {
	all := make([]driver.ScopedKey, 0, len(missing))
	for key, on := range missing {
		c.runs[key] = &cutover.ComparedRun{Key: key, ScheduledOn: on}
		all = append(all, driver.ScopedKey{Scope: c.part.Scope, Key: key})
	}
	for some := range slices.Chunk(all, compareChunk) {
		known, err := ownerships.GetMany(ctx, from, some)
		if err != nil {
			return err
		}
		for place, o := range known {
			c.runs[place.Key].OldRanOn = o.OldRanOn
		}
	}
	return nil
}

// report counts and lists the differences.
func (c *comparing) report(tolerance time.Duration) cutover.Comparison {
	out := cutover.Comparison{Part: c.part, Window: c.window, Capped: c.capped}
	for _, r := range c.runs {
		late := r.OldRanOn.Sub(r.ScheduledOn)
		switch {
		case r.OldRanOn.IsZero():
			r.Kind = cutover.OnlyHere
			out.OnlyHere++
		case r.ScheduledOn.IsZero():
			r.Kind = cutover.OnlyThere
			out.OnlyThere++
		case late > tolerance:
			r.Kind = cutover.RanLate
			out.Late++
		case late < -tolerance:
			r.Kind = cutover.RanEarly
			out.Early++
		}
		if !r.OldRanOn.IsZero() && !r.ScheduledOn.IsZero() {
			out.Both++
		}
		if r.Kind != "" {
			out.Runs = append(out.Runs, *r)
		}
	}
	slices.SortFunc(out.Runs, func(a, b cutover.ComparedRun) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	})
	out.Runs = out.Runs[:min(len(out.Runs), maxMoved)]
	return out
}

// ReportOldRun tells what the old scheduler has done, as long as it does not ask
// the guard itself: in [cutover.StageDesign] and [cutover.StageShadow]. [Rollout.Compare] looks
// at it, and a run that was reported is never delivered here. Runs that are not
// known here belong to part for the comparison, whose Type is required. It is
// safe to repeat; the first report of a run stands.
func (s Rollout) ReportOldRun(ctx context.Context, part cutover.Part, runs ...cutover.OldRun) (cutover.OldReport, error) {
	if err := checkRolloutPart(part); err != nil {
		return cutover.OldReport{}, err
	}
	typed := make([]cutover.OldRun, len(runs))
	for i, run := range runs {
		run.Type = part.Type
		typed[i] = run
	}
	var report cutover.OldReport
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := s.oldRows(part.Scope, typed)
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
		report = cutover.OldReport{}
		for _, g := range got {
			was, known := before[g.Row.Key]
			countReported(&report, g, was, known)
		}
		return err
	})
	if err != nil {
		return cutover.OldReport{}, fmt.Errorf("automation: ReportOldRun: %w", err)
	}
	return report, nil
}

// reported records that the old scheduler has delivered the run, whoever owns
// it: what is delivered is delivered.
func (o *ownership) reported(want *ownership) (storage.Outcome, bool) {
	switch {
	case !o.OldRanOn.IsZero():
		return storage.Unchanged, false
	case o.Status != cutover.DeliveryCreated:
		if o.Status == cutover.Cancelled {
			o.to(time.Time{}, cutover.Owned)
		}
		o.give(cutover.OldScheduler)
		o.to(want.EndedOn, cutover.DeliveryCreated)
		o.Coordinates = want.Coordinates
	}
	o.OldRanOn = want.OldRanOn
	return storage.Updated, true
}

func countReported(r *cutover.OldReport, g driver.Ensured[ownership], was ownership, known bool) {
	switch {
	case known && was.ran(cutover.AutomationScheduler):
		r.Doubled = append(r.Doubled, g.Row.Key)
	case g.Outcome == storage.Unchanged:
		r.Known++
	case known && was.Owner == cutover.AutomationScheduler:
		r.Trespassed = append(r.Trespassed, g.Row.Key)
	default:
		r.Recorded++
	}
}
