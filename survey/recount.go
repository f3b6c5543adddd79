package survey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// recountTime is how long a recount is left alone after each of its pages. If it died, the
// counting of new responses goes on after that.
const recountTime = 5 * time.Minute

// errOvertaken says that another recount took over.
var errOvertaken = errors.New("survey: another recount of the survey has begun")

// Recount counts the responses of a survey again, and puts that in the place of what was
// counted. How many were asked stays: responses do not say it. What was erased or forgotten since,
// or deleted by a host's own SQL, is not counted any more. It returns how many responses
// there were.
//
// It reads in pages, and writes in one transaction at its end: killed before, it has
// changed nothing. Meanwhile responses come as always, and are counted afterwards.
func (s Results) Recount(ctx context.Context, scope Scope, surveyID int64) (n int, err error) {
	if s.tx != nil {
		return 0, errBound
	}
	ref := surveyRef{scope, surveyID}
	r := &recount{core: s.core, ref: ref, sums: sums{}}
	if err = r.begin(ctx); err == nil {
		n, err = r.walk(ctx)
	}
	if err == nil {
		err = r.finish(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("survey: Recount of survey %d: %w", surveyID, err)
	}
	return n, nil
}

// recount is one call. From begin on nobody counts entries of the survey, so that a
// response is either in what was counted, and has no entry, or has its entry until the
// end.
type recount struct {
	*core
	ref  surveyRef
	head *resultRow
	sums sums
}

func (r *recount) begin(ctx context.Context) error {
	return driver.RetryStale("the results", func() error {
		return r.store.InTx(ctx, func(tx storage.Tx) (err error) {
			if r.head, err = takeHead(ctx, tx, r.ref); err != nil {
				return err
			}
			return r.hold(ctx, tx)
		})
	})
}

// hold keeps everybody else off for another while.
func (r *recount) hold(ctx context.Context, tx storage.Tx) error {
	r.head.RecountsUntil = driver.Now(r.store).Add(recountTime)
	return writeRow(ctx, tx, r.head)
}

// walk counts the responses that have no entry.
func (r *recount) walk(ctx context.Context) (n int, err error) {
	q := driver.Query{
		Columns: []string{"submitted_on", "fact"}, OrderBy: "submitted_on", Limit: tallyPage,
		Where: []driver.Cond{driver.Eq("survey_id", r.ref.id), driver.NotNull("submitted_on")},
	}
	for {
		var page []*responseRow
		var waiting map[driver.ScopedKey]*entryRow
		err := r.store.InTx(ctx, func(tx storage.Tx) (err error) {
			if page, err = responses.Find(ctx, tx, r.ref.scope, q); err != nil {
				return err
			}
			places := make([]driver.ScopedKey, len(page))
			for i, p := range page {
				places[i] = driver.ScopedKey{Scope: r.ref.scope, Key: p.Key + answeredEntry}
			}
			if waiting, err = entries.GetMany(ctx, tx, places, "survey_id"); err != nil {
				return err
			}
			return r.hold(ctx, tx)
		})
		if errors.Is(err, storage.ErrStale) {
			return 0, errOvertaken
		}
		if err != nil {
			return 0, err
		}
		for _, p := range page {
			if p.Fact != nil && waiting[driver.ScopedKey{Scope: r.ref.scope, Key: p.Key + answeredEntry}] == nil {
				r.sums.add(p.Fact)
			}
		}
		if n += len(page); len(page) < q.Limit {
			return n, nil
		}
		last := page[len(page)-1]
		q.After = &driver.Position{Value: last.SubmittedOn, ID: last.ID}
	}
}

// finish puts the sums in the place of the rows of the survey.
func (r *recount) finish(ctx context.Context) error {
	err := r.store.InTx(ctx, func(tx storage.Tx) error {
		head := *r.head // the transaction may run again
		head.RecountsUntil = time.Time{}
		if err := writeRow(ctx, tx, &head); err != nil {
			return err
		}
		left := make(sums, len(r.sums))
		for p, c := range r.sums {
			c.Asked = 0
			left[p] = c
		}
		err := resultRows.Walk(ctx, tx, r.ref.scope, driver.Query{
			Where:   driver.ChildrenOf(headKey(r.ref.id)),
			OrderBy: "key", Limit: 1000,
		}, func(page []*resultRow) error {
			var kept, empty []*resultRow
			for _, row := range page {
				p := place{row.Dimension, row.Period, row.BusinessUnit, row.Value}
				c := left[p]
				if delete(left, p); c == nil {
					c = &counted{}
				}
				c.Asked = row.Counts.Asked
				if row.Counts = c; c.empty() {
					empty = append(empty, row)
				} else {
					kept = append(kept, row)
				}
			}
			if err := resultRows.Delete(ctx, tx, empty...); err != nil {
				return err
			}
			return writeRow(ctx, tx, kept...)
		})
		if err != nil {
			return err
		}
		return left.store(ctx, tx, r.ref)
	})
	if errors.Is(err, storage.ErrStale) {
		return errOvertaken
	}
	return err
}
