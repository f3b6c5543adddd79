// Package unserved finds due rows of kinds that no process serves. A process claims only
// rows whose type or channel it has, so that one that no process has would wait for ever
// and say nothing. What each process has, and what it has missed, is remembered in a row
// for each kind, which all processes and domains write: the age of a due row alone would
// take every backlog for unserved rows. What becomes of the rows is the domain's to say.
package unserved

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// kindRow says who serves a kind of rows of a table, over all processes: Key is both of
// them. It is never due.
type kindRow struct {
	storage.Record
	// ServedOn is when a process that serves the kind last looked for due rows.
	ServedOn time.Time `db:"served_on"`
	// MissedSince is since when processes that do not serve it have seen rows wait, and
	// MissedOn the last time. After a gap it begins anew: no process looked, so none could
	// take them.
	MissedSince time.Time `db:"missed_since"`
	MissedOn    time.Time `db:"missed_on"`
}

var kinds = driver.Define[kindRow]("served_kind").Grows(driver.Bounded).
	Kept(driver.Always, "one for each type or channel of a table with due work")

// Schemas lists the table of this package.
func Schemas() []*driver.Schema { return []*driver.Schema{&kinds.Schema} }

// Served are the kinds of rows of a table that some process has or had, the first thousand.
func Served(ctx context.Context, from driver.Reader, table string) (all []string, err error) {
	key, err := keys.Join(table)
	if err != nil {
		return nil, err
	}
	rows, err := kinds.Find(ctx, from, "", driver.Query{Where: driver.ChildrenOf(key), Limit: 1000})
	for _, r := range rows {
		if _, kind, ok := strings.Cut(r.Key, "\x1f"); ok && !r.ServedOn.IsZero() {
			all = append(all, kind)
		}
	}
	return all, err
}

// ServedOn is when a process that serves a kind of rows of a table was last seen; zero:
// never.
func ServedOn(ctx context.Context, from driver.Reader, table, kind string) (time.Time, error) {
	key, err := keys.Join(table, kind)
	if err != nil {
		return time.Time{}, err
	}
	row, err := kinds.Get(ctx, from, "", key)
	if errors.Is(err, storage.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return row.ServedOn, nil
}

// Table is what a domain says of one of its tables.
type Table[R any] struct {
	Rows *driver.Table[R]
	// Serves lists the kinds that this process serves. Rows without a kind belong to all
	// processes.
	Serves func() []string
	// Waiting are the statuses of rows that wait for a process, and of those that one has
	// left behind.
	Waiting []string
	// Stop has a row wait no longer.
	Stop func(now time.Time, r *R)
	// Abandon settles a row that a worker has left behind, as the pass of those that serve
	// it would; it waits then, or has another state. Nil: those are left alone.
	Abandon func(now time.Time, r *R)
	// Resume takes Stop back, once the kind is served again: of rows that are on hold for
	// Hold. Nil: a person does.
	Resume func(now time.Time, r *R)
	Hold   string
	// Saved hears of the rows that were written, in their transaction. Nil: no one does.
	Saved func(ctx context.Context, tx storage.Tx, rows []*R) error
}

// looking is a sweep at a moment, for what goes unserved for so long.
type looking struct {
	now   time.Time
	after time.Duration
}

// Watched is a [Table] of any row.
type Watched interface {
	// sweep says what this process serves, and frees rows of unserved kinds.
	sweep(ctx context.Context, store storage.Store, l looking) error
}

func (t Table[R]) sweep(ctx context.Context, store storage.Store, l looking) error {
	served := t.Serves()
	var waiting, gone []string
	err := store.View(ctx, func(from driver.Reader) (err error) {
		waiting, err = t.waiting(ctx, from, l, served)
		return err
	})
	if err != nil {
		return err
	}
	err = store.InTx(ctx, func(tx storage.Tx) (err error) {
		if err := t.serving(ctx, tx, l, served); err != nil {
			return err
		}
		gone, err = t.missing(ctx, tx, l, waiting)
		return err
	})
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		if err := t.stop(ctx, store, l, gone); err != nil {
			return err
		}
	}
	if t.Resume == nil || len(served) == 0 {
		return nil
	}
	return t.resume(ctx, store, l, served)
}

func (t Table[R]) row(kind string) (*kindRow, error) {
	key, err := keys.Join(t.Rows.Name, kind)
	return &kindRow{Record: storage.Record{Key: key, Kind: kind}}, err
}

// serving tells the other processes what this one has. What was said of late is not said
// again.
func (t Table[R]) serving(ctx context.Context, tx storage.Tx, l looking, served []string) error {
	rows := make([]*kindRow, len(served))
	for i, kind := range served {
		row, err := t.row(kind)
		if err != nil {
			return err
		}
		row.ServedOn = l.now
		rows[i] = row
	}
	_, err := kinds.Ensure(ctx, tx, func(stored, _ *kindRow) (storage.Outcome, bool) {
		if l.now.Sub(stored.ServedOn) < l.after/8 {
			return storage.Unchanged, false
		}
		stored.ServedOn = l.now
		return storage.Updated, true
	}, rows...)
	return err
}

// missing notes that rows wait for kinds that this process has not, and returns those
// that were unserved for so long that they stop waiting.
func (t Table[R]) missing(ctx context.Context, tx storage.Tx, l looking, waiting []string) (gone []string, err error) {
	if len(waiting) == 0 {
		return nil, nil
	}
	rows := make([]*kindRow, len(waiting))
	for i, kind := range waiting {
		if rows[i], err = t.row(kind); err != nil {
			return nil, err
		}
		rows[i].MissedSince, rows[i].MissedOn = l.now, l.now
	}
	got, err := kinds.Ensure(ctx, tx, func(stored, _ *kindRow) (storage.Outcome, bool) {
		if stored.MissedOn.IsZero() || l.now.Sub(stored.MissedOn) > l.after {
			stored.MissedSince = l.now
		}
		stored.MissedOn = l.now
		return storage.Updated, true
	}, rows...)
	if err != nil {
		return nil, err
	}
	for _, g := range got {
		since := g.Row.MissedSince
		if g.Row.ServedOn.After(since) {
			since = g.Row.ServedOn
		}
		if l.now.Sub(since) >= l.after {
			gone = append(gone, g.Row.Kind)
		}
	}
	return gone, nil
}
