package work

import (
	"context"
	"fmt"
	"time"
)

// settled is a row on its way back into the store, with what its handler decided.
type settled[R, A any] struct {
	row      *R
	result   A
	dispatch bool // false: abandoned, failed or released, so nothing was decided
}

// split separates a claim into rows to settle at once, since they were taken
// over from somebody else, and groups of rows of one type to be handled.
func (r *runner[R, A]) split(rows []*R, rep *Report) (abandoned []settled[R, A], groups [][]*R) {
	open := map[string]int{}
	rep.Claimed += len(rows)
	for _, row := range rows {
		rec := r.rec(row)
		if rec.Abandoned {
			r.spec.Abandon(r.now(), row)
			rep.Abandoned++
			abandoned = append(abandoned, settled[R, A]{row: row})
			continue
		}
		i, ok := open[rec.Type]
		if !ok || len(groups[i]) == r.spec.Group {
			i = len(groups)
			groups, open[rec.Type] = append(groups, nil), i
		}
		groups[i] = append(groups[i], row)
	}
	return abandoned, groups
}

// handle runs the handler over a group whose flights have begun. What a streaming
// handler passes on goes to early, the rest is returned.
func (r *runner[R, A]) handle(ctx context.Context, group []*R, flights []*flight, rep *Report, early func(settled[R, A])) []settled[R, A] {
	ctx, end := r.tel.handling(ctx, len(group))
	var err error
	defer func() { end(err) }()
	items := make([]Item[R], len(group))
	for i, row := range group {
		items[i] = Item[R]{Row: row, Ctx: flights[i].ctx, Lease: r.o.Lease}
	}
	if r.spec.Stream != nil {
		var left []*R
		if left, err = r.stream(ctx, items, early); len(left) == 0 {
			return nil
		}
		return r.failAll(ctx, left, err, rep)
	}
	var results []A
	err = Guard(func() (err error) {
		results, err = r.spec.Handle(ctx, items)
		return err
	})
	if err == nil && len(results) != len(group) {
		err = fmt.Errorf("work: the handler of %s answered %d results for %d rows", r.spec.Name, len(results), len(group))
	}
	if err != nil {
		return r.failAll(ctx, group, err, rep)
	}
	done := make([]settled[R, A], len(group))
	for i, row := range group {
		done[i] = settled[R, A]{row: row, result: results[i], dispatch: true}
	}
	return done
}

func (r *runner[R, A]) failAll(ctx context.Context, group []*R, err error, rep *Report) []settled[R, A] {
	r.o.Logger.ErrorContext(ctx, "belfry: a group of rows failed", "pass", r.spec.Name, "rows", len(group), "error", err)
	done := make([]settled[R, A], len(group))
	for i, row := range group {
		r.spec.Fail(r.now(), row, err)
		done[i].row = row
	}
	rep.Failed += len(group)
	return done
}

// release gives a group back that no handler has seen.
func (r *runner[R, A]) release(group []*R, rep *Report) []settled[R, A] {
	done := make([]settled[R, A], len(group))
	for i, row := range group {
		r.spec.Release(r.now(), row)
		done[i].row = row
	}
	rep.Released += len(group)
	return done
}

// board begins the flights of claimed rows: from here on they are renewed.
func (r *runner[R, A]) board(ctx context.Context, group []*R, claimedAt time.Time) []*flight {
	flights := make([]*flight, len(group))
	for i, row := range group {
		flights[i] = r.flights.add(ctx, r.rec(row), claimedAt.Add(r.o.Lease))
	}
	return flights
}
