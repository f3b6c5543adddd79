package automation

import (
	"context"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

// wakeSeries moves series of the part on whose current occurrence came while
// they were in shadow: nobody did, since nothing was due. Going back there is
// nothing to wake.
func (m *moving) wakeSeries(ctx context.Context) error {
	if m.report.DryRun || !m.report.To.runs("") {
		return nil
	}
	for after := (*storage.Position)(nil); ; {
		var page []*series
		err := m.s.inTx(ctx, func(tx storage.Tx) (err error) {
			if page, err = m.report.Part.series(ctx, tx, after); err != nil {
				return err
			}
			return m.s.advanceShadows(ctx, tx, page)
		})
		if err != nil || len(page) == 0 {
			return err
		}
		after = &storage.Position{Value: page[len(page)-1].Key, ID: page[len(page)-1].ID}
	}
}

// series reads a page of active series that may belong to the part, in the order
// of their keys.
func (p RolloutPart) series(ctx context.Context, tx storage.Tx, after *storage.Position) ([]*series, error) {
	where := []storage.Cond{storage.Eq("type", p.Type), storage.Eq("active", true)}
	if p.BusinessUnit != "" {
		where = append(where, storage.Eq("business_unit", p.BusinessUnit))
	}
	if p.Source != "" {
		where = append(where, storage.Eq("source", p.Source))
	}
	if p.Setting != "" { // the beginning of the key
		automationType := TypeReminder
		if p.Setting == TypeReportSubscription {
			automationType = TypeReportSubscription
		}
		prefix := strings.Join([]string{automationType, p.Setting, ""}, "\x1f")
		where = append(where, storage.Eq("setting", p.Setting), storage.Greater("key", prefix), storage.Less("key", prefix+"\U0010ffff"))
	}
	return seriesTable.Find(ctx, tx, p.Scope, storage.Query{Where: where, OrderBy: "key", Limit: movePage, After: after})
}

// advanceShadows moves series on whose current occurrence has come in shadow, or was
// delivered ahead of its moment.
func (s *Scheduler) advanceShadows(ctx context.Context, tx storage.Tx, page []*series) error {
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
	return s.advance(ctx, tx, left)
}

// deliveredAhead says of which series the old scheduler has delivered the current
// occurrence whose moment lies ahead here: it ran early, or its clock is fast.
func (s *Scheduler) deliveredAhead(ctx context.Context, tx storage.Tx, page []*series, rows map[int64]*Schedule) (map[int64]bool, error) {
	keys := map[Scope][]string{}
	for _, d := range page {
		if row := rows[d.ID]; row != nil && row.inShadow() && d.NextOn.After(s.now()) {
			keys[d.Scope] = append(keys[d.Scope], row.Key)
		}
	}
	known, err := findOwnerships(ctx, tx, keys)
	out := map[int64]bool{}
	for _, d := range page {
		if row := rows[d.ID]; row != nil {
			o := known[statePlace{d.Scope, row.Key}]
			out[d.ID] = o != nil && o.ran(OldScheduler)
		}
	}
	return out, err
}
