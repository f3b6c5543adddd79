package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
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
