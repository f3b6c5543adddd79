// Package traptest holds the traps that drivers for PostgreSQL had, as tests of an
// adapter: networks that go silent, lost replies, standbys, poolers, replicas. Each was
// reproduced with one driver and is looked for in all of them.
package traptest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	_ "github.com/lib/pq" // looks on

	"github.com/belfry-go/belfry/internal/faultnet"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
)

// Store is an adapter's store.
type Store interface {
	driver.Store
	Close() error
}

// Options are those of an adapter, each by its name.
type Options struct {
	Clock        driver.Clock
	NoMigration  bool // Migrate is MigrateOff
	Notify       bool
	MaxOpenConns int
	IOTimeout    time.Duration
	Later        bool
}

// Host is a transaction that a host holds.
type Host interface {
	Exec(ctx context.Context, text string, args ...any) error
}

// Adapter is how a test reaches an adapter.
type Adapter struct {
	Open func(ctx context.Context, dsn string, o Options) (Store, error)
	// New makes a store on a pool of the host that ends with t; its migrations are run.
	New func(t testing.TB, dsn string, o Options) (Store, error)
	// CreateTable makes a table for a test.
	CreateTable func(ctx context.Context, s Store, schema *driver.Schema) error
	// Exec runs a statement on the pool of a store.
	Exec func(ctx context.Context, s Store, text string) error
	// InHostTx is the store's, Begin a transaction of the host's at REPEATABLE READ.
	InHostTx func(ctx context.Context, s Store, f func(ctx context.Context, host Host, bound driver.Tx) error) error
	Begin    func(t testing.TB, s Store) (host Host, joined driver.Tx, rollback func() error)
	// CloseIdle closes the idle connections of a store's pool.
	CloseIdle func(s Store)
	// Unsynced is what a COMMIT comes to that did not wait for its standby.
	Unsynced error
	// ServerError says whether an error refuses a server.
	ServerError func(err error) bool
}

