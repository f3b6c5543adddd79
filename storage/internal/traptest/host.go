package traptest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/faultnet"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// A statement of the host's that failed, and was overlooked, has not committed: the
// server rolls back and says COMMIT all the same.
func overlooked(t *testing.T, a Adapter) {
	s := a.opened(t, pgtest.DSN(t), Options{})
	err := a.InHostTx(t.Context(), s, func(ctx context.Context, host Host, bound driver.Tx) error {
		if _, err := Tasks.Insert(ctx, bound, DueTasks(1)...); err != nil {
			return err
		}
		_ = host.Exec(ctx, "SELECT 1 / 0")
		return nil
	})
	if err == nil || errors.Is(err, driver.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	if n := Count(t, s); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// Two hosts that lock each other's rows: one of them is run again.
func deadlockOfHosts(t *testing.T, a Adapter) {
	dsn := pgtest.DSN(t)
	s := a.opened(t, dsn, Options{})
	exec(t, looking(t, dsn), "CREATE TABLE booking (n int)", "INSERT INTO booking VALUES (1), (2)")
	met := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	done := make(chan error, 2)
	for me, order := range [2][2]int{{1, 2}, {2, 1}} {
		go func() {
			runs := 0
			done <- a.InHostTx(t.Context(), s, func(ctx context.Context, host Host, _ driver.Tx) error {
				runs++
				for i, n := range order {
					if err := host.Exec(context.WithoutCancel(ctx), "UPDATE booking SET n = n WHERE n = $1", n); err != nil {
						return err
					}
					if i == 0 && runs == 1 {
						close(met[me])
						<-met[1-me]
					}
				}
				return nil
			})
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

const listening = "SELECT count(*) = $1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"

// Other processes hear of what a host's transaction made due, and of what the store's
// own did.
func hostNotifies(t *testing.T, a Adapter) {
	dsn := pgtest.DSN(t)
	s := a.opened(t, dsn, Options{Notify: true})
	other := a.reopened(t, dsn, Options{Notify: true})
	db := looking(t, dsn)
	Until(t, db, listening, 2)
	signal := other.Waker().Listen(Tasks.Name)
	defer signal.Close()
	exec(t, db, "NOTIFY belfry", "NOTIFY belfry, '[1]'") // somebody else's are passed over
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	heard := func(name string, write func(*Task) error) {
		// A driver may drop what comes while it subscribes, so one hint may be lost.
		for i := range 1000 {
			row := DueTasks(1)[0]
			row.Key = fmt.Sprint(name, i)
			if err := write(row); err != nil {
				t.Fatal(err)
			}
			exec(t, db, "SELECT pg_sleep(0.01)")
			if due := signal.Take(); !due.IsZero() {
				if !due.Equal(Noon) {
					t.Errorf("%s: %v", name, due)
				}
				return
			}
		}
		t.Errorf("%s: nobody was told", name)
	}
	heard("host", func(row *Task) error {
		return a.InHostTx(ctx, s, func(ctx context.Context, _ Host, bound driver.Tx) error {
			_, err := Tasks.Insert(ctx, bound, row)
			return err
		})
	})
	heard("own", func(row *Task) error { return Insert(ctx, s, row) })
}

// At REPEATABLE READ a key that was committed after the snapshot is a serialization
// failure, ON CONFLICT DO NOTHING or not.
func joinedRepeats(t *testing.T, a Adapter) {
	s := a.opened(t, pgtest.DSN(t), Options{})
	host, joined, rollback := a.Begin(t, s)
	if err := host.Exec(t.Context(), "SELECT count(*) FROM task"); err != nil {
		t.Fatal(err)
	}
	if err := Insert(t.Context(), s, DueTasks(1)...); err != nil {
		t.Fatal(err)
	}
	_, err := Tasks.Insert(t.Context(), joined, DueTasks(1)...)
	WantErr(t, err, driver.ErrRetryTx)
	if err := rollback(); err != nil {
		t.Fatal(err)
	}
	_, joined, rollback = a.Begin(t, s)
	added, err := Tasks.Insert(t.Context(), joined, DueTasks(1)...)
	if err != nil || added[0] {
		t.Errorf("repeated: %v, %v; want the key to be known", added, err)
	}
	if err := rollback(); err != nil {
		t.Fatal(err)
	}
}

func readCommitted(t *testing.T, a Adapter) {
	dsn := pgtest.DSN(t)
	exec(t, looking(t, dsn), "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_isolation = serializable'; END $$")
	s := a.opened(t, dsn, Options{})
	err := s.InTx(t.Context(), func(tx driver.Tx) error {
		if _, err := Tasks.Find(t.Context(), tx, "", driver.Query{Limit: 1}); err != nil {
			return err // the snapshot is taken
		}
		if err := Insert(t.Context(), s, DueTasks(1)...); err != nil {
			return err
		}
		added, err := Tasks.Insert(t.Context(), tx, DueTasks(1)...)
		if err == nil && added[0] {
			t.Error("a key that was committed meanwhile was inserted again")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What a transaction of the store sets ends with it, for the host's next statement on
// that connection and for whoever a pooler lends it to.
func settingsStay(t *testing.T, a Adapter) {
	s, err := a.New(t, pgtest.DSN(t), Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err = a.CreateTable(t.Context(), s, &Tasks.Schema); err == nil {
		err = Insert(t.Context(), s, DueTasks(1)...)
	}
	if err == nil {
		err = s.View(t.Context(), func(driver.Reader) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	err = a.InHostTx(t.Context(), s, func(ctx context.Context, host Host, _ driver.Tx) error {
		return host.Exec(ctx, `DO $$ BEGIN
			IF current_setting('lock_timeout') <> '0' OR current_setting('statement_timeout') <> '0' OR current_setting('transaction_read_only') <> 'off'
				OR EXISTS (SELECT FROM pg_settings WHERE name = 'jit' AND setting IS DISTINCT FROM reset_val) THEN
				RAISE 'lock_timeout %, statement_timeout %', current_setting('lock_timeout'), current_setting('statement_timeout');
			END IF; END $$`)
	})
	if err != nil {
		t.Error(err)
	}
}

// between fails the test unless the store's clock and the server's agree within
// what the store's says of itself.
func between(t *testing.T, s Store, dsn string) {
	t.Helper()
	db := looking(t, dsn)
	off := s.Clock().(interface{ Uncertainty() time.Duration }).Uncertainty()
	before := scan[time.Time](t, db, "SELECT clock_timestamp()")
	now := s.Clock().Now()
	after := scan[time.Time](t, db, "SELECT clock_timestamp()")
	if now.Before(before.Add(-off)) || now.After(after.Add(off)) {
		t.Errorf("the clock shows %v, the server's went from %v to %v", now, before, after)
	}
	if off <= 0 || off > 5*time.Second {
		t.Errorf("uncertainty %v", off)
	}
}

func followsClock(t *testing.T, a Adapter) {
	dsn := pgtest.DSN(t)
	between(t, a.opened(t, dsn, Options{}), dsn)
	on, err := a.New(t, dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	between(t, on, dsn)
	if err := on.Close(); err != nil {
		t.Error(err)
	}
	between(t, on, dsn)
	if err := a.Exec(t.Context(), on, "SELECT 1"); err != nil {
		t.Errorf("the host's pool was closed: %v", err)
	}
}

// reread waits until a store has read the server's clock again, which it
// also does each minute.
func reread(t *testing.T, read <-chan struct{}) {
	t.Helper()
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case <-read:
	case <-soon.Done():
		t.Error("nobody read the clock")
	}
}

// readings is closed when a store has read the server's clock.
func readings(p *faultnet.Proxy) <-chan struct{} { return p.DropReplyOnce(request("clock_timestamp")) }

func clockAfterError(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	a.opened(t, dsn, Options{})
	s, err := a.New(t, dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	again := readings(proxy)
	err = s.InTx(t.Context(), func(tx driver.Tx) error {
		if err := look(t.Context(), tx); err != nil {
			return err
		}
		proxy.CutAll()
		return look(t.Context(), tx)
	})
	WantErr(t, err, driver.ErrUnavailable)
	reread(t, again)

	again = readings(proxy)
	proxy.CutAll() // what lies idle is replaced, without an error
	if err := s.InTx(t.Context(), func(tx driver.Tx) error { return look(t.Context(), tx) }); err != nil {
		t.Error(err)
	}
	reread(t, again)
}

// The pool replaces a connection that broke while the host had it, or while it was
// idle, and tells nobody.
func clockAfterReconnect(t *testing.T, a Adapter) {
	dsn, proxy := viaProxy(t)
	s := a.opened(t, dsn, Options{})
	var err error
	for range 10 { // of a busy machine, where the cut comes after the statement
		proxy.CutAll()
		again := readings(proxy)
		for range 2 { // pgx tells the host once
			if err = a.Exec(t.Context(), s, "SELECT 1"); err == nil {
				reread(t, again)
				return
			}
		}
	}
	t.Error("each reconnect was told:", err)
}

func notifyBehindPooler(t *testing.T, a Adapter) {
	dsn := pgtest.DSN(t)
	a.opened(t, pgtest.Bouncer(t, dsn, nil), Options{Notify: true})
	if n := scan[int](t, looking(t, dsn), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()"); n != 0 {
		t.Error("listens through a transaction pooler")
	}
}
