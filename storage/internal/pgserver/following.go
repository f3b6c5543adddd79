package pgserver

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/internal/sqltext"
	"github.com/belfry-go/belfry/storage/postgres/migrations"
)

// CommitGrace is how long a COMMIT may go on after its context has ended. A call has a
// second in all: the server can still be told to stop waiting for a standby.
const CommitGrace = 600 * time.Millisecond

// Following is what a store follows of its server: the clock, and hints of other
// stores. Its methods may be called from any number of goroutines.
type Following struct {
	time atomic.Pointer[Clock]
	news atomic.Pointer[Herald]
}

// Store makes the store on cfg.Writer of an adapter, which says what is its own: Outer,
// Writer, Classify and what the host's options say. Without a clock it follows the
// server's.
func (f *Following) Store(ctx context.Context, cfg sqlstore.Config) (*sqlstore.Store, error) {
	if cfg.Clock == nil {
		follow, err := Follow(ctx, cfg.Writer)
		if err != nil {
			return nil, err
		}
		f.time.Store(follow)
		cfg.Clock = follow
	}
	classify := cfg.Classify
	cfg.Classify = func(err error) sqltext.Class {
		class := classify(err)
		if class == sqltext.Connection { // what comes next may be another server
			f.Reconnected()
		}
		return class
	}
	pool := cfg.Writer
	cfg.SystemIdentifier = func(ctx context.Context) (string, error) { return SystemIdentifier(ctx, pool) }
	cfg.Dialect, cfg.Migrations, cfg.Grace, cfg.Committed = sqlstore.PostgreSQL, migrations.Files, CommitGrace, f.committed
	return sqlstore.New(ctx, cfg)
}

// Reconnected reads the clock again soon.
func (f *Following) Reconnected() {
	if c := f.time.Load(); c != nil {
		c.Reconnected()
	}
}

// Herald starts to pass hints between stores on tables, which says the schema and the
// prefix.
func (f *Following) Herald(pool sqlstore.Pool, tables string, waker *driver.Waker, listen func(context.Context, func(payload string))) {
	h := NewHerald(pool, tables, waker)
	h.Start(listen)
	f.news.Store(h)
}

// News is the herald, if there is one.
func (f *Following) News() *Herald { return f.news.Load() }

func (f *Following) committed(hints driver.Hints) {
	if h := f.news.Load(); h != nil {
		h.Committed(hints)
	}
}

// Close tells what is not told yet, and follows nothing any more.
func (f *Following) Close() {
	if h := f.news.Load(); h != nil {
		h.Close()
	}
	if c := f.time.Load(); c != nil {
		c.Close()
	}
}
