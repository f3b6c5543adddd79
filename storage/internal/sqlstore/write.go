package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// Insert adds the rows whose scope and key are free, in the order of their keys,
// so that concurrent batches take their locks in one order.
func (x *tx) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	added := make([]bool, len(rows))
	if len(rows) == 0 {
		return added, x.usable(ctx)
	}
	order := sorted(rows, byKey)
	at := 0 // rows come back in the order they were sent, or nearly so
	err := x.store.cfg.Dialect.verbs.insert(ctx, x, x.store.table(s), pick(rows, order),
		func(id int64, scope driver.Scope, key string) error {
			for range rows {
				i := order[at]
				at = (at + 1) % len(order)
				rec := driver.RecordOf(rows[i])
				if !added[i] && rec.Key == key && rec.Scope == scope {
					x.changed(rec)
					added[i], rec.ID, rec.Version = true, id, 1
					x.hints.Add(s, rows[i:i+1])
					return nil
				}
			}
			return errForeignRow
		})
	if err != nil {
		return nil, x.fail(ctx, "insert into "+s.Name, err)
	}
	return added, nil
}

func byKey(a, b *driver.Record) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Key, b.Key))
}

// sorted returns the indices of rows in an order; equal ones stay as they are.
func sorted(rows []driver.Row, order func(a, b *driver.Record) int) []int {
	index := make([]int, len(rows))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int {
		return order(driver.RecordOf(rows[a]), driver.RecordOf(rows[b]))
	})
	return index
}

func pick(rows []driver.Row, index []int) []driver.Row {
	out := make([]driver.Row, len(index))
	for n, i := range index {
		out[n] = rows[i]
	}
	return out
}

// scanInserted reads the answer of an INSERT.
func scanInserted(done inserted) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var id int64
		var scope driver.Scope
		var key string
		for r.Next() {
			if err := r.Scan(&id, &scope, &key); err != nil {
				return err
			}
			if err := done(id, scope, key); err != nil {
				return err
			}
		}
		return nil
	}
}

// insertedBy is a column of PostgreSQL's tables that have fingerprints: the
// transaction that inserted the row. While it is the one that wrote the row's
// present version, nobody else has written it, by whatever means.
const insertedBy = `"inserted_by"`

// stretch is how many rows are walked for each key, at most.
const stretch = 4

// Untouched walks the rows from the first key to the last along their index,
// which takes a third of the time of looking up each key. Of keys that lie far
// apart it finds few. The bounds are hidden from the planner, so that it expects
// few rows and takes the index for the order. On SQLite it tells nothing, since
// a row that was written by hand would not be noticed there.
func (x *tx) Untouched(ctx context.Context, s *driver.Schema, scope driver.Scope, keys []string) (prints []int64, err error) {
	t := x.store.table(s)
	if t.dialect != PostgreSQL || len(keys) == 0 || !storable(keys[0]) || !storable(keys[len(keys)-1]) {
		return nil, x.usable(ctx)
	}
	b := newBuilder(t, "SELECT array_agg(r.print)::text FROM (SELECT "+quote(s.Fingerprint)+` AS print, "version", `+insertedBy+
		", xmin AS written_by FROM "+t.name+" WHERE ")
	if err = b.where(driver.Within(scope), nil); err == nil {
		b.write(` AND "key" >= (SELECT ?::text) AND "key" <= (SELECT ?::text) ORDER BY "scope", "key" LIMIT ?) AS r`,
			keys[0], keys[len(keys)-1], int64(stretch*len(keys)))
		b.write(` WHERE r."version" = 1 AND r.` + insertedBy + ` = r.written_by`)
		err = x.query(ctx, b.sql(), b.args, func(r *sql.Rows) error {
			var array sql.NullString
			for r.Next() {
				if err := r.Scan(&array); err != nil {
					return err
				}
			}
			prints, err = integers(array.String)
			return err
		})
	}
	if err != nil {
		return nil, x.fail(ctx, "untouched rows of "+s.Name, err)
	}
	return prints, nil
}

