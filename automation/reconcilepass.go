package automation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// watermarkOverlap is how far a watermark stays behind the start of its run: for
// changes whose transaction was longer under way than their time of change says.
const watermarkOverlap = 15 * time.Minute

// The statuses of a reconciliation.
const (
	reconcileReady = "Ready" // waits for its next run or page, or a worker has it
	reconcileOff   = "Off"   // its scope is not allowed any more
	reconcileDone  = "Done"  // a re-plan that was worked off
)

// reconciliation is a row of automation_reconciliation: how far the scan of a
// reminder type has come in a scope. Its Key and Type are the reminder type's
// name. One claim of it is one page, so that its lease lets one runner at a time
// read.
type reconciliation struct {
	driver.Due
	// Watermark and CoveredUntil say what completed runs have seen: changes before
	// the one, due days up to the other.
	Watermark    time.Time `db:"watermark"`
	CoveredUntil string    `db:"covered_until,plain"` // 2006-01-02; empty before the first
	// Cursor is where the run under way goes on, Run its counts so far.
	Cursor string           `db:"scan_cursor,person"`
	Run    *ReconcileReport `db:"run_report,json,null,content"`  // nil between two runs
	Last   *ReconcileReport `db:"last_report,json,null,content"` // the last completed run
	// Skipped are the sources that could not be planned, the oldest first, and SkippedOn
	// is since when there are such. The next run begins with them.
	Skipped   []Source  `db:"skipped,json,null,person"`
	SkippedOn time.Time `db:"skipped_on"`
	// FailureCount counts the pages that failed since the last good one.
	FailureCount int    `db:"failure_count"`
	ReasonCode   Reason `db:"reason_code,plain"` // of the last failure; empty after a run without one
	Diagnostics  string `db:"diagnostics,content"`

	// MarkedOn is when a re-plan was last asked for, and the three below what it is
	// about; zero and empty in a scan.
	MarkedOn     time.Time `db:"marked_on"`
	ReminderType string    `db:"reminder_type,plain"`
	Setting      string    `db:"setting,plain"`
	BusinessUnit string    `db:"business_unit,plain"`
}

var reconciliations = driver.Define[reconciliation]("automation_reconciliation").Grows(driver.Bounded).
	Kept(driver.Always, "one a type").Limit(maxRow + skippedRoom)

// period is the time from one run to the next.
func (r *reconciliation) period(every time.Duration) time.Duration {
	return backoff.Period(string(r.Scope)+":"+r.Key, every)
}

// begin is the report of a run that starts now; a zero since looks at everything
// in the window.
func begin(now time.Time, scope Scope, t ReminderType, since time.Time, coveredUntil string) ReconcileReport {
	from := civil.DateOf(now.Add(-12*time.Hour), time.UTC) // the day begins last at UTC-12
	r := ReconcileReport{
		Scope: scope, Type: t.Name, StartedOn: now, ChangedSince: since, From: from, NewFrom: from,
		To: civil.DateOf(now.Add(14*time.Hour), time.UTC).AddDays(t.Scan.Window), // and first at UTC+14
	}
	if covered, err := civil.ParseDate(coveredUntil); err == nil && !since.IsZero() && !covered.Before(from) {
		r.NewFrom = covered.AddDays(1)
	}
	return r
}

// turn is the row's next state after a page that was committed.
func (r *reconciliation) turn(now time.Time, run ReconcileReport, p *page) {
	r.FailureCount = 0
	run.Unlisted += r.skip(p)
	if run.Failed > 0 {
		r.ReasonCode, r.Diagnostics = reasons.HandlerFailed, run.Failure
	}
	if !p.done {
		r.Cursor, r.Run, r.DueOn = p.next, &run, now
		return
	}
	run.Duration = now.Sub(run.StartedOn)
	r.Cursor, r.Run, r.Last = "", nil, &run
	r.DueOn = now.Add(r.period(p.t.Scan.Every))
	if run.Unlisted == 0 {
		r.Watermark, r.CoveredUntil = run.StartedOn.Add(-watermarkOverlap), run.To.String()
	}
	if run.Failed == 0 {
		r.ReasonCode, r.Diagnostics = "", ""
	}
}

// fail records a page that could not be done: it is tried again after 5 minutes,
// 15 minutes and an hour; then the run is given up, and the next one begins from
// the same watermark. Nothing of this waits for a person.
func (r *reconciliation) fail(now time.Time, why Reason, diagnostics string, every time.Duration) {
	r.FailureCount++
	r.ReasonCode, r.Diagnostics = why, storable(diagnostics)
	wait, more := backoff.After(string(r.Scope)+":"+r.Key, r.FailureCount)
	if !more {
		r.Cursor, r.Run = "", nil
		wait = r.period(every)
	}
	r.DueOn = now.Add(wait)
}

