package automation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxMoved is how many runs a [cutover.Move] names.
const maxMoved = 1000

// movePage is how many runs one transaction of a move gives to the other side.
const movePage = 500

// MoveRollout moves a part of the work to a stage: forward by one, back by any
// number, as far as it takes (Report Subscription, "Step-by-step rollout"). Runs
// that no side has delivered change owner, page by page; a worker under way loses
// its row. A dry run answers the same and writes nothing.
//
// Forward, runs whose moment lies ahead are taken from the old scheduler; what it
// is about to deliver is refused by its own guard. Back, all that is not
// delivered is returned, overdue runs and runs on hold too; runs that support has
// cancelled are not. A narrower part that has a stage of its own stays where it
// is, and a part that has none is where the wider ones are.
//
// It is audited once. After an error it may be half done: call it again with the
// same stage, which finishes it, while runs that nobody moved stay with the owner
// they have. A finished move to the stage that the part has is refused with
// [ErrActionRefused].
func (s Rollout) MoveRollout(ctx context.Context, part cutover.Part, to cutover.Stage, by By, opts *ActionOptions) (cutover.Move, error) {
	if err := errors.Join(checkRolloutPart(part), checkStage(to), by.Check()); err != nil {
		return cutover.Move{}, fmt.Errorf("automation: MoveRollout: %w", err)
	}
	m := &moving{s: s.core, report: cutover.Move{Part: part, To: to, DryRun: audit.IsDry(opts)}, by: by, now: s.now()}
	err := s.inTx(ctx, func(tx storage.Tx) error { return m.begin(ctx, tx) })
	for _, step := range []func(context.Context) error{m.moveRuns, m.countLeft, m.wakeSeries, m.end} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err != nil {
		return m.report, fmt.Errorf("automation: MoveRollout: %w", err)
	}
	return m.report, nil
}

// moving is one call of MoveRollout.
type moving struct {
	s      *core
	report cutover.Move
	by     By
	now    time.Time
}

// begin writes the new stage, from which on new runs go to their new owner.
func (m *moving) begin(ctx context.Context, tx storage.Tx) error {
	part, to := m.report.Part, m.report.To
	have, err := loadStages(ctx, tx, []cutover.Part{part})
	if err != nil {
		return err
	}
	m.report.From = have.of(part)
	if to > m.report.From+1 {
		return fmt.Errorf("%w: from stage %s it goes to the next one, not to %s", ErrActionRefused, m.report.From, to)
	}
	row := &rollout{
		Record:       storage.Record{Scope: part.Scope, Key: rolloutKey(part), Kind: part.Type, Status: rolloutSettled},
		BusinessUnit: part.BusinessUnit, Source: part.Source, Stage: m.report.From,
	}
	if m.report.DryRun {
		return nil
	}
	if _, err := rollouts.Insert(ctx, tx, row); err != nil {
		return err
	}
	return audit.Change(ctx, tx, rollouts, part.Scope, row.Key, "MoveTo"+stageName(to), m.by, func(r *rollout, now time.Time) string {
		_, own := have[part]
		switch {
		case r.Stage == to && r.Status == rolloutSettled && own:
			return "it is at stage " + to.String() + " already"
		case to > r.Stage+1:
			return "it is at stage " + r.Stage.String()
		}
		r.Stage, r.Status, r.ChangedBy, r.Reason, r.ChangedOn = to, rolloutMoving, m.by.Actor, m.by.Reason, now
		return ""
	})
}

// end says that nothing is left to move. What comes out of shadow is planned again, since
// no re-plan walks there.
func (m *moving) end(ctx context.Context) error {
	if m.report.DryRun {
		return nil
	}
	return m.s.inTx(ctx, func(tx storage.Tx) error {
		row, err := rollouts.Get(ctx, tx, m.report.Part.Scope, rolloutKey(m.report.Part))
		if err != nil || row.Stage != m.report.To {
			return err // somebody moves it elsewhere by now
		}
		row.Status = rolloutSettled
		if err := rollouts.Save(ctx, tx, row); err != nil {
			return err
		}
		if _, reminds := m.s.registry.reminder(row.Kind); stageRuns(m.report.To, "") && reminds {
			return MarkReplan(ctx, tx, Replan{Scope: row.Scope, Type: row.Kind, BusinessUnit: row.BusinessUnit})
		}
		return nil
	})
}

