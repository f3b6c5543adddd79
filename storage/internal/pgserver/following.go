package pgserver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
	"github.com/belfry-go/belfry/storage/postgres/migrations"
)

// CommitGrace is how long a COMMIT may go on after its context has ended. A call has a
// second in all: the server can still be told to stop waiting for a standby.
const CommitGrace = 600 * time.Millisecond

// Following is what a store follows of its server: the clock, hints of other stores,
// and which of several is the primary. Its methods may be called from any number of goroutines.
type Following struct {
	time atomic.Pointer[Clock]
	news atomic.Pointer[Herald]

	timeline atomic.Int64 // the highest that was seen, unless a lower one had to be believed
	mu       sync.Mutex   // of those who change it
	refused  time.Time    // since when only lower ones have been there; zero: they are not
	mono     clock.Clock  // nil: the machine's
	store    atomic.Pointer[sqlstore.Store]
}

// Store makes the store outer of an adapter on a pool. Without a clock it follows the
// server's. classify says what an error of the driver means. prepare, if not nil, checks a
// server that is away now, before the first call; see [Options.Later].
func (f *Following) Store(ctx context.Context, o Options, outer driver.Store, pool sqlstore.Pool, classify func(error) sqlstore.Class, prepare func(context.Context) error) (*sqlstore.Store, error) {
	if o.Clock == nil {
		follow, err := f.clock(ctx, pool, prepare != nil)
		if err != nil {
			return nil, err
		}
		o.Clock = follow
	}
	s, err := sqlstore.New(ctx, sqlstore.Config{
		Dialect: sqlstore.PostgreSQL, Outer: outer, Writer: pool,
		Classify: func(err error) sqlstore.Class {
			class := classify(err)
			if class == sqlstore.Connection { // what comes next may be another server
				f.Reconnected()
			}
			return class
		},
		Clock: o.Clock, Rand: o.Rand, Environment: o.Environment, StopOnLoss: o.StopOnLoss, BlobDir: o.BlobDir,
		Schema: o.Schema, Prefix: o.TablePrefix, Migrations: migrations.Files, Migrate: o.Migrate,
		SystemIdentifier: func(ctx context.Context) (string, error) { return SystemIdentifier(ctx, pool) },
		Committed:        f.committed, Grace: CommitGrace, Prepare: prepare,
	})
	f.store.Store(s)
	return s, granting(ctx, pool, o.Schema, err)
}

// clock follows that of the server.
func (f *Following) clock(ctx context.Context, pool sqlstore.Pool, later bool) (follow *Clock, err error) {
	if follow = f.time.Load(); follow != nil { // opening came that far before
		return follow, nil
	}
	if later {
		follow = FollowLater(ctx, pool)
	} else if follow, err = Follow(ctx, pool); err != nil {
		return nil, err
	}
	f.time.Store(follow)
	return follow, nil
}

func (f *Following) now() time.Time {
	if f.mono == nil {
		f.mono = clock.New()
	}
	return f.mono.Now()
}

// Reconnected reads the clock again soon, and has the store compare the server with what
// another one acknowledged.
func (f *Following) Reconnected() {
	if s := f.store.Load(); s != nil {
		s.Suspect()
	}
	if c := f.time.Load(); c != nil {
		c.Reconnected()
	}
}

// Herald starts to pass hints between stores on the same tables.
func (f *Following) Herald(o Options, pool sqlstore.Pool, waker *driver.Waker, listen func(context.Context, func(payload string))) {
	h := NewHerald(pool, o.Schema+"."+o.TablePrefix, waker)
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
