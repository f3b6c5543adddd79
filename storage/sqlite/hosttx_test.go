package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/storage/driver"
)

// book writes a host's row and a task in one transaction.
func book(t *testing.T, s *Store, key string) error {
	return s.InHostTx(t.Context(), func(ctx context.Context, host *sql.Tx, bound driver.Tx) error {
		if _, err := host.ExecContext(ctx, "INSERT INTO booking VALUES (?)", key); err != nil {
			return err
		}
		row := dueTasks(1)[0]
		row.Key = key
		_, err := tasks.Insert(ctx, bound, row)
		return err
	})
}

// With BeginTx of their own 31 of 600 requests found the database locked.
func TestHostsOfTwoProcessesWaitForEachOther(t *testing.T) {
	t.Parallel()
	s, path := onFile(t, nil)
	execSQL(t, s.DB(), "CREATE TABLE booking (key)")
	stores := []*Store{s, opened(t, path, nil)}
	const each = 50
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range each {
				if err := book(t, stores[n%2], fmt.Sprint(n, " ", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n, m := scan[int](t, s.DB(), "SELECT count(*) FROM booking"), scan[int](t, s.DB(), "SELECT count(*) FROM task"); n != 8*each || m != n {
		t.Errorf("%d bookings and %d tasks", n, m)
	}
}

// Pollers of this process hear of what a host's transaction made due.
func TestAHostsTransactionWakes(t *testing.T) {
	t.Parallel()
	s, _ := onFile(t, nil)
	execSQL(t, s.DB(), "CREATE TABLE booking (key)")
	signal := s.Waker().Listen(tasks.Name)
	defer signal.Close()
	if err := book(t, s, "a"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-signal.C():
	default:
		t.Error("nobody was woken")
	}
}
