package survey

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// resultRow is what was counted under one value of a dimension in a day or a month; Key
// is resultKey. One row more of each survey, with the key of headKey, has no counts:
// a change of the others of the survey writes it too, so that one at a time does. It
// is never due.
type resultRow struct {
	storage.Record
	SurveyID     int64    `db:"survey_id,fixed"`
	BusinessUnit string   `db:"business_unit,fixed,plain"`
	Dimension    string   `db:"dimension,fixed,plain"`
	Period       string   `db:"period,fixed,plain"` // see dayPeriod, monthPeriod
	Value        string   `db:"value,fixed,plain"`
	Counts       *counted `db:"counts,json,plain"`
}

var resultRows = driver.Define[resultRow]("survey_result").Grows(driver.WithEntities).
	Kept(driver.Always, "counts a day and month, which outlive their responses").Limit(4 << 20)

// entryRow is a fact that is not among the results yet, written in the transaction of
// what it is about; Key is the link's public id and what happened. It goes when it is
// counted.
type entryRow struct {
	storage.Record
	SurveyID int64 `db:"survey_id,fixed"`
	Fact     *fact `db:"fact,fixed,json,plain"`
}

var entries = driver.Define[entryRow]("survey_result_entry").Grows(driver.WithWork).
	Kept(driver.Always, "gone with the next poll, which counts it").Limit(1 << 20)

// What entries are about, at the end of their keys.
const (
	askedEntry     = ":asked"
	openedEntry    = ":opened"
	answeredEntry  = ":answered"
	respondedEntry = ":responded"
)

func entryOf(i *instanceRow, about string, f *fact) *entryRow {
	return &entryRow{Record: storage.Record{Scope: i.Scope, Key: i.PublicID + about}, SurveyID: i.SurveyID, Fact: f}
}

// noteAsked notes links that went out for the first time. Of one that was opened before that it is
// noted already.
func noteAsked(ctx context.Context, tx storage.Tx, rows ...*instanceRow) error {
	var out []*entryRow
	for _, r := range rows {
		if r.Asked && r.OpenedOn.IsZero() {
			out = append(out, entryOf(r, askedEntry, factOf(r, r.Of, r.CreatedOn, &counted{Asked: 1})))
		}
	}
	_, err := entries.Insert(ctx, tx, out...)
	return err
}

// Periods begin with a letter, so that days and months stand apart, in order of time.
func dayPeriod(day string) string   { return "d" + day }
func monthPeriod(day string) string { return "m" + day[:len("2006-01")] }

// resultKey is the key of a row: within a survey and a dimension in the order of time.
func resultKey(surveyID int64, dimension, period, unit, value string) string {
	return strings.Join([]string{surveyKey(surveyID), dimension, period, unit, value}, "\x1f")
}

// headKey comes before all others of a survey.
func headKey(surveyID int64) string { return surveyKey(surveyID) }

// tallyPage is how many entries are counted at once.
const tallyPage = 500

// tallyPass counts entries. It claims none: a page is counted and deleted in one
// transaction, with the head of its survey, so that of two who have the same page one
// writes nothing.
type tallyPass struct{ *core }

func (p tallyPass) Name() string { return "survey.results" }

func (p tallyPass) Runner(o work.Options) work.Runner {
	return &tallyRunner{core: p.core, every: cmp.Or(o.Interval, time.Second)}
}

type tallyRunner struct {
	*core
	every time.Duration
}

// Poll counts all that there is. Its report is empty: what is counted was done before.
func (r *tallyRunner) Poll(ctx context.Context, _ int) (work.Report, error) {
	for {
		more, err := r.tally(ctx)
		if err != nil || !more {
			return work.Report{}, err
		}
	}
}

// Run counts at each interval.
func (r *tallyRunner) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.store.Clock().After(r.every):
		}
		if _, err := r.Poll(ctx, 0); err != nil && ctx.Err() == nil {
			r.options.Logger.WarnContext(ctx, "belfry: poll failed", "pass", "survey.results", "error", err)
		}
	}
}

// Liveness is none: the sends say how a poller does.
func (r *tallyRunner) Liveness() []work.Liveness { return nil }

// surveyRef names a survey of a tenant.
type surveyRef struct {
	scope Scope
	id    int64
}

