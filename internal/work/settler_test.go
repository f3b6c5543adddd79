package work

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

type parcel struct{ driver.Due }

// What comes all at once is settled in batches, two at a time, and nothing of it
// is left out.
func TestMoreThanABatchIsSettledInSeveral(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 3*maxSettle + 500
		store, table := memory.New(nil), driver.Define[parcel]("parcel")
		rows := make([]*parcel, many)
		outcomes := make([]settled[parcel, struct{}], many)
		for i := range rows {
			rows[i] = &parcel{driver.Due{Record: storage.Record{Key: fmt.Sprint(i), Status: "Busy"}}}
			outcomes[i] = settled[parcel, struct{}]{row: rows[i]}
		}
		if err := store.InTx(t.Context(), func(tx storage.Tx) error {
			_, err := table.Insert(t.Context(), tx, rows...)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		gated := &storetest.Spy{Store: store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Begin {
				<-gate
			}
			return nil
		}}
		r := New(gated, Spec[parcel, struct{}]{Name: "parcel", Table: table}).Runner(Options{}).(*runner[parcel, struct{}])
		s, launched, quiet := r.session(t.Context(), nil), make(chan int), make(chan struct{})
		go r.newSettler(s).run(t.Context(), launched, quiet)
		launched <- 1
		s.out <- outcome[parcel, struct{}]{rows: outcomes}
		close(launched)
		synctest.Wait()
		if waiting := gated.Begun(); waiting != settling {
			t.Errorf("%d transactions at once, want %d", waiting, settling)
		}
		close(gate)
		<-quiet
		for _, row := range rows {
			if row.Version != 2 {
				t.Fatalf("row %s has version %d: it was not settled once", row.Key, row.Version)
			}
		}
	})
}

// A program that settles a row now and then keeps no room for a thousand.
func TestASettleHasRoomForItsRows(t *testing.T) {
	t.Parallel()
	r := New(memory.New(nil), Spec[parcel, struct{}]{Name: "parcel", Table: driver.Define[parcel]("parcel")}).Runner(Options{}).(*runner[parcel, struct{}])
	for _, n := range []int{1, 3, 50, maxSettle} {
		c := r.scratch(n)
		if len(c.rows) != n || cap(c.rows) >= 2*n {
			t.Errorf("room for %d of %d rows", cap(c.rows), n)
		}
		r.scratches.Put(c)
	}
}
