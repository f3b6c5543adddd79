package automation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/pause"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Deactivate ends the open rows of a setting for a source, and the series that
// they are occurrences of, as no longer wanted: what an event of the source does
// that asks for none of them. A row that a worker has ends under it, and nothing
// of what the worker decides is dispatched. Completed rows stay, and to ensure a
// candidate again brings its row back. No open row is not an error.
func (s *Scheduler) Deactivate(ctx context.Context, scope Scope, setting string, source Source, why Reason) (ended []Deactivation, err error) {
	if setting == "" || source.Type == "" || source.ID == "" || why == "" {
		return nil, errors.New("automation: Deactivate: setting, source and reason are required")
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		ended, err = s.ensurer().deactivate(ctx, tx, Event{Scope: scope, Source: source}, []driver.Cond{
			driver.Eq("setting", setting), driver.Eq("source_type", source.Type), driver.Eq("source", source.ID),
		}, func(*scheduleRow) (Reason, bool) { return why, true })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Deactivate: %w", err)
	}
	return ended, nil
}

// deactivatePage is how many open rows are looked at in one statement.
const deactivatePage = 500

// Deactivation is a row that an event ended.
type Deactivation struct {
	Key    string
	Reason Reason
}

// open is the predicate of the index over the open rows of a source.
func open() driver.Cond {
	return driver.Any(driver.NotNull("due_on"), driver.Eq("is_on_support_hold", true))
}

// deactivate ends the rows among the open ones that where describes for which
// why gives a reason, and with them the series that they are occurrences of. A
// row that a worker has is ended under it, and what the worker decides is dropped.
func (s ensurer) deactivate(ctx context.Context, tx storage.Tx, e Event, where []driver.Cond, why func(*scheduleRow) (Reason, bool)) ([]Deactivation, error) {
	return s.deactivateBy(ctx, tx, e, actor(e.Type, e.ID), where, why)
}

// deactivateBy is deactivate with the name of the requester, for the
// history.
func (s ensurer) deactivateBy(ctx context.Context, tx storage.Tx, e Event, by author, where []driver.Cond, why func(*scheduleRow) (Reason, bool)) ([]Deactivation, error) {
	return s.deactivateSome(ctx, tx, e, by, where, math.MaxInt, why)
}

// deactivateSome is deactivateBy for as many rows as most.
func (s ensurer) deactivateSome(ctx context.Context, tx storage.Tx, e Event, by author, where []driver.Cond, most int, why func(*scheduleRow) (Reason, bool)) ([]Deactivation, error) {
	d := s.ending(tx, e, by, why)
	err := d.rows(ctx, where, most)
	if err == nil {
		err = d.stopSeries(ctx)
	}
	return d.ended, err
}

func (s ensurer) ending(tx storage.Tx, e Event, by author, why func(*scheduleRow) (Reason, bool)) *ending {
	return &ending{s: s.core, tx: tx, event: e, by: by, now: s.now(), why: why, series: map[string]Reason{}}
}

// rows ends as many of the open rows that where describes as most, and no series.
func (d *ending) rows(ctx context.Context, where []driver.Cond, most int) error {
	var after *driver.Position
	for {
		left := min(deactivatePage, most-len(d.ended))
		if left == 0 {
			return nil
		}
		rows, err := schedules.Find(ctx, d.tx, d.event.Scope, driver.Query{Where: append(where, open()), Limit: left, After: after})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return d.s.ensurer().endShadows(ctx, d, where, most)
		}
		after = &driver.Position{ID: rows[len(rows)-1].ID}
		if err := d.end(ctx, rows); err != nil {
			return err
		}
	}
}

// ending is one call of deactivate.
type ending struct {
	s      *core
	tx     storage.Tx
	event  Event
	by     author
	now    time.Time
	why    func(*scheduleRow) (Reason, bool)
	skips  bool // occurrences are skipped, and their series go on
	ended  []Deactivation
	series map[string]Reason // of the rows that end, whether this call or a worker ended them
}

// end ends those of the rows for which there is a reason.
func (d *ending) end(ctx context.Context, rows []*scheduleRow) error {
	return driver.RetryStale("automation: a row that an event ends", func() (err error) {
		if rows, err = d.save(ctx, d.pick(rows)); err == nil && len(rows) > 0 {
			err = storage.ErrStale
		}
		return err
	})
}

