package traptest

import (
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// The cluster of a store goes back to what it was before the last commits, as by a backup
// that is put back, or a fail-over to a standby that was behind. The next transaction that
// writes notices, once. A server that only restarts has forgotten nothing.
func forgets(t *testing.T, a Adapter) {
	for name, open := range map[string]func(dsn string) Store{
		"Open": func(dsn string) Store { return a.reopened(t, dsn, Options{}) },
		"New": func(dsn string) Store {
			s, err := a.New(t, dsn, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := pgtest.New(t, nil)
			dsn := server.Database(t)
			a.opened(t, dsn, Options{})
			s := open(dsn)
			next := func() driver.Loss {
				t.Helper()
				for range 20 { // connections of a pool of the host's are found out one by one
					if _, err := s.Identity(t.Context()); err != nil && !passing(err) {
						t.Fatal(err)
					}
					err := s.InTx(t.Context(), func(tx driver.Tx) error { return look(t.Context(), tx) })
					if err == nil {
						break
					}
					if !passing(err) {
						t.Fatal(err)
					}
				}
				return s.Losses().Last()
			}
			began := driver.Now(s)
			if err := Insert(t.Context(), s, DueTasks(1)...); err != nil {
				t.Fatal(err)
			}
			held, err := Claimed(t.Context(), s, ClaimOf("token", 1))
			if err != nil || len(held) != 1 {
				t.Fatal(held, err)
			}
			if err := server.Back(); err != nil {
				t.Fatal(err)
			}
			if loss := next(); loss != (driver.Loss{}) {
				t.Errorf("after a restart: %+v", loss)
			}
			kept := driver.Now(s)
			if err := Settle(t.Context(), s, held, "done"); err != nil {
				t.Fatal(err)
			}
			if err := server.Rewind(); err != nil {
				t.Fatal(err)
			}
			loss := next()
			if !loss.Open() || loss.From.Before(began) || loss.From.After(kept) || loss.Until.Before(kept) || loss.NoticedOn.Before(loss.Until) {
				t.Errorf("what was kept is of %v to %v: %+v", began, kept, loss)
			}
			if again := next(); again != loss {
				t.Errorf("noticed again: %+v", again)
			}
			id, err := a.reopened(t, dsn, Options{}).Identity(t.Context())
			if err != nil || !id.Loss.Open() || id.Quarantined() {
				t.Errorf("another process knows of %+v, %v", id, err)
			}
		})
	}
}
