package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/belfry-go/belfry/storage/driver"
)

// Whoever waits for a connection gets one in the order of asking, and whoever gives up
// leaves no gap: of those who keep asking nobody waits for long.
func TestConnectionsAreGivenInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(&fake{})
		defer db.Close()
		db.SetMaxOpenConns(1)
		p := NewDatabase(db, nil)
		first, err := p.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for i := range 20 {
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			go func() {
				conn, err := p.Conn(ctx)
				if errors.Is(err, context.Canceled) {
					return
				}
				if got = append(got, i); err == nil {
					err = conn.Release(false)
				}
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			if i%5 == 3 {
				giveUp()
			}
		}
		synctest.Wait()
		if err := first.Release(false); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(got) != 16 || !slices.IsSorted(got) {
			t.Errorf("served in the order %v", got)
		}
	})
}

// Whoever is patient goes behind those who are not, and is served all the same.
func TestWhoeverIsPatientGoesBehindOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(&fake{})
		defer db.Close()
		db.SetMaxOpenConns(1)
		p := NewDatabase(db, nil)
		first, err := p.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		ask := func(ctx context.Context, who string) {
			go func() {
				conn, err := p.Conn(ctx)
				if got += who; err == nil {
					err = conn.Release(false)
				}
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		for range 2 {
			ask(driver.Patient(t.Context()), "p")
		}
		for range 10 {
			ask(t.Context(), "o")
		}
		if err := first.Release(false); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if want := "ooooooopooop"; got != want {
			t.Errorf("served in the order %s, want %s", got, want)
		}
	})
}