// pick changes the rows that end.
func (d *ending) pick(rows []*scheduleRow) []note {
	var out []note
	for _, row := range rows {
		reason, ends := d.why(row)
		if key := row.seriesKey(); ends && key != "" {
			d.series[key] = reason
		}
		if ends && row.mayEnd() {
			n := note{row, row.past(), actionDeactivated, reason}
			row.EventType, row.EventID = d.event.Type, d.event.ID
			if d.skips {
				row.skip(d.now, reason)
			} else {
				row.deactivate(d.now, reason)
			}
			row.EndedBecause = storable(d.event.Because)
			out = append(out, n)
		}
	}
	return out
}

// mayEnd reports whether an event may deactivate the row.
func (r *scheduleRow) mayEnd() bool {
	return r.inShadow() || r.Status != StatusDeactivated && machine.Legal(r.Status, StatusDeactivated)
}

// save writes rows and returns those to look at again, since they were written
// meanwhile: a claim does not keep a row from an event.
func (d *ending) save(ctx context.Context, notes []note) ([]*scheduleRow, error) {
	saved, stale, err := d.s.saveAndTell(ctx, d.tx, d.by, notes)
	if err != nil {
		return nil, err
	}
	for _, n := range saved {
		d.ended = append(d.ended, Deactivation{n.row.Key, n.row.ReasonCode})
	}
	return again(ctx, d.tx, stale, open())
}

// Extent is the part of the work that a pause concerns: one type or all of
// them, in one scope or everywhere. The zero value is all work of the empty
// scope.
type Extent struct {
	Scope Scope // the tenant; empty if Everywhere
	// Everywhere means every scope.
	Everywhere bool
	// Type is a reminder type or a host's automation type, whether it is
	// registered in this process or not; empty: all of them.
	Type string
}

// row names the extent in the table of pauses, or refuses what no pause can stand for.
// Its key is unique within the scope, as no name of a type holds a colon.
func (e Extent) row() (pause.Row, error) {
	if field, err := checkTenancy(e.Scope, ""); err != nil {
		return pause.Row{}, fmt.Errorf("Extent: %s %w", field, err)
	}
	kind := "all"
	if e.Type != "" {
		if err := checkName(e.Type); err != nil {
			return pause.Row{}, fmt.Errorf("Extent: Type: %w", err)
		}
		kind = "type:" + e.Type
	}
	row, err := pause.Part(e.Scope, e.Everywhere, kind)
	row.PausedType = e.Type
	return row, err
}

func extentOf(p *pause.Row) Extent {
	return Extent{Scope: p.Scope, Everywhere: p.Everywhere, Type: p.PausedType}
}

// covers reports whether rows of that type in that scope belong to e.
func (e Extent) covers(scope Scope, name string) bool {
	return (e.Everywhere || e.Scope == scope) && (e.Type == "" || e.Type == name)
}

// maxSelected bounds the rows of one call of [Support.Bulk].
const maxSelected = 1000

// Selection says which rows support means. Keys, Setting, HoldReason or Person is
// required, since an index finds the rows by it; whatever else is set narrows
// them down. A Selection without Keys finds open rows and rows on hold, never
// ones that have ended.
type Selection struct {
	Keys       []string // at most 1000, in any state
	Setting    string
	HoldReason Reason
	Person     string // whom they are about; see [Support.Planned]

	Source    Source    // with Setting or Keys
	Type      string    // the reminder type or the host's automation type
	DueBefore time.Time // rows that are due before then; those on hold never are

	// Limit is how many rows one call looks at; zero means 1000, which is the most.
	Limit int
	// After continues behind the page before; it is the Next of its report.
	After string
}

// query finds the rows in a fixed order. The error says what is
// missing or too much.
func (sel Selection) query() (driver.Query, error) {
	q := driver.Query{Limit: sel.Limit}
	if q.Limit == 0 {
		q.Limit = maxSelected
	}
	switch {
	case len(sel.Keys) == 0 && sel.Setting == "" && sel.HoldReason == "" && sel.Person == "":
		return q, errors.New("neither Keys nor Setting nor HoldReason nor Person is set")
	case sel.Source != (Source{}) && len(sel.Keys) == 0 && sel.Setting == "":
		return q, errors.New("Source needs a Setting")
	case (sel.Source.Type == "") != (sel.Source.ID == ""):
		return q, errors.New("Source needs Type and ID")
	case len(sel.Keys) > maxSelected:
		return q, fmt.Errorf("%d Keys, more than %d", len(sel.Keys), maxSelected)
	case q.Limit < 0 || q.Limit > maxSelected:
		return q, fmt.Errorf("the Limit %d is not between 1 and %d", sel.Limit, maxSelected)
	}
	if sel.After != "" {
		id, err := strconv.ParseInt(sel.After, 36, 64)
		if err != nil {
			return q, fmt.Errorf("the After %.40q is not the Next of a report", sel.After)
		}
		q.After = &driver.Position{ID: id}
	}
	q.Where = sel.conds()
	return q, nil
}