// off ends the scan of a scope that is not allowed any more; what was seen stays
// known, for the case that it is allowed again.
func (r *reconciliation) off() {
	r.Status, r.DueOn, r.Cursor, r.Run = reconcileOff, time.Time{}, "", nil
}

// ReconciliationState says how far the background runs of a reminder type have
// come in a scope.
type ReconciliationState struct {
	Scope Scope
	Type  string
	// Off says that the scope is not allowed any more.
	Off bool
	// Watermark is the ChangedSince of the next run, CoveredUntil the last day of
	// the due window that a run has covered; zero before the first run completed.
	Watermark    time.Time
	CoveredUntil Date
	NextOn       time.Time        // of the next run, or of the next page of the one under way
	Current      *ReconcileReport // of the run under way, so far; nil: none is
	Last         *ReconcileReport // of the last completed run
	// Skipped are the sources that could not be planned, at most 100; the next run begins
	// with them. Their errors stand in Diagnostics, the last one only.
	Skipped []Source
	// Failures counts the tries that failed since the last good page; ReasonCode
	// and Diagnostics are those of the last one.
	Failures    int
	ReasonCode  Reason
	Diagnostics string
}

// maxReconciliations is how many reminder types of a scope are shown.
const maxReconciliations = 1000

// Reconciliations tells the state of all background runs in a scope, in the
// order of the types' names; there is none for a type that no Poller has seen.
func (s Maintenance) Reconciliations(ctx context.Context, scope Scope) ([]ReconciliationState, error) {
	var out []ReconciliationState
	err := s.read(ctx, func(from driver.Reader) error {
		rows, err := reconciliations.Find(ctx, from, scope, driver.Query{
			Where: []driver.Cond{driver.Null("marked_on")}, OrderBy: "key", Limit: maxReconciliations,
		})
		out = slices.Grow([]ReconciliationState(nil), len(rows))
		for _, row := range rows {
			if !row.isEpoch() {
				out = append(out, row.state())
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Reconciliations: %w", err)
	}
	return out, nil
}

func (r *reconciliation) state() ReconciliationState {
	covered, _ := ParseDate(r.CoveredUntil) // empty: none
	return ReconciliationState{
		Scope: r.Scope, Type: r.Kind, Off: r.Status == reconcileOff, Watermark: r.Watermark, CoveredUntil: covered,
		NextOn: r.DueOn, Current: r.Run, Last: r.Last, Skipped: r.Skipped, Failures: r.FailureCount, ReasonCode: r.ReasonCode, Diagnostics: r.Diagnostics,
	}
}

// reconcilePass is what a Poller runs over automation_reconciliation.
type reconcilePass struct{ s *core }

func (p reconcilePass) Name() string { return "automation.reconcile" }

func (p reconcilePass) Runner(o work.Options) work.Runner {
	s := p.s
	inner := work.New(s.store, work.Spec[reconciliation, struct{}]{
		Name: p.Name(), Table: reconciliations, Group: 1,
		Claimable: []string{reconcileReady}, // its lease alone says that a row is held
		Types: func() []string {
			names, _ := s.registry.kept()
			return names
		},
		Limit:   func(string) time.Duration { return longCallTimeout },
		Handle:  s.keeper().reconcileAll,
		Fail:    func(now time.Time, r *reconciliation, err error) { s.keeper().scanFailed(now, r, err) },
		Abandon: func(now time.Time, r *reconciliation) { s.keeper().failed(now, r, reasons.LeaseExpired, "") },
		Release: func(time.Time, *reconciliation) {}, // it is due as it was
	})
	return &reconcileRunner{inner: inner.Runner(o), s: s, known: map[place]bool{}}
}

// reconcileAll does one page of each row. Unlike other handlers it writes: the
// repairs of a page commit before its cursor does, so that a crash between the
// two repeats a page that is right already.
func (s keeper) reconcileAll(ctx context.Context, items []work.Item[reconciliation]) ([]struct{}, error) {
	for _, it := range items {
		if err := s.reconcileNext(it.Ctx, it.Row); err != nil && !work.Interrupted(ctx) && !work.Interrupted(it.Ctx) {
			s.scanFailed(s.now(), it.Row, err)
			// The error's text may hold personal data, so it stays in the row.
			s.opts.Logger.WarnContext(ctx, "belfry: reconciliation failed", "type", it.Row.Kind, "id", it.Row.ID,
				"reason", it.Row.ReasonCode, "failures", it.Row.FailureCount)
		}
	}
	return make([]struct{}, len(items)), nil
}

// reconcileNext does the next page of a row; after an error the row is as it was.
func (s keeper) reconcileNext(ctx context.Context, row *reconciliation) error {
	if row.isReplan() {
		return work.Guard(func() error { return s.replanNext(ctx, row) })
	}
	if row.Kind == TypeReportSubscription {
		return s.reconcileReports(ctx, row)
	}
	t, _ := s.registry.reminder(row.Kind)
	if scanned, err := t.scans(ctx, row.Scope); err != nil || !scanned {
		if err == nil {
			row.off()
		}
		return err
	}
	run := begin(s.now(), row.Scope, t, row.Watermark, row.CoveredUntil)
	if row.Run != nil {
		run = *row.Run
	}
	var p *page
	err := work.Guard(func() (err error) {
		if row.Run == nil && len(row.Skipped) > 0 {
			p, err = s.skippedPage(ctx, t, &run, row.Skipped)
		} else {
			p, err = s.reconcilePage(ctx, t, &run, row.Cursor)
		}
		return err
	})
	if err != nil {
		return err
	}
	row.turn(s.now(), run, p)
	if p.done {
		s.reconciled(ctx, *row.Last)
	}
	return nil
}

func (s keeper) scanFailed(now time.Time, r *reconciliation, err error) {
	why := reasons.HandlerFailed
	if isPanic(err) {
		why = reasons.HandlerPanicked
	}
	s.failed(now, r, why, err.Error())
}

// failed records a page that could not be done.
func (s keeper) failed(now time.Time, r *reconciliation, why Reason, diagnostics string) {
	if r.isReplan() {
		r.failReplan(now, why, diagnostics)
	} else {
		r.fail(now, why, diagnostics, s.every(r.Kind))
	}
}

// every is the rhythm of a type's runs.
func (s keeper) every(name string) time.Duration {
	if t, ok := s.registry.reminder(name); ok && t.Scan != nil {
		return t.Scan.Every
	}
	return minScanEvery
}

// reconciled tells of a run that has ended: loudly only where it had something to
// do.
func (s keeper) reconciled(ctx context.Context, r ReconcileReport) {
	s.tel.run(ctx, r)
	level := slog.LevelDebug
	if r.Scanned != r.Unchanged {
		level = slog.LevelInfo
	}
	s.opts.Logger.Log(ctx, level, "belfry: reconciled", "type", r.Type, "since", r.ChangedSince, "pages", r.Pages,
		"scanned", r.Scanned, "unchanged", r.Unchanged, "stale", r.Stale, "failed", r.Failed, "elsewhere", r.Elsewhere,
		"created", r.Created, "updated", r.Updated, "reactivated", r.Reactivated, "deactivated", r.Deactivated,
		"conflicts", r.Conflicts, "passed", r.OffsetPassed, "took", r.Duration)
}

// maxSkipped bounds the sources that a reconciliation remembers as skipped, and
// skippedRoom their bytes as JSON, counted as if each were escaped.
const (
	maxSkipped  = 100
	skippedRoom = 32 << 10
)

// skippedPage is the first page of a run: the sources that the runs before could not
// plan, which the scan does not give again. They are asked about as an event would,
// without the version and data of a scan.
func (s keeper) skippedPage(ctx context.Context, t ReminderType, run *ReconcileReport, skipped []Source) (*page, error) {
	p := s.newPage(t, run)
	for _, source := range skipped {
		p.add(ScannedSource{Source: source})
	}
	return p, p.work(ctx, run)
}

// skip brings the list up to date with a page that was committed, and reports how many
// sources it has no room for.
func (r *reconciliation) skip(p *page) (unlisted int) {
	for _, x := range p.sources {
		source := x.event.Source
		listed := slices.Contains(r.Skipped, source)
		switch fails := x.err != nil && !errors.Is(x.err, errElsewhere); {
		case listed && !fails:
			r.Skipped = slices.DeleteFunc(r.Skipped, func(s Source) bool { return s == source })
		case fails && !listed && r.lists(source):
			r.Skipped = append(r.Skipped, source)
		case fails && !listed:
			unlisted++
		}
	}
	switch {
	case len(r.Skipped) == 0:
		r.SkippedOn = time.Time{}
	case r.SkippedOn.IsZero():
		r.SkippedOn = p.now
	}
	return unlisted
}

// lists reports whether the list has room for a source.
func (r *reconciliation) lists(source Source) bool {
	size := 0
	for _, s := range append(slices.Clone(r.Skipped), source) {
		size += 6*(len(s.Type)+len(s.ID)) + len(`{"Type":"","ID":""},`)
	}
	return len(r.Skipped) < maxSkipped && size <= skippedRoom
}

// skippedSources names the scans that skip sources, for Health.
func skippedSources(ctx context.Context, c *backlog.Stats) error {
	found, err := reconciliations.Everywhere().Find(ctx, c.From, driver.Query{
		Where: []driver.Cond{driver.AtMost("skipped_on", c.On())}, OrderBy: "skipped_on", Limit: maxSkipped,
	})
	out := c.Summary()
	for _, r := range found {
		if c.Covers(r.Scope) {
			out.Skipped = append(out.Skipped, health.Skipped{Scope: r.Scope, Kind: r.Kind, Sources: len(r.Skipped), Since: r.SkippedOn})
		}
	}
	return err
}