// stageName is the name of a stage without its number.
func stageName(s cutover.Stage) string {
	_, name, _ := strings.Cut(s.String(), " ")
	return name
}

// Rollouts lists the parts of a scope that were ever moved, in the order of their
// first move.
func (s Rollout) Rollouts(ctx context.Context, scope Scope) ([]cutover.Status, error) {
	var out []cutover.Status
	err := s.read(ctx, func(from driver.Reader) error {
		out = nil
		for after := (*driver.Position)(nil); ; {
			page, err := rollouts.Find(ctx, from, scope, driver.Query{Limit: compareChunk, After: after})
			for _, r := range page {
				out = append(out, r.view())
			}
			if err != nil || len(page) < compareChunk {
				return err
			}
			after = &driver.Position{ID: page[len(page)-1].ID}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("automation: Rollouts: %w", err)
	}
	return out, nil
}

// moveRuns gives the runs of the part to the side that their stage names. What
// has come is not taken from the old scheduler.
func (m *moving) moveRuns(ctx context.Context) error {
	if err := m.moveFrom(ctx, driver.Eq("owner_type", string(cutover.AutomationScheduler))); err != nil {
		return err
	}
	return m.moveFrom(ctx, driver.Eq("owner_type", string(cutover.OldScheduler)), driver.Greater("scheduled_on", m.now))
}

func (m *moving) moveFrom(ctx context.Context, from ...driver.Cond) error {
	where := append(m.where(), from...)
	for after := (*driver.Position)(nil); ; {
		var page []*ownership
		var moved []cutover.MovedRun
		err := driver.RetryStale("a run that was to move", func() error {
			return m.s.inTx(ctx, func(tx storage.Tx) (err error) {
				page, err = ownerships.Find(ctx, tx, m.report.Part.Scope, driver.Query{Where: where, Limit: movePage, After: after})
				if err == nil {
					moved, err = m.movePage(ctx, tx, page)
				}
				return err
			})
		})
		if err != nil || len(page) == 0 {
			return err
		}
		m.count(moved)
		after = &driver.Position{ID: page[len(page)-1].ID}
	}
}

// where describes the runs of the part that no side has delivered, by the index
// over those of a source.
func (m *moving) where() []driver.Cond {
	p := m.report.Part
	out := []driver.Cond{driver.Eq("kind", p.Type), driver.Eq("status", cutover.Owned), driver.Null("ended_on")}
	return append(out, narrowedTo(p)...)
}

func (m *moving) count(moved []cutover.MovedRun) {
	for _, r := range moved {
		switch {
		case r.Left:
			m.report.Left++
		case r.Owner == cutover.OldScheduler:
			m.report.Returned++
		default:
			m.report.Taken++
		}
		if len(m.report.Runs) < maxMoved {
			m.report.Runs = append(m.report.Runs, r)
		}
	}
}

// movePage moves what is to be moved of a page: first the rows of
// automation_scheduler, then the guard's.
func (m *moving) movePage(ctx context.Context, tx storage.Tx, page []*ownership) ([]cutover.MovedRun, error) {
	stages, err := m.stages(ctx, tx, page)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	rows, err := rowsOfRuns(ctx, tx, m.report.Part.Scope, page)
	if err != nil {
		return nil, err
	}
	var moved []cutover.MovedRun
	var given []*ownership
	var notes []note
	for _, o := range page {
		row := rows[o.Key]
		if row != nil && row.Status == StatusCancelled || !o.give(stageOwner(stages.of(o.rolloutPart()), o.Key)) {
			continue
		}
		given = append(given, o)
		moved = append(moved, cutover.MovedRun{Key: o.Key, Owner: o.Owner, ScheduledOn: o.ScheduledOn, Overdue: !o.ScheduledOn.After(m.now)})
		if n, ok := m.s.rollout().follow(row, o.Owner); ok {
			notes = append(notes, n)
		}
	}
	if m.report.DryRun {
		return moved, nil
	}
	return moved, m.s.saveMoved(ctx, tx, person(m.by), notes, given)
}

// stages are those of the runs, as the move leaves them.
func (m *moving) stages(ctx context.Context, from driver.Reader, page []*ownership) (stages, error) {
	parts := make([]cutover.Part, len(page))
	for i, o := range page {
		parts[i] = o.rolloutPart()
	}
	out, err := loadStages(ctx, from, parts)
	if err == nil && m.report.DryRun {
		out[m.report.Part] = m.report.To
	}
	return out, err
}

// follow changes the row of a run that went to a side: out of shadow, or into it.
// Rows that ended for another reason stay as they are.
func (s Rollout) follow(row *scheduleRow, to cutover.Owner) (note, bool) {
	if row == nil {
		return note{}, false
	}
	n := note{row: row, was: row.past(), reason: "owned by " + string(to)}
	switch {
	case to == cutover.AutomationScheduler && row.inShadow():
		n.action = actionReactivated
		row.reactivate(s.now())
	case to == cutover.OldScheduler && (row.IsOpen() || row.Status == StatusFailed):
		n.action = actionDeactivated
		row.deactivate(s.now(), reasons.Shadow)
	default:
		return note{}, false
	}
	return n, true
}

// saveMoved writes rows, their history and the guard. The error is
// storage.ErrStale if somebody wrote one of them meanwhile.
func (s *core) saveMoved(ctx context.Context, tx storage.Tx, by author, notes []note, given []*ownership) error {
	if err := s.saveAllAndTell(ctx, tx, by, notes); err != nil {
		return err
	}
	return ownerships.Save(ctx, tx, given...)
}

// countLeft names what stays with the old scheduler although the part moved on.
func (m *moving) countLeft(ctx context.Context) error {
	if m.report.To < cutover.StageRunNow {
		return nil
	}
	where := append(m.where(), driver.Eq("owner_type", string(cutover.OldScheduler)), driver.AtMost("scheduled_on", m.now))
	return m.s.read(ctx, func(from driver.Reader) error {
		page, err := ownerships.Find(ctx, from, m.report.Part.Scope, driver.Query{Where: where, Limit: maxMoved})
		if err != nil {
			return err
		}
		stages, err := m.stages(ctx, from, page)
		if err != nil {
			return err
		}
		var left []cutover.MovedRun
		for _, o := range page {
			if stageRuns(stages.of(o.rolloutPart()), o.Key) {
				left = append(left, cutover.MovedRun{Key: o.Key, Owner: cutover.OldScheduler, ScheduledOn: o.ScheduledOn, Overdue: true, Left: true})
			}
		}
		m.count(left)
		return nil
	})
}

// wakeSeries moves series of the part on whose current occurrence came while
// they were in shadow: nobody did, since nothing was due. Going back there is
// nothing to wake.
func (m *moving) wakeSeries(ctx context.Context) error {
	if m.report.DryRun || !stageRuns(m.report.To, "") {
		return nil
	}
	for after := (*driver.Position)(nil); ; {
		var page []*series
		err := m.s.inTx(ctx, func(tx storage.Tx) (err error) {
			if page, err = seriesOfPart(ctx, m.report.Part, tx, after); err != nil {
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

// seriesOfPart reads a page of active series that may belong to the part, in the order
// of their keys.
func seriesOfPart(ctx context.Context, p cutover.Part, from driver.Reader, after *driver.Position) ([]*series, error) {
	where := append([]driver.Cond{driver.Eq("kind", p.Type), driver.Eq("active", true)}, narrowedTo(p)...)
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
			g.reason = reasons.Shadow
			left = append(left, g)
		}
	}
	return s.recurrer().advance(ctx, tx, left)
}

// deliveredAhead says of which series the old scheduler has delivered the current
// occurrence whose moment lies ahead here: it ran early, or its clock is fast.
func (s Rollout) deliveredAhead(ctx context.Context, from driver.Reader, page []*series, rows map[int64]*scheduleRow) (map[int64]bool, error) {
	var places []driver.ScopedKey
	for _, d := range page {
		if row := rows[d.ID]; row != nil && row.inShadow() && d.NextOn.After(s.now()) {
			places = append(places, schedules.ScopedKeyOf(row))
		}
	}
	known, err := ownerships.GetMany(ctx, from, places)
	out := map[int64]bool{}
	for _, d := range page {
		if row := rows[d.ID]; row != nil {
			o := known[schedules.ScopedKeyOf(row)]
			out[d.ID] = o != nil && o.ran(cutover.OldScheduler)
		}
	}
	return out, err
}
