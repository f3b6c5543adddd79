package sqlstore

import (
	"context"
	"sync/atomic"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
)

// postgres runs the statements of a table of PostgreSQL.
type postgres struct {
	*sqltext.PostgresTable
	optimism optimism
}

func newPostgres(n sqltext.Names, s *driver.Schema) table {
	return &postgres{PostgresTable: sqltext.NewPostgresTable(n, s)}
}

func (t *postgres) text() *sqltext.Table { return &t.Table }

func (t *postgres) insert(ctx context.Context, x *tx, rows []driver.Row, done inserted) error {
	large := len(rows) >= sqltext.Many
	if large && !x.joined && !x.again && t.optimism.expects() {
		err := t.insertBy(ctx, x, rows, true, done)
		if err == nil || x.store.cfg.Classify(err) != sqltext.Unique {
			return err
		}
		t.optimism.fail()
		return &failure{op: "insert into " + t.Schema().Name, class: sqltext.Serialization, means: driver.ErrBusy, cause: err}
	}
	added := 0
	err := t.insertBy(ctx, x, rows, false, func(id int64, scope driver.Scope, key string) error {
		added++
		return done(id, scope, key)
	})
	if err == nil && large {
		t.optimism.learn(added == len(rows))
	}
	return err
}

func (t *postgres) insertBy(ctx context.Context, x *tx, rows []driver.Row, optimistic bool, done inserted) error {
	s, err := t.Insert(rows, optimistic)
	if err != nil {
		return err
	}
	return x.query(ctx, s, scanInserted(done))
}

func (t *postgres) change(ctx context.Context, x *tx, change sqltext.Change, lead []any, rows []driver.Row) ([]bool, error) {
	s, err := t.Change(change, lead, rows)
	if err != nil {
		return nil, err
	}
	hits := make([]bool, len(rows))
	return hits, x.query(ctx, s, func(r Rows) error {
		var n int
		for r.Next() {
			if err := r.Scan(&n); err != nil {
				return err
			}
			hits[n-1] = true
		}
		return nil
	})
}

func (t *postgres) claim(ctx context.Context, x *tx, c *driver.Claim) ([]driver.Row, error) {
	s, columns := t.Claim(c)
	return x.rows(ctx, s, t.Schema(), columns)
}

func (t *postgres) next(c *driver.Claim) sqltext.Statement { return t.Next(c) }

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