// conds repeat the predicates of the indexes.
func (sel Selection) conds() (where []driver.Cond) {
	add := func(wanted bool, conds ...driver.Cond) {
		if wanted {
			where = append(where, conds...)
		}
	}
	add(len(sel.Keys) > 0, driver.In("key", sel.Keys))
	add(sel.Setting != "", driver.Eq("setting", sel.Setting))
	add(sel.Person != "", driver.Eq("person", sel.Person))
	add(sel.HoldReason != "", driver.Eq("hold_reason", sel.HoldReason), driver.Eq("is_on_support_hold", true))
	add(len(sel.Keys) == 0 && sel.HoldReason == "", open())
	add(sel.Source != (Source{}), driver.Eq("source_type", sel.Source.Type), driver.Eq("source", sel.Source.ID))
	add(sel.Type != "", driver.Eq("kind", sel.Type))
	add(!sel.DueBefore.IsZero(), driver.Less("due_on", sel.DueBefore))
	return where
}

// Pause says that the due work of an Extent is not begun at present.
type Pause struct {
	Extent
	By    By        // who paused it, and why
	Since time.Time // UTC
	Until time.Time // UTC, when it ends by itself; zero: only when it is resumed
}

// pauses has one row for each Extent that was ever paused.
var pauses = driver.Define[pause.Row]("automation_pause").Grows(driver.Bounded).
	Kept(driver.Always, "one for each part of the work that was ever paused").Limit(maxRow)

// Pause keeps the due work of e from being begun, in every process from its next
// poll on, until it is resumed or until has come; a zero until is never. Rows are
// made, moved and ended as before, and those that fall due wait: what they find
// when the pause is over is up to their type's [Lateness]. What a worker has
// already is finished, and what was handed to delivery goes out. Several pauses
// may cover a row; it runs when none does.
//
// A pause that exists gets the new end, or is refused ([ErrActionRefused]) if
// that is the one it has. It is audited in the same transaction, as Resume is.
func (s Support) Pause(ctx context.Context, e Extent, until time.Time, by By) error {
	return s.changePause(ctx, e, by, func(tx storage.Tx, row pause.Row) error { return pause.Begin(ctx, tx, pauses, row, until, by) })
}

// Resume ends the pause of exactly this extent. The error wraps
// [ErrActionRefused] if there is none.
func (s Support) Resume(ctx context.Context, e Extent, by By) error {
	return s.changePause(ctx, e, by, func(tx storage.Tx, row pause.Row) error { return pause.End(ctx, tx, pauses, row, by) })
}

func (s Support) changePause(ctx context.Context, e Extent, by By, change func(storage.Tx, pause.Row) error) error {
	row, err := e.row()
	if err == nil {
		err = by.Check()
	}
	if err == nil {
		err = s.inTx(ctx, func(tx storage.Tx) error { return change(tx, row) })
	}
	if err != nil {
		return fmt.Errorf("automation: %w", err)
	}
	return nil
}

// Pauses lists the pauses that hold in a scope now, those everywhere first.
func (s Support) Pauses(ctx context.Context, scope Scope) ([]Pause, error) {
	var out []Pause
	err := s.read(ctx, func(from driver.Reader) (err error) {
		out, err = pausesOf(ctx, from, scope)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Pauses: %w", err)
	}
	return out, nil
}

// pausesOf reads what Pauses lists.
func pausesOf(ctx context.Context, from driver.Reader, scope Scope) ([]Pause, error) {
	rows, err := pause.InForce(ctx, from, pauses, scope)
	var out []Pause
	for _, p := range rows {
		out = append(out, Pause{Extent: extentOf(p), By: p.By(), Since: p.PausedOn, Until: p.PausedUntil})
	}
	return out, err
}

// paused tells the due pass what to leave alone, in all scopes.
func (s worker) paused(ctx context.Context, from driver.Reader) (work.Except, error) {
	var e work.Except
	rows, err := pause.InForceEverywhere(ctx, from, pauses)
	for _, p := range rows {
		switch {
		case p.Everywhere && p.PausedType == "":
			e.All = true
		case p.Everywhere:
			e.Types = append(e.Types, p.PausedType)
		case p.PausedType == "":
			e.Scopes = append(e.Scopes, p.Scope)
		default:
			e.Scoped = append(e.Scoped, driver.ScopedKind{Scope: p.Scope, Kind: p.PausedType})
		}
	}
	return e, err
}
