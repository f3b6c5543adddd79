package automation

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// moveRuns gives the runs of the part to the side that their stage names. What
// has come is not taken from the old scheduler.
func (m *moving) moveRuns(ctx context.Context) error {
	if err := m.moveFrom(ctx, storage.Eq("owner_type", string(AutomationScheduler))); err != nil {
		return err
	}
	return m.moveFrom(ctx, storage.Eq("owner_type", string(OldScheduler)), storage.Greater("scheduled_on", m.now))
}

func (m *moving) moveFrom(ctx context.Context, from ...storage.Cond) error {
	where := append(m.where(), from...)
	for after := (*storage.Position)(nil); ; {
		var page []*ownership
		var moved []MovedRun
		err := m.s.again(ctx, func(tx storage.Tx) (err error) {
			page, err = ownerships.Find(ctx, tx, m.report.Part.Scope, storage.Query{Where: where, Limit: movePage, After: after})
			if err == nil {
				moved, err = m.movePage(ctx, tx, page)
			}
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		m.count(moved)
		after = &storage.Position{ID: page[len(page)-1].ID}
	}
}

// again runs f until nobody has written its rows meanwhile, as claims do.
func (s *Scheduler) again(ctx context.Context, f func(storage.Tx) error) (err error) {
	for range 10 {
		if err = s.inTx(ctx, f); !errors.Is(err, storage.ErrStale) {
			return err
		}
	}
	return fmt.Errorf("runs kept changing while they were moved: %w", storage.ErrBusy)
}

// where describes the runs of the part that no side has delivered, by the index
// over those of a source.
func (m *moving) where() []storage.Cond {
	p := m.report.Part
	out := []storage.Cond{storage.Eq("type", p.Type), storage.Eq("status", OwnershipOwned), storage.Null("ended_on")}
	for _, narrow := range []struct{ column, text string }{
		{"setting", p.Setting}, {"source", p.Source}, {"business_unit", p.BusinessUnit},
	} {
		if narrow.text != "" {
			out = append(out, storage.Eq(narrow.column, narrow.text))
		}
	}
	return out
}

func (m *moving) count(moved []MovedRun) {
	for _, r := range moved {
		switch {
		case r.Left:
			m.report.Left++
		case r.Owner == OldScheduler:
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
func (m *moving) movePage(ctx context.Context, tx storage.Tx, page []*ownership) ([]MovedRun, error) {
	stages, err := m.stages(ctx, tx, page)
	if err != nil || len(page) == 0 {
		return nil, err
	}
	rows, err := m.rowsOf(ctx, tx, page)
	if err != nil {
		return nil, err
	}
	var moved []MovedRun
	var given []*ownership
	var changed []*Schedule
	var notes []note
	for _, o := range page {
		row := rows[o.Key]
		if row != nil && row.Status == StatusCancelled || !o.give(stages.of(o.rolloutPart()).owner(o.Key)) {
			continue
		}
		given = append(given, o)
		moved = append(moved, MovedRun{Key: o.Key, Owner: o.Owner, ScheduledOn: o.ScheduledOn, Overdue: !o.ScheduledOn.After(m.now)})
		if n, ok := m.s.follow(row, o.Owner); ok {
			changed, notes = append(changed, row), append(notes, n)
		}
	}
	if m.report.DryRun {
		return moved, nil
	}
	return moved, saveMoved(ctx, tx, m.by.Actor, changed, notes, given)
}

// stages are those of the runs, as the move leaves them.
func (m *moving) stages(ctx context.Context, tx storage.Tx, page []*ownership) (stages, error) {
	parts := make([]RolloutPart, len(page))
	for i, o := range page {
		parts[i] = o.rolloutPart()
	}
	out, err := loadStages(ctx, tx, parts)
	if err == nil && m.report.DryRun {
		out[m.report.Part] = m.report.To
	}
	return out, err
}

func (m *moving) rowsOf(ctx context.Context, tx storage.Tx, page []*ownership) (map[string]*Schedule, error) {
	keys := make([]string, len(page))
	for i, o := range page {
		keys[i] = o.Key
	}
	found, err := schedules.Find(ctx, tx, m.report.Part.Scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
	out := map[string]*Schedule{}
	for _, row := range found {
		out[row.Key] = row
	}
	return out, err
}

// follow changes the row of a run that went to a side: out of shadow, or into it.
// Rows that ended for another reason stay as they are.
func (s *Scheduler) follow(row *Schedule, to Owner) (note, bool) {
	if row == nil {
		return note{}, false
	}
	n := note{row: row, was: row.past(), reason: "owned by " + string(to)}
	switch {
	case to == AutomationScheduler && row.inShadow():
		n.action = ActionReactivated
		row.reactivate(s.now())
	case to == OldScheduler && (row.IsOpen() || row.Status == StatusFailed):
		n.action = ActionDeactivated
		row.deactivate(s.now(), Shadow)
	default:
		return note{}, false
	}
	return n, true
}

// saveMoved writes rows, their history and the guard. The error is
// storage.ErrStale if somebody wrote one of them meanwhile.
func saveMoved(ctx context.Context, tx storage.Tx, by string, rows []*Schedule, notes []note, given []*ownership) error {
	err := schedules.Save(ctx, tx, rows...)
	if err == nil {
		err = tell(ctx, tx, by, notes)
	}
	if err == nil {
		err = ownerships.Save(ctx, tx, given...)
	}
	return err
}

// countLeft names what stays with the old scheduler although the part moved on.
func (m *moving) countLeft(ctx context.Context) error {
	if m.report.To < StageRunNow {
		return nil
	}
	where := append(m.where(), storage.Eq("owner_type", string(OldScheduler)), storage.AtMost("scheduled_on", m.now))
	return m.s.inTx(ctx, func(tx storage.Tx) error {
		page, err := ownerships.Find(ctx, tx, m.report.Part.Scope, storage.Query{Where: where, Limit: maxMoved})
		if err != nil {
			return err
		}
		stages, err := m.stages(ctx, tx, page)
		if err != nil {
			return err
		}
		var left []MovedRun
		for _, o := range page {
			if stages.of(o.rolloutPart()).runs(o.Key) {
				left = append(left, MovedRun{Key: o.Key, Owner: OldScheduler, ScheduledOn: o.ScheduledOn, Overdue: true, Left: true})
			}
		}
		m.count(left)
		return nil
	})
}
