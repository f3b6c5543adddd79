package work

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

type parcel struct{ storage.Record }

// gated lets transactions begin only once its gate is open, and counts those that
// wait there.
type gated struct {
	storage.Store
	gate    chan struct{}
	mu      sync.Mutex
	waiting int
}

func (g *gated) InTx(ctx context.Context, f func(storage.Tx) error) error {
	g.mu.Lock()
	g.waiting++
	g.mu.Unlock()
	<-g.gate
	return g.Store.InTx(ctx, f)
}

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
			rows[i] = &parcel{storage.Record{Key: fmt.Sprint(i), Status: "Busy"}}
			outcomes[i] = settled[parcel, struct{}]{row: rows[i]}
		}
		if err := store.InTx(t.Context(), func(tx storage.Tx) error {
			_, err := table.Insert(t.Context(), tx, rows...)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		g := &gated{Store: store, gate: make(chan struct{})}
		r := New(g, Spec[parcel, struct{}]{Name: "parcel", Table: table}).Runner(Options{}).(*runner[parcel, struct{}])
		s, launched, quiet := r.session(t.Context(), nil), make(chan int), make(chan struct{})
		go r.settler(t.Context(), s, launched, quiet)
		launched <- 1
		s.out <- outcome[parcel, struct{}]{rows: outcomes}
		close(launched)
		synctest.Wait()
		g.mu.Lock()
		if g.waiting != settling {
			t.Errorf("%d transactions at once, want %d", g.waiting, settling)
		}
		g.mu.Unlock()
		close(g.gate)
		<-quiet
		for _, row := range rows {
			if row.Version != 2 {
				t.Fatalf("row %s has version %d: it was not settled once", row.Key, row.Version)
			}
		}
	})
}
