package automation

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// foreseeSeries gives plans of series the rows that takeSeries would ask for, and
// writes nothing: p.found is an occurrence that is and stays, p.moves says that
// the series has to be written, p.ends the occurrence that would end.
func foreseeSeries(ctx context.Context, tx storage.Tx, now time.Time, plans []plan) ([]plan, error) {
	byScope := map[Scope]map[string]bool{}
	for _, p := range plans {
		if p.series == nil {
			continue
		}
		if byScope[p.want.Scope] == nil {
			byScope[p.want.Scope] = map[string]bool{}
		}
		byScope[p.want.Scope][p.series.want.Key] = true
	}
	if len(byScope) == 0 {
		return plans, nil
	}
	stored := map[Scope]map[string]*series{}
	rows := map[int64]*Schedule{}
	for scope, keys := range byScope {
		found, err := findSeries(ctx, tx, scope, keys)
		if err != nil {
			return nil, err
		}
		stored[scope] = map[string]*series{}
		for _, d := range found {
			stored[scope][d.Key] = d
		}
		of, err := occurrencesOf(ctx, tx, found)
		if err != nil {
			return nil, err
		}
		for id, row := range of {
			rows[id] = row
		}
	}
	t := taking{now: now, plans: slices.Clone(plans)}
	for i := range t.plans {
		p := &t.plans[i]
		if p.series == nil {
			continue
		}
		if err := t.foresee(p, stored[p.want.Scope][p.series.want.Key], rows); err != nil {
			return nil, err
		}
	}
	return t.plans, nil
}

// foresee looks at one series; stored is nil if there is none.
func (t *taking) foresee(p *plan, stored *series, rows map[int64]*Schedule) error {
	if stored == nil {
		fresh := p.series.want
		fresh.moveTo(p.series.line.After(t.now))
		return t.fill(p, &fresh)
	}
	after, row := *stored, rows[stored.ID]
	if p.moves = t.change(&after, p, row); !p.moves {
		p.found = row
	} else if row != nil && runs(row) && !row.ScheduledOn.Equal(after.NextOn) {
		p.ends = row
	}
	return t.fill(p, &after)
}

// foreseeSeries finds out which rows the series of the sources ask for, in few
// statements for all of them.
func (p *scannedPage) foreseeSeries(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	var all []plan
	for _, x := range among {
		all = append(all, x.asked...)
	}
	all, err := p.s.shadowSeries(ctx, tx, all)
	if err == nil {
		all, err = foreseeSeries(ctx, tx, p.now, all)
	}
	if err != nil {
		return err
	}
	for _, x := range among {
		n := len(x.asked)
		x.asked, all = all[:n:n], all[n:]
	}
	return nil
}