// Run looks for every trap. A quick run leaves them out.
func Run(t *testing.T, a Adapter) {
	testlevel.Need(t, testlevel.Nightly)
	for name, test := range map[string]func(*testing.T, Adapter){
		"calls end in a black hole":                                  callsEnd,
		"Open ends in a black hole":                                  openEnds,
		"Close ends in a black hole":                                 closeEnds,
		"IOTimeout ends a call without a deadline":                   ioTimeoutEnds,
		"cancelled statements end on the server":                     cancelledEnd,
		"a lost reply to a statement writes nothing":                 lostReplyToStatement,
		"connections that broke while they lay idle are replaced":    brokenIdle,
		"a lost reply to COMMIT is an unknown outcome":               lostReplyToCommit,
		"a lost request to COMMIT is an unknown outcome":             lostRequestToCommit,
		"a cancelled COMMIT is an unknown outcome":                   cancelledCommit,
		"a COMMIT cancelled by an operator is an unknown outcome":    operatorCancels,
		"a request repeated after that waits for the standby":        repeatedAfterCancel,
		"a COMMIT terminated by an operator is an unknown one":       operatorTerminates,
		"a failed statement that the host overlooks is not a commit": overlooked,
		"a deadlock of hosts is run again":                           deadlockOfHosts,
		"a host's transaction notifies":                              hostNotifies,
		"a joined INSERT asks the host to repeat":                    joinedRepeats,
		"own transactions are READ COMMITTED":                        readCommitted,
		"the settings of a session are left alone":                   settingsStay,
		"a server without connection slots is unavailable":           noSlots,
		"many clients share a pooler without mix-up":                 manyClients,
		"calls go on while the server restarts":                      restarts,
		"a database that has forgotten commits is noticed":           forgets,
		"a store opens while its server is away":                     opensLater,
		"replicas":                                                   replicas,
		"a replica behind a pooler is left":                          demoted,
		"a primary that another has replaced is refused":             thawed,
		"read-only sessions are refused":                             readOnly,
		"the store follows the server's clock":                       followsClock,
		"the clock is read again after an error":                     clockAfterError,
		"the clock is read again on a new connection":                clockAfterReconnect,
		"NOTIFY is off behind a pooler":                              notifyBehindPooler,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}

// Task is the smallest table.
type Task struct {
	driver.Due
	Note string `db:"note"`
}

// Tasks is the table.
var Tasks = driver.Define[Task]("task")

// Ready and Busy are what a task can be; all are due at Noon.
const (
	Ready = "Ready"
	Busy  = "Busy"
)

// Noon is the moment at which tasks are due.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// RealTime measures what the network does to a call.
var RealTime = clock.New()

// opened is a store on dsn with the table of tasks.
func (a Adapter) opened(t testing.TB, dsn string, o Options) Store {
	t.Helper()
	s := a.reopened(t, dsn, o)
	if err := a.CreateTable(t.Context(), s, &Tasks.Schema); err != nil {
		t.Fatal(err)
	}
	return s
}

// reopened is another store on a database that has the table.
func (a Adapter) reopened(t testing.TB, dsn string, o Options) Store {
	t.Helper()
	s, err := a.Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// viaProxy is a DSN through a proxy, and the proxy.
func viaProxy(t testing.TB) (string, *faultnet.Proxy) {
	t.Helper()
	dsn := pgtest.DSN(t)
	p := faultnet.Start(t, pgtest.Addr(t, dsn))
	return pgtest.Via(t, dsn, p.Addr()), p
}

// DueTasks are n free tasks that are due.
func DueTasks(n int) []*Task {
	out := make([]*Task, n)
	for i := range out {
		out[i] = &Task{Due: driver.Due{Record: driver.Record{Key: fmt.Sprintf("task-%07d", i), Kind: "test", Status: Ready}, DueOn: Noon}}
	}
	return out
}

// ClaimOf takes up to n due tasks of the normal lane.
func ClaimOf(token string, n int) driver.Claim {
	return driver.Claim{
		Statuses: []string{Ready}, Busy: Busy, Kinds: []string{"test"},
		Lanes: []driver.LaneClaim{{Lane: driver.LaneNormal, Limit: n}},
		Now:   Noon, LeaseUntil: Noon.Add(time.Minute), Token: token,
	}
}

// Insert inserts tasks that are not there.
func Insert(ctx context.Context, s driver.Store, rows ...*Task) error {
	return s.InTx(ctx, func(tx driver.Tx) error {
		_, err := Tasks.Insert(ctx, tx, rows...)
		return err
	})
}

// Claimed are the tasks that a claim takes.
func Claimed(ctx context.Context, s driver.Store, c driver.Claim) (rows []*Task, err error) {
	err = s.InTx(ctx, func(tx driver.Tx) error {
		rows, err = Tasks.Claim(ctx, tx, c)
		return err
	})
	return rows, err
}

// Settle ends held tasks.
func Settle(ctx context.Context, s driver.Store, rows []*Task, note string) error {
	return s.InTx(ctx, func(tx driver.Tx) error {
		ended := make([]*Task, len(rows))
		for i, r := range rows {
			end := *r
			end.Status, end.Note = "Done", note
			end.DueOn, end.LeaseExpiresOn = time.Time{}, time.Time{}
			ended[i] = &end
		}
		return Tasks.Save(ctx, tx, ended...)
	})
}

// Count is how many tasks there are.
func Count(t testing.TB, s driver.Store, where ...driver.Cond) (n int) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx driver.Tx) (err error) {
		n, err = Tasks.Everywhere().Count(t.Context(), tx, 1_000_000, where...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// looking is a pool of lib/pq that looks on.
func looking(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(s, err)
		}
	}
}

// scan reads one value.
func scan[V any](t testing.TB, db *sql.DB, query string, args ...any) (v V) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatal(query, err)
	}
	return v
}

// Until runs a query, which pauses by itself, until it answers true.
func Until(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	for done := false; !done; {
		err := db.QueryRowContext(t.Context(), "SELECT ("+query+") FROM pg_sleep(0.01)", args...).Scan(&done)
		if err != nil {
			t.Fatal(query, err)
		}
	}
}

// request is one that holds a text.
func request(text string) func([]byte) bool {
	return func(sent []byte) bool { return bytes.Contains(sent, []byte(text)) }
}

// WantErr fails the test unless err wraps want.
func WantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
