package automation

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// replanRows is how many open rows one page of a re-plan looks at.
const replanRows = 25

// replanTries is how often a page of a re-plan fails before its sources are named and
// skipped.
const replanTries = 3

// replanNext does the next page of a re-plan; after an error the row is as it was.
// What it repairs commits before its cursor does, as in a reconciliation.
func (s keeper) replanNext(ctx context.Context, row *reconciliation) error {
	what, began := row.replan(), s.now()
	at, err := replanCursorOf(row.Cursor)
	if err != nil {
		return err
	}
	if what.Type == "" {
		return s.replanAll(ctx, row)
	}
	t, _ := s.registry.reminder(what.Type) // no other is claimed
	run := s.beginReplan(what, t)
	if row.Run != nil {
		run = *row.Run
	}
	next, err := s.replanPage(ctx, t, what, &run, at, row.FailureCount < replanTries)
	if err != nil {
		return err
	}
	row.turnReplan(began, s.now(), run, next)
	if next == nil {
		s.replanned(ctx, what, *row.Last)
	}
	return nil
}

// replanAll marks every type that is registered here or has open rows, and has the
// subscriptions of reports looked after now.
func (s keeper) replanAll(ctx context.Context, row *reconciliation) error {
	what := row.replan()
	names := s.registry.reminderTypes()
	reports := false
	err := s.store.View(ctx, func(from driver.Reader) error {
		for setting := ""; ; {
			next, err := s.nextSetting(ctx, from, what.Scope, setting)
			if err != nil || next == nil {
				return err
			}
			if setting = next.Setting; next.AutomationType == TypeReminder {
				names = append(names, next.Kind)
			}
			reports = reports || next.AutomationType == TypeReportSubscription
		}
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	var marks []Replan
	for _, name := range slices.Compact(names) {
		one := what
		one.Type = name
		marks = append(marks, one)
	}
	err = s.store.InTx(ctx, func(tx storage.Tx) error {
		if reports {
			if _, err := reconciliations.Ensure(ctx, tx, hurry, reportScan(what.Scope, s.now())); err != nil {
				return err
			}
		}
		return MarkReplan(ctx, tx, marks...)
	})
	if err != nil {
		return err
	}
	row.turnReplan(s.now(), s.now(), ReconcileReport{Scope: what.Scope, StartedOn: s.now()}, nil)
	return nil
}

func (s keeper) beginReplan(what Replan, t ReminderType) ReconcileReport {
	if t.Scan != nil {
		return begin(s.now(), what.Scope, t, time.Time{}, "")
	}
	return ReconcileReport{Scope: what.Scope, Type: t.Name, StartedOn: s.now()}
}

// scans reports whether the type's sources in that scope are scanned.
func (t *ReminderType) scans(ctx context.Context, scope Scope) (bool, error) {
	if t.Scan == nil {
		return false, nil
	}
	return t.Scan.allows(ctx, scope)
}

// replanPage does one page and counts it into run. It returns where to go on; nil:
// all is done. A patient one fails if none of several sources can be planned.
func (s keeper) replanPage(ctx context.Context, t ReminderType, what Replan, run *ReconcileReport, at replanCursor, patient bool) (*replanCursor, error) {
	scans, err := t.scans(ctx, what.Scope)
	if err != nil {
		return nil, err
	}
	if !at.Scanning {
		p, next, err := s.openPage(ctx, t, what, at)
		if err == nil && len(p.sources) > 0 {
			p.patient = patient
			err = p.work(ctx, run)
		}
		if err == nil && run.DryRun {
			run.list(p)
		}
		if err != nil || next != nil || !scans && t.Triggers == nil {
			return next, err
		}
		return &replanCursor{Scanning: true}, nil
	}
	if !scans {
		return s.knownPage(ctx, t, what, run, at.After)
	}
	if what.BusinessUnit != "" {
		scan := *t.Scan
		if len(scan.BusinessUnits) > 0 && !slices.Contains(scan.BusinessUnits, what.BusinessUnit) {
			return nil, nil
		}
		scan.BusinessUnits, t.Scan = []string{what.BusinessUnit}, &scan
	}
	p, err := s.reconcilePage(ctx, t, run, at.After)
	if err == nil && run.DryRun {
		run.list(p)
	}
	if err != nil || p.done {
		return nil, err
	}
	return &replanCursor{Scanning: true, After: p.next}, nil
}

// knownPage does the next sources of the type's SourceType that events have told of and that
// have no open row, where a provider can be asked about them. Those with one were done before.
func (s keeper) knownPage(ctx context.Context, t ReminderType, what Replan, run *ReconcileReport, after string) (*replanCursor, error) {
	if t.Triggers == nil { // not any more
		return nil, nil
	}
	where := driver.ChildrenOf(t.SourceType)
	if after != "" {
		where = append(where, driver.Greater("key", after))
	}
	p := &page{
		s: s.core, t: t, scope: what.Scope, sourceType: t.SourceType, origin: EventReplan, now: s.now(), setting: cmp.Or(what.Setting, t.Name),
	}
	if what.BusinessUnit != "" {
		p.units = []string{what.BusinessUnit}
	}
	var rows []*sourceState
	err := s.read(ctx, func(from driver.Reader) (err error) {
		rows, err = sources.Find(ctx, from, what.Scope, driver.Query{Where: where, OrderBy: "key", Limit: replanRows})
		if err != nil || len(rows) == 0 {
			return err
		}
		return p.takeKnown(ctx, from, what, rows)
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	if len(p.sources) > 0 {
		err = p.work(ctx, run)
	}
	if err != nil {
		return nil, err
	}
	if run.DryRun {
		run.list(p)
	}
	if len(rows) < replanRows {
		return nil, nil
	}
	return &replanCursor{Scanning: true, After: rows[len(rows)-1].Key}, nil
}

// takeKnown takes the sources that have no open row.
func (p *page) takeKnown(ctx context.Context, from driver.Reader, what Replan, known []*sourceState) error {
	all := make([]*pageSource, len(known))
	for i, row := range known {
		all[i] = &pageSource{
			event: Event{Scope: p.scope, Type: EventReplan, Stream: p.t.Stream, Source: Source{row.SourceType, row.Source}},
			plan:  eventPlan{spoken: []string{p.setting}},
		}
	}
	open, err := p.openRows(ctx, from, all)
	p.sources = slices.DeleteFunc(all, func(x *pageSource) bool {
		return slices.ContainsFunc(open, func(r *scheduleRow) bool { return r.Source == x.event.Source.ID && what.reaches(r) })
	})
	return err
}

// openPage reads the next sources with open rows, and where to go on; nil: these
// are the last.
func (s keeper) openPage(ctx context.Context, t ReminderType, what Replan, at replanCursor) (p *page, next *replanCursor, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		p = &page{s: s.core, t: t, scope: what.Scope, origin: EventReplan, now: s.now()}
		here, err := s.openPart(ctx, from, what, at)
		if err != nil || here == nil {
			return err
		}
		next, err = p.readOpen(ctx, from, what, *here)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("automation: re-plan of %s: %w", t.Name, err)
	}
	return p, next, nil
}

// openPart is where to read: in the part of the open rows that the cursor names, or
// at the start of the first one. They come by setting, source type and source, as in
// their index; nil: there are no more.
func (s keeper) openPart(ctx context.Context, from driver.Reader, what Replan, at replanCursor) (*replanCursor, error) {
	if at.SourceType != "" {
		return &at, nil
	}
	return s.nextPart(ctx, from, what, at)
}

// nextPart is the part behind a cursor.
func (s keeper) nextPart(ctx context.Context, from driver.Reader, what Replan, at replanCursor) (*replanCursor, error) {
	if at.Setting == "" {
		at.Setting = what.Setting
	}
	for {
		if at.Setting != "" {
			row, err := s.firstOpen(ctx, from, what.Scope, "source_type", driver.Eq("setting", at.Setting), driver.Greater("source_type", at.SourceType))
			if err != nil || row != nil {
				return partOf(row), err
			}
		}
		if what.Setting != "" {
			return nil, nil
		}
		row, err := s.nextSetting(ctx, from, what.Scope, at.Setting)
		if err != nil || row == nil {
			return nil, err
		}
		if at = (replanCursor{Setting: row.Setting}); row.Kind != what.Type { // a setting is of one type
			at.SourceType = lastText
		}
	}
}

// lastText is behind every source type.
const lastText = "\U0010FFFF"

func partOf(row *scheduleRow) *replanCursor {
	if row == nil {
		return nil
	}
	return &replanCursor{Setting: row.Setting, SourceType: row.SourceType}
}

// nextSetting is an open row of the next setting that has one, or nil.
func (s keeper) nextSetting(ctx context.Context, from driver.Reader, scope Scope, after string) (*scheduleRow, error) {
	return s.firstOpen(ctx, from, scope, "setting", driver.Greater("setting", after))
}

// firstOpen is an open row with the lowest value of a column, or nil: its setting, source
// type and types. It is a tally of one row, for a page would be ordered by id among
// equals, and so read them all.
func (s keeper) firstOpen(ctx context.Context, from driver.Reader, scope Scope, by string, where ...driver.Cond) (*scheduleRow, error) {
	found, err := schedules.CountBy(ctx, from, scope, driver.CountBy{
		By: []string{"setting", "source_type", "kind", "automation_type"}, Where: append(where, open()), OrderBy: by, Limit: 1,
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0].Row, nil
}

// readOpen takes the sources of the next open rows of a part, and says where to go
// on.
func (p *page) readOpen(ctx context.Context, from driver.Reader, what Replan, at replanCursor) (*replanCursor, error) {
	rows, err := schedules.Find(ctx, from, p.scope, driver.Query{Where: []driver.Cond{
		driver.Eq("setting", at.Setting), driver.Eq("source_type", at.SourceType), driver.Greater("source", at.Source), open(),
	}, OrderBy: "source", Limit: replanRows})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		p.addOpen(what, row)
	}
	p.sourceType, p.setting = at.SourceType, at.Setting
	if len(rows) < replanRows {
		return p.s.keeper().nextPart(ctx, from, what, at)
	}
	at.Source = rows[len(rows)-1].Source
	return &at, nil
}

// reaches reports whether the source of an open row is planned again for it.
func (w Replan) reaches(row *scheduleRow) bool {
	return row.Kind == w.Type && (w.BusinessUnit == "" || row.BusinessUnit == w.BusinessUnit)
}

// addOpen takes the source of an open row, once.
func (p *page) addOpen(what Replan, row *scheduleRow) {
	if !what.reaches(row) {
		return
	}
	source := Source{row.SourceType, row.Source}
	if n := len(p.sources); n > 0 && p.sources[n-1].event.Source == source {
		return
	}
	p.sources = append(p.sources, &pageSource{event: Event{Scope: p.scope, Type: EventReplan, Stream: p.t.Stream, Source: source}})
}

// replanned tells of a re-plan that has ended.
func (s keeper) replanned(ctx context.Context, what Replan, r ReconcileReport) {
	s.tel.run(ctx, r)
	s.opts.Logger.Log(ctx, slog.LevelInfo, "belfry: planned again", "type", what.Type, "setting", what.Setting, "unit", what.BusinessUnit,
		"pages", r.Pages, "sources", r.Scanned, "unchanged", r.Unchanged, "stale", r.Stale, "failed", r.Failed,
		"created", r.Created, "updated", r.Updated, "reactivated", r.Reactivated, "deactivated", r.Deactivated,
		"conflicts", r.Conflicts, "passed", r.OffsetPassed, "took", r.Duration)
}