// integers are those of an array literal; nothing is none.
func integers(array string) ([]int64, error) {
	array = strings.Trim(array, "{}")
	if array == "" {
		return nil, nil
	}
	out := make([]int64, 0, strings.Count(array, ",")+1)
	for text := range strings.SplitSeq(array, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// optimism says whether a large INSERT into a table is expected to meet no row
// that has one of its keys. PostgreSQL then need not look for each key before it
// inserts the row, nor mark the row until it has: an eighth of what an Ensure of
// new rows takes. If a key is taken after all, the statement fails and the store
// runs its transaction again, asking; so a host's transaction is never an optimist.
//
// The zero value is no optimist yet. It is used by many goroutines.
type optimism struct{ streak atomic.Int32 }

const (
	// convinced is how many large INSERTs in a row met no taken key.
	convinced = 4
	// disappointed is where the count begins after one that failed, since the
	// server has written an error into its log.
	disappointed = convinced - 64
)

func (o *optimism) expects() bool { return o.streak.Load() >= convinced }

// learn takes in whether a large INSERT met no taken key.
func (o *optimism) learn(none bool) {
	switch streak := o.streak.Load(); { // who loses a swap has learned from another
	case none && streak < convinced:
		o.streak.CompareAndSwap(streak, streak+1)
	case !none && streak > 0:
		o.streak.CompareAndSwap(streak, 0)
	}
}

// fail takes in that a statement failed which expected none.
func (o *optimism) fail() { o.streak.Store(disappointed) }

// Update writes the mutable columns of rows, ordered by id. Of a row given twice
// only the first is written.
func (x *tx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	stale, err := x.swap(ctx, "update ", s, &x.store.table(s).update, nil, rows, byVersion)
	for i, r := range rows {
		if err == nil && !stale[i] {
			rec := driver.RecordOf(r)
			x.changed(rec)
			rec.Version++
			x.hints.Add(s, rows[i:i+1])
		}
	}
	return stale, err
}

// Delete removes rows, ordered by id.
func (x *tx) Delete(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	return x.swap(ctx, "delete from ", s, &x.store.table(s).remove, nil, rows, byVersion)
}

// Extend moves leases and nothing else, neither the version nor the structs.
func (x *tx) Extend(ctx context.Context, s *driver.Schema, rows []driver.Row, until time.Time) ([]bool, error) {
	if x.joined {
		return nil, driver.ErrJoined
	}
	lead := []any{x.store.cfg.Dialect.verbs.value(driver.Time(until))}
	return x.swap(ctx, "extend ", s, &x.store.table(s).extend, lead, rows, byToken)
}

func byVersion(a, b *driver.Record) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version))
}

func byToken(a, b *driver.Record) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.ClaimToken, b.ClaimToken))
}

// swap runs a statement for rows in an order that begins with the id, so that
// concurrent batches take their locks in one order, and tells which were missed.
func (x *tx) swap(ctx context.Context, verb string, s *driver.Schema, w *swap, lead []any, rows []driver.Row,
	order func(a, b *driver.Record) int) ([]bool, error) {
	missed := make([]bool, len(rows))
	if len(rows) == 0 {
		return missed, x.usable(ctx)
	}
	index := sorted(rows, order)
	sent := make([]driver.Row, 0, len(rows))
	repeated := make([]bool, len(rows)) // equal to the one before, by order
	for n, i := range index {
		repeated[n] = n > 0 && order(driver.RecordOf(rows[index[n-1]]), driver.RecordOf(rows[i])) == 0
		if !repeated[n] {
			sent = append(sent, rows[i])
		}
	}
	hits, err := x.store.cfg.Dialect.verbs.swap(ctx, x, w, lead, sent)
	if err != nil {
		return nil, x.fail(ctx, verb+s.Name, err)
	}
	place := -1
	for n, i := range index {
		if !repeated[n] {
			place++
		}
		missed[i] = !hits[place] || repeated[n] && w.once
	}
	return missed, nil
}
