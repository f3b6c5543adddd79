package traptest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// inSyncWait asks whether a COMMIT waits for a standby.
const inSyncWait = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database()"

// lonely is a database whose commits wait for a standby that never comes; admin
// can look on. prepare runs before that.
func lonely(t *testing.T, prepare func(dsn string)) (dsn string, admin *sql.DB) {
	t.Helper()
	server := pgtest.New(t, nil)
	dsn = server.Database(t)
	prepare(dsn)
	admin = looking(t, dsn)
	exec(t, admin, "ALTER SYSTEM SET synchronous_standby_names = 'never'", "SELECT pg_reload_conf()")
	Until(t, admin, "SELECT current_setting('synchronous_standby_names') = 'never'")
	t.Cleanup(func() { // let those that still wait end
		for _, statement := range []string{"ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"} {
			if _, err := admin.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
				t.Error(err)
			}
		}
	})
	return dsn, admin
}

// committing inserts a task in a transaction whose COMMIT waits, does something
// to it meanwhile, and returns what InTx says.
func committing(t *testing.T, a Adapter, meanwhile func(admin *sql.DB, cancel context.CancelFunc)) (*sql.DB, error) {
	t.Helper()
	dsn, admin := lonely(t, func(dsn string) { a.opened(t, dsn, Options{}) })
	s := a.reopened(t, dsn, Options{Clock: RealTime, NoMigration: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error)
	go func() { result <- Insert(ctx, s, DueTasks(1)...) }()
	Until(t, admin, inSyncWait)
	meanwhile(admin, cancel)
	return admin, <-result
}

func cancelledCommit(t *testing.T, a Adapter) {
	admin, err := committing(t, a, func(_ *sql.DB, cancel context.CancelFunc) { cancel() })
	WantErr(t, err, driver.ErrOutcomeUnknown)
	WantErr(t, err, context.Canceled)
	// The server was told to stop waiting, so that no lock stays behind.
	Until(t, admin, "SELECT NOT ("+inSyncWait+")")
}

func operatorCancels(t *testing.T, a Adapter) {
	_, err := committing(t, a, func(admin *sql.DB, _ context.CancelFunc) {
		exec(t, admin, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	})
	WantErr(t, err, driver.ErrOutcomeUnknown)
	WantErr(t, err, a.Unsynced)
}

func operatorTerminates(t *testing.T, a Adapter) {
	_, err := committing(t, a, func(admin *sql.DB, _ context.CancelFunc) {
		exec(t, admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	})
	WantErr(t, err, driver.ErrOutcomeUnknown)
}

// What a cancelled COMMIT left is in the database, and perhaps nowhere else. A request that
// is repeated finds it, writes nothing, and so would not wait for a standby.
func repeatedAfterCancel(t *testing.T, a Adapter) {
	for name, write := range map[string]func(s Store) error{
		"own": func(s Store) error { return Insert(t.Context(), s, DueTasks(1)...) },
		"host": func(s Store) error {
			return a.InHostTx(t.Context(), s, func(ctx context.Context, _ Host, bound driver.Tx) error {
				_, err := Tasks.Insert(ctx, bound, DueTasks(1)...)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dsn, admin := lonely(t, func(dsn string) { a.opened(t, dsn, Options{}) })
			s := a.reopened(t, dsn, Options{Clock: RealTime, NoMigration: true})
			result := make(chan error, 1)
			go func() { result <- write(s) }()
			Until(t, admin, inSyncWait)
			exec(t, admin, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			WantErr(t, <-result, driver.ErrOutcomeUnknown)

			go func() { result <- write(s) }()
			for waits := false; !waits; waits = scan[bool](t, admin, inSyncWait) {
				select {
				case err := <-result:
					t.Fatal("answered before a standby had it:", err)
				default:
				}
			}
			exec(t, admin, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			WantErr(t, <-result, driver.ErrUnavailable)

			go func() { result <- write(s) }()
			Until(t, admin, inSyncWait)
			exec(t, admin, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}

// A server whose connection slots are gone has them again later: what was not written
// can be written then.
func noSlots(t *testing.T, a Adapter) {
	server := pgtest.New(t, &pgtest.Options{Settings: map[string]string{
		"max_connections": "6", "superuser_reserved_connections": "0", "max_wal_senders": "0", "autovacuum": "off"}})
	s := a.opened(t, server.Database(t), Options{MaxOpenConns: 1})
	if err := Insert(t.Context(), s, DueTasks(1)...); err != nil {
		t.Fatal(err)
	}
	a.CloseIdle(s)
	others := looking(t, server.DSN())
	var err error
	for range 20 {
		conn, taken := others.Conn(t.Context())
		if err = taken; err != nil {
			break
		}
		defer conn.Close()
	}
	if err == nil {
		t.Fatal("there were connections for everybody, so this test shows nothing")
	}
	_, err = Claimed(t.Context(), s, ClaimOf("t", 1))
	WantErr(t, err, driver.ErrUnavailable)
}

// crowd is how many clients share a pooler with few servers.
const crowd = 16

func manyClients(t *testing.T, a Adapter) {
	dsn := pgtest.Bouncer(t, pgtest.DSN(t), map[string]string{"default_pool_size": "2"})
	s := a.opened(t, dsn, Options{MaxOpenConns: crowd})
	const each = 20
	if err := Insert(t.Context(), s, DueTasks(crowd*each)...); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	var done atomic.Int64
	for w := range crowd {
		workers.Go(func() {
			for {
				rows, err := Claimed(t.Context(), s, ClaimOf(fmt.Sprint("worker-", w), 5))
				if err != nil || len(rows) == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if err := Settle(t.Context(), s, rows, fmt.Sprint("by worker-", w)); err != nil {
					t.Error(err)
				}
				done.Add(int64(len(rows)))
			}
		})
	}
	workers.Wait()
	if done.Load() != crowd*each {
		t.Errorf("%d of %d tasks done", done.Load(), crowd*each)
	}
	look := looking(t, pgtest.With(t, dsn, "binary_parameters", "yes"))
	if n := scan[int](t, look, "SELECT count(*) FROM task WHERE note <> 'by ' || claim_token OR version <> 3"); n != 0 {
		t.Errorf("%d tasks were written by another than their claimer", n)
	}
}

// replica is a cluster in hot standby, as it is while its primary is away.
func replica(t *testing.T) *pgtest.Server {
	t.Helper()
	server := pgtest.New(t, nil)
	demote(t, server)
	return server
}

// demote makes a replica of a primary.
func demote(t *testing.T, server *pgtest.Server) {
	t.Helper()
	folder := scan[string](t, looking(t, server.DSN()), "SHOW data_directory")
	if err := os.WriteFile(filepath.Join(folder, "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
}

// either is a DSN with the hosts of both, the first one first.
func either(t *testing.T, first, second string) string {
	t.Helper()
	one, two := pgtest.Addr(t, first), pgtest.Addr(t, second)
	port := func(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
	return "host=127.0.0.1,127.0.0.1 port=" + port(one) + "," + port(two) + " user=postgres dbname=postgres sslmode=disable"
}

func replicas(t *testing.T, a Adapter) {
	standby, primary := replica(t), pgtest.New(t, nil)
	for _, attrs := range []string{"read-write", "primary"} {
		_, err := a.Open(t.Context(), pgtest.With(t, standby.DSN(), "target_session_attrs", attrs), Options{})
		if !a.ServerError(err) || !strings.Contains(err.Error(), "connect to the primary") {
			t.Errorf("Open, %s: %v", attrs, err)
		}
	}
	if _, err := a.New(t, standby.DSN(), Options{}); !a.ServerError(err) {
		t.Errorf("New: %v", err)
	}
	s := a.opened(t, either(t, standby.DSN(), primary.DSN()), Options{})
	if err := Insert(t.Context(), s, DueTasks(1)...); err != nil {
		t.Fatal(err)
	}
	if err := primary.Stop(); err != nil {
		t.Fatal(err)
	}
	err := s.InTx(t.Context(), func(tx driver.Tx) error { return look(t.Context(), tx) })
	WantErr(t, err, driver.ErrUnavailable) // nobody was promoted yet
	if text := err.Error(); !strings.Contains(text, "none of the 2 hosts") || strings.Contains(text, "list all hosts") {
		t.Errorf("with all hosts listed: %s", text)
	}
	exec(t, looking(t, standby.DSN()), "SELECT pg_promote()")
	if err := a.Exec(t.Context(), s, "CREATE TABLE promoted (id int)"); err != nil {
		t.Error(err)
	}
	if n := scan[int](t, looking(t, standby.DSN()), "SELECT count(*) FROM pg_class WHERE relname = 'promoted'"); n != 1 {
		t.Error("still on the server that was stopped")
	}
}

func readOnly(t *testing.T, a Adapter) {
	dsn := pgtest.DSN(t)
	exec(t, looking(t, dsn), "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; END $$")
	if _, err := a.Open(t.Context(), dsn, Options{}); !a.ServerError(err) {
		t.Errorf("Open: %v", err)
	}
	if _, err := a.New(t, dsn, Options{}); !a.ServerError(err) {
		t.Errorf("New: %v", err)
	}
}

// Behind a pooler a client's connection outlives its server, which comes back as a
// replica. No session says so: the BEGIN of a transaction that writes does, or in a
// host's transaction its first write.
func demoted(t *testing.T, a Adapter) {
	for name, write := range map[string]func(s Store, row *Task) error{
		"own": func(s Store, row *Task) error { return Insert(t.Context(), s, row) },
		"host": func(s Store, row *Task) error {
			return a.InHostTx(t.Context(), s, func(ctx context.Context, _ Host, bound driver.Tx) error {
				_, err := Tasks.Insert(ctx, bound, row)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, promoted := pgtest.New(t, nil), pgtest.New(t, nil)
			after := a.opened(t, promoted.DSN(), Options{})
			s := a.opened(t, either(t, pgtest.Bouncer(t, old.DSN(), nil), promoted.DSN()), Options{})
			if err := write(s, DueTasks(1)[0]); err != nil {
				t.Fatal(err)
			}
			demote(t, old)
			for range 20 { // connections of a host's transactions are found out one by one
				err := write(s, DueTasks(1)[0])
				if err == nil {
					break
				}
				WantErr(t, err, driver.ErrUnavailable)
			}
			if n := Count(t, after); n != 1 {
				t.Error("still on the server that was demoted")
			}
		})
	}
}

// A primary that was stopped while another was promoted takes writes when it goes on,
// until it is demoted: they would be lost. Its timeline tells it.
func thawed(t *testing.T, a Adapter) {
	old, promoted := pgtest.New(t, nil), replica(t)
	exec(t, looking(t, promoted.DSN()), "SELECT pg_promote()")
	admin := looking(t, old.Database(t))
	before, after := a.opened(t, old.DSN(), Options{}), a.opened(t, promoted.DSN(), Options{})
	s := a.reopened(t, either(t, old.DSN(), promoted.DSN()), Options{})
	insert := func(n int) {
		t.Helper()
		row := DueTasks(n + 1)[n]
		if err := Insert(t.Context(), s, row); err != nil {
			t.Fatal(err)
		}
		if was, is := Count(t, before), Count(t, after); was != 0 || is != n+1 {
			t.Errorf("%d rows on the old primary, %d on the new one, want 0 and %d", was, is, n+1)
		}
	}
	var beside func(depth int) error
	beside = func(depth int) error { // more connections than lie idle
		return s.InTx(t.Context(), func(tx driver.Tx) error {
			if err := look(t.Context(), tx); err != nil || depth == 0 {
				return err
			}
			return beside(depth - 1)
		})
	}
	if err := beside(1); err != nil {
		t.Fatal(err)
	}
	exec(t, admin, "ALTER DATABASE postgres ALLOW_CONNECTIONS false") // to the clients it looks stopped
	if err := beside(7); err != nil {
		t.Fatal(err)
	}
	exec(t, admin, "ALTER DATABASE postgres ALLOW_CONNECTIONS true")
	for n := range 8 {
		insert(n)
	}
	a.CloseIdle(s)
	insert(8)
	if err := promoted.Stop(); err != nil {
		t.Fatal(err)
	}
	err := Insert(t.Context(), s, DueTasks(10)[9])
	WantErr(t, err, driver.ErrUnavailable)
	if !a.ServerError(err) || !strings.Contains(err.Error(), "timeline") {
		t.Errorf("with the old primary alone: %v", err)
	}
}
