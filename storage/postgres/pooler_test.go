package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
)

// Trap 3: behind PgBouncer in transaction mode, lib/pq's default protocol runs
// other clients' statements.

// crowd is how many clients share a pooler with few servers, and rounds how many
// statements each of them runs.
const (
	crowd  = 16
	rounds = 100
)

// mixedUp lets clients add to their own counter, each on a connection of its
// own and with a statement of its own, and counts the answers and effects that
// were somebody else's.
func mixedUp(t *testing.T, dsn string) (wrong int) {
	t.Helper()
	db := rawPool(t, dsn)
	exec(t, db, "CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)",
		fmt.Sprintf("INSERT INTO counter SELECT g, 0 FROM generate_series(0, %d) g", crowd-1))
	defer exec(t, db, "DROP TABLE counter")
	added := make([]int, crowd)
	var clients sync.WaitGroup
	for id := range crowd {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		clients.Go(func() {
			defer conn.Close()
			added[id] = addUp(t.Context(), conn, id)
		})
	}
	clients.Wait()
	for id := range crowd {
		if n := scan[int](t, db, fmt.Sprintf("SELECT n FROM counter WHERE id = %d", id)); n != added[id] {
			wrong++
		}
	}
	return wrong
}

// addUp counts the statements that said they had changed the one row.
func addUp(ctx context.Context, conn *sql.Conn, id int) (added int) {
	add := fmt.Sprintf("UPDATE counter SET n = n + $1 WHERE id = %d", id)
	for range rounds {
		if res, err := conn.ExecContext(ctx, add, 1); err == nil {
			n, _ := res.RowsAffected()
			added += int(n)
		}
	}
	return added
}

func TestTrap3DriverRunsOtherClientsStatements(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly) // whether statements are mixed up is luck
	dsn := pgtest.Bouncer(t, emptyDSN(t), map[string]string{"default_pool_size": "2"})
	wrong := 0
	for attempt := 0; attempt < 5 && wrong == 0; attempt++ {
		wrong = mixedUp(t, dsn)
	}
	if wrong == 0 {
		t.Error("no statement was mixed up; the trap is gone")
	}
}

func TestTrap3BinaryParametersAreExact(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Bouncer(t, emptyDSN(t), map[string]string{"default_pool_size": "2"})
	if wrong := mixedUp(t, pgtest.With(t, dsn, "binary_parameters", "yes")); wrong != 0 {
		t.Errorf("%d of %d clients were mixed up", wrong, crowd)
	}
}

func TestTrap3UnsafeHostPoolIsRefused(t *testing.T) {
	t.Parallel()
	direct := emptyDSN(t)
	pooled := pgtest.Bouncer(t, direct, nil)
	opts := &Options{Migrate: MigrateAuto}
	var refused *ServerError
	if _, err := New(t.Context(), rawPool(t, pooled), opts); !errors.As(err, &refused) {
		t.Errorf("lib/pq's default protocol through a pooler: %v", err)
	}
	for name, dsn := range map[string]string{
		"direct":                  direct,
		"pooled, but in one step": pgtest.With(t, pooled, "binary_parameters", "yes"),
	} {
		s, err := New(t.Context(), rawPool(t, dsn), opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
