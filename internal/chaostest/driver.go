package chaostest

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
)

// Driver is a way to a database.
type Driver struct {
	Name   string
	SQLite bool                      // it speaks SQLite's SQL, and has no server
	DSN    func(t testing.TB) string // of an empty database
	Open   func(ctx context.Context, dsn string, clk clock.Clock) (*Host, error)
	Again  bool // its database's stories are played at length through another driver
}

// share is how much of n a run plays: half of it through a driver that only comes
// again, unless it is a full one.
func (d Driver) share(t testing.TB, n int) int {
	if d.Again && !testlevel.Has(t, testlevel.Nightly) {
		return n / 2
	}
	return n
}

// Host is a program's store, and its own way to the same database.
type Host struct {
	Store storage.Store
	DB
	Close func() error
}

// DB runs statements of a host.
type DB interface {
	Exec(ctx context.Context, text string, args ...any) error
	Rows(ctx context.Context, text string, args ...any) ([][]any, error)
}

// Story is a test that kills processes, or their server, on a database of its own.
type Story func(*testing.T, Driver)

// Stories are all that there are, by what they show.
var Stories = map[string]Story{
	"killed workers":         Workers,
	"doubts":                 Doubts,
	"a server that restarts": Restarts,
	"killed erasures":        Erasures,
	"mails":                  Mails,
	"surveys":                Surveys,
}

// Each plays a story on drivers, in parallel, in runs of a level.
func Each(t *testing.T, level testlevel.Level, story Story, drivers ...Driver) {
	testlevel.Need(t, level)
	for _, d := range drivers {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			story(t, d)
		})
	}
}

// Work is the main function of the worker processes that stories start, which are the
// test's binary again: with a role in its environment it works, and ends the process. A
// TestMain calls it first, with the drivers of its tests.
func Work(drivers ...Driver) {
	if os.Getenv(roleVariable) == "" {
		return
	}
	for _, d := range drivers {
		if d.Name != os.Getenv(driverVariable) {
			continue
		}
		if err := work(d); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	panic("chaostest: TestMain does not know " + os.Getenv(driverVariable))
}

// open opens a database with the machine's clock moved ahead.
func (d Driver) open(ctx context.Context, dsn string, by time.Duration) (*Host, error) {
	return d.Open(ctx, dsn, shifted{clock.New(), by})
}

// SQL is the host of a store on database/sql.
func SQL(s interface {
	storage.Store
	io.Closer
	DB() *sql.DB
}) *Host {
	return &Host{Store: s, DB: sqlDB{s.DB()}, Close: s.Close}
}

// sqlDB is a pool of database/sql.
type sqlDB struct{ db *sql.DB }

func (s sqlDB) Exec(ctx context.Context, text string, args ...any) error {
	_, err := s.db.ExecContext(ctx, text, args...)
	return err
}

func (s sqlDB) Rows(ctx context.Context, text string, args ...any) (out [][]any, err error) {
	rows, err := s.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, into := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}
