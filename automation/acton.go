package automation

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/storage"
)

// acting is what support wants done.
type acting struct {
	action Action
	by     By
	dryRun bool
}

// Acted is what a support action did to one row, or would do.
type Acted struct {
	Key      string
	From, To string // the statuses before and after
	// Refused says why nothing was done; empty: it was.
	Refused string
}

// keepsChanging refuses a row that others wrote whenever it was to be saved.
const keepsChanging = "it keeps changing"

// actOn acts on rows of one scope, in few statements for any number of them, and
// answers in their order. A row that somebody wrote since it was read (a claim
// does) is read and decided about again; lease and token stay the worker's.
func (s *Scheduler) actOn(ctx context.Context, tx storage.Tx, rows []*Schedule, a acting) ([]Acted, error) {
	out := make([]Acted, len(rows))
	places := map[int64]int{}
	for i, row := range rows {
		places[row.ID] = i
		out[i] = Acted{Key: row.Key, Refused: keepsChanging} // until it is decided
	}
	for tries := 0; tries < 5 && len(rows) > 0; tries++ {
		notes := a.decide(rows, s, func(row *Schedule) *Acted { return &out[places[row.ID]] })
		if a.dryRun {
			break
		}
		stale, err := a.save(ctx, tx, notes)
		if err == nil {
			err = s.followActed(ctx, tx, notes, stale)
		}
		if err != nil {
			return nil, err
		}
		for _, id := range stale {
			out[places[id]].Refused = keepsChanging
		}
		if rows, err = again(ctx, tx, rows, stale); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decide changes rows, answers for each, and returns what has to be saved.
func (a acting) decide(rows []*Schedule, s *Scheduler, answer func(*Schedule) *Acted) []note {
	now, change := s.now(), supportActions[a.action]
	var notes []note
	for _, row := range rows {
		was := row.past()
		refused := change(row, now, a.by)
		*answer(row) = Acted{Key: row.Key, From: was.status, To: row.Status, Refused: refused}
		if refused == "" {
			notes = append(notes, note{row, was, a.action, a.by.Reason})
		}
	}
	return notes
}

// save writes what was decided with its audit, and returns the ids of the rows
// that somebody else wrote meanwhile.
func (a acting) save(ctx context.Context, tx storage.Tx, notes []note) ([]int64, error) {
	rows := make([]*Schedule, len(notes))
	for i, l := range notes {
		rows[i] = l.row
	}
	err := schedules.Save(ctx, tx, rows...)
	var stale *storage.StaleError
	if err != nil && !errors.As(err, &stale) {
		return nil, err
	}
	lost := map[int]bool{}
	var ids []int64
	if stale != nil {
		for _, i := range stale.Rows {
			lost[i] = true
			ids = append(ids, rows[i].ID)
		}
	}
	var done []note
	for i, l := range notes {
		if !lost[i] {
			done = append(done, l)
		}
	}
	return ids, tell(ctx, tx, a.by.Actor, done)
}

// again reads rows by their ids.
func again(ctx context.Context, tx storage.Tx, rows []*Schedule, ids []int64) ([]*Schedule, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return schedules.Find(ctx, tx, rows[0].Scope, storage.Query{Where: []storage.Cond{storage.In("id", ids)}, Limit: len(ids)})
}