// tally counts a page of entries, and says whether to go on: there was a whole page, and
// some of it was counted.
func (s *core) tally(ctx context.Context) (more bool, err error) {
	var page []*entryRow
	err = s.store.View(ctx, func(from driver.Reader) (err error) {
		page, err = entries.Everywhere().Find(ctx, from, driver.Query{Limit: tallyPage})
		return err
	})
	if err != nil {
		return false, err
	}
	of := map[surveyRef][]*entryRow{}
	for _, e := range page {
		ref := surveyRef{e.Scope, e.SurveyID}
		of[ref] = append(of[ref], e)
	}
	var errs []error
	for ref, some := range of {
		switch err := s.count(ctx, ref, some); {
		case err == nil:
			more = true
		case !errors.Is(err, storage.ErrStale): // else another process has been here
			errs = append(errs, err)
		}
	}
	return more && len(page) == tallyPage, errors.Join(errs...)
}

// count adds entries of one survey to its results and deletes them. An ErrStale says that another
// process was first.
func (s *core) count(ctx context.Context, ref surveyRef, some []*entryRow) error {
	return s.store.InTx(ctx, func(tx storage.Tx) error {
		head, err := resultRows.Get(ctx, tx, ref.scope, headKey(ref.id))
		if errors.Is(err, storage.ErrNotFound) {
			head, err = &resultRow{Record: storage.Record{Scope: ref.scope, Key: headKey(ref.id)}, SurveyID: ref.id}, nil
		}
		if err == nil {
			err = writeRow(ctx, tx, head)
		}
		if err != nil {
			return err
		}
		sums := sums{}
		for _, e := range some {
			sums.add(e.Fact)
		}
		if err := sums.store(ctx, tx, ref); err != nil {
			return err
		}
		return entries.Delete(ctx, tx, some...)
	})
}

// writeRow stores a row that was read, or made; an ErrStale if another has since.
func writeRow(ctx context.Context, tx storage.Tx, rows ...*resultRow) error {
	var old, add []*resultRow
	for _, r := range rows {
		if r.Version == 0 {
			add = append(add, r)
		} else {
			old = append(old, r)
		}
	}
	isNew, err := resultRows.Insert(ctx, tx, add...)
	if err != nil {
		return err
	}
	if slices.Contains(isNew, false) {
		return storage.ErrStale
	}
	return resultRows.Save(ctx, tx, old...)
}

// place is where something is counted within a survey.
type place struct{ dimension, period, unit, value string }

// sums are counts by place.
type sums map[place]*counted

// add counts a fact under each of its dimensions, for its day and its month.
func (s sums) add(f *fact) {
	for dimension, value := range f.dimensions() {
		for _, period := range []string{dayPeriod(f.Day), monthPeriod(f.Day)} {
			at := place{dimension, period, f.Unit, value}
			if s[at] == nil {
				s[at] = &counted{}
			}
			s[at].add(f.Counts)
		}
	}
}

// store adds the sums to what is stored.
func (s sums) store(ctx context.Context, tx storage.Tx, ref surveyRef) error {
	places := make([]driver.ScopedKey, 0, len(s))
	for p := range s {
		places = append(places, driver.ScopedKey{Scope: ref.scope, Key: p.key(ref.id)})
	}
	stored, err := resultRows.GetMany(ctx, tx, places)
	if err != nil {
		return err
	}
	rows := make([]*resultRow, 0, len(s))
	for p, c := range s {
		row := stored[driver.ScopedKey{Scope: ref.scope, Key: p.key(ref.id)}]
		if row == nil {
			row = p.row(ref)
		}
		row.Counts.add(c)
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *resultRow) int { return strings.Compare(a.Key, b.Key) })
	return writeRow(ctx, tx, rows...)
}

func (p place) key(surveyID int64) string {
	return resultKey(surveyID, p.dimension, p.period, p.unit, p.value)
}

func (p place) row(ref surveyRef) *resultRow {
	return &resultRow{
		Record: storage.Record{Scope: ref.scope, Key: p.key(ref.id)}, SurveyID: ref.id,
		BusinessUnit: p.unit, Dimension: p.dimension, Period: p.period, Value: p.value, Counts: &counted{},
	}
}
