package storagetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
)

// Bench measures the verbs of the adapter behind h on tables of 10 thousand rows,
// and with BELFRY_TEST=nightly in the environment on 100 thousand and a million. It
// reports rows per second.
func Bench(b *testing.B, h Harness) {
	sizes := []int{10_000}
	if testlevel.Has(b, testlevel.Nightly) {
		sizes = append(sizes, 100_000, 1_000_000)
	}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%dk", size/1000), func(b *testing.B) {
			w := newWorkbench(b, h, size)
			b.Run("ensure-new", w.ensureNew)
			b.Run("ensure-existing", w.ensureExisting)
			b.Run("claim", w.claim)
			b.Run("settle", w.settle)
			b.Run("claim+settle", w.claimAndSettle)
			b.Run("extend", w.extend)
			b.Run("find", w.find)
		})
	}
}

// workbench is a table of many rows that are due one after the other. What is
// settled goes to the end of the order, so that the table stays as it is.
type workbench struct {
	in     *Instance
	things *driver.Table[thing]
	size   int
	keys   int // made so far
	laps   int
}

func newWorkbench(b *testing.B, h Harness, size int) *workbench {
	w := &workbench{in: h.open(b, Options{}), things: driver.Define[thing]("bench")}
	w.in.createTable(b, &w.things.Schema)
	for w.size = 0; w.size < size; w.size += 1000 {
		w.ensure(b, w.fresh(1000, base))
	}
	return w
}

// fresh makes rows with keys of a usual length.
func (w *workbench) fresh(n int, from time.Time) []*thing {
	rows := make([]*thing, n)
	for i := range rows {
		w.keys++
		rows[i] = newThing(fmt.Sprintf("reminder:certificate:employee:%032x:default:2026-05-01:%d", w.keys, w.keys%90))
		rows[i].DueOn = from.Add(time.Duration(w.keys) * time.Millisecond)
		rows[i].Name, rows[i].Kind, rows[i].SeenOn = "certificate", "certificate", base
	}
	return rows
}

// run repeats a step of n rows, and reports them per second.
func (w *workbench) run(b *testing.B, n int, step func()) {
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "rows/s")
}

func (w *workbench) tx(b *testing.B, f func(ctx context.Context, tx driver.Tx) error) {
	b.Helper()
	if err := w.in.Store.InTx(b.Context(), func(tx driver.Tx) error { return f(b.Context(), tx) }); err != nil {
		b.Fatal(err)
	}
}

func (w *workbench) ensure(b *testing.B, rows []*thing) (got []driver.Ensured[thing]) {
	w.tx(b, func(ctx context.Context, tx driver.Tx) (err error) {
		got, err = w.things.Ensure(ctx, tx, unchanged, rows...)
		return err
	})
	return got
}

// ensureNew makes rows that are due much later, and takes them away again.
func (w *workbench) ensureNew(b *testing.B) {
	w.run(b, 1000, func() {
		b.StopTimer()
		rows := w.fresh(1000, base.AddDate(100, 0, 0))
		b.StartTimer()
		w.ensure(b, rows)
		b.StopTimer()
		w.tx(b, func(ctx context.Context, tx driver.Tx) error { return w.things.Delete(ctx, tx, rows...) })
		b.StartTimer()
	})
}

func (w *workbench) ensureExisting(b *testing.B) {
	known := w.keys
	w.keys = 0
	rows := w.fresh(1000, base)
	w.keys = known
	w.run(b, len(rows), func() {
		if got := w.ensure(b, rows); got[0].Outcome != driver.Unchanged {
			b.Fatalf("outcome is %s", got[0].Outcome)
		}
	})
}

const claimed = 500 // rows of one claim

func (w *workbench) take(b *testing.B) (rows []*thing) {
	c := due("token")
	c.Lanes[0].Limit = claimed
	c.Now, c.LeaseUntil = base.AddDate(50, 0, 0), base.AddDate(50, 0, 1)
	w.tx(b, func(ctx context.Context, tx driver.Tx) (err error) {
		rows, err = w.things.Claim(ctx, tx, c)
		return err
	})
	if len(rows) != claimed {
		b.Fatalf("claimed %d rows", len(rows))
	}
	return rows
}

func (w *workbench) release(rows []*thing) {
	w.laps++
	for i, r := range rows {
		r.Status, r.LeaseExpiresOn = ready, time.Time{}
		r.DueOn = base.AddDate(1, 0, 0).Add(time.Duration(w.laps*claimed+i) * time.Millisecond)
	}
}

func (w *workbench) give(b *testing.B, rows []*thing) {
	w.tx(b, func(ctx context.Context, tx driver.Tx) error { return w.things.Save(ctx, tx, rows...) })
}

func (w *workbench) claim(b *testing.B) {
	w.run(b, claimed, func() {
		rows := w.take(b)
		b.StopTimer()
		w.release(rows)
		w.give(b, rows)
		b.StartTimer()
	})
}

func (w *workbench) settle(b *testing.B) {
	w.run(b, claimed, func() {
		b.StopTimer()
		rows := w.take(b)
		w.release(rows)
		b.StartTimer()
		w.give(b, rows)
	})
}

func (w *workbench) claimAndSettle(b *testing.B) {
	w.run(b, claimed, func() {
		rows := w.take(b)
		w.release(rows)
		w.give(b, rows)
	})
}

func (w *workbench) extend(b *testing.B) {
	rows := w.take(b)
	n := 0
	w.run(b, claimed, func() {
		n++
		w.tx(b, func(ctx context.Context, tx driver.Tx) error {
			_, err := w.things.Extend(ctx, tx, base.AddDate(51, 0, n), rows...)
			return err
		})
	})
	w.release(rows)
	w.give(b, rows)
}

func (w *workbench) find(b *testing.B) {
	known := w.keys
	w.keys = 0
	keys := keysOf(w.fresh(claimed, base))
	w.keys = known
	w.run(b, claimed, func() {
		w.tx(b, func(ctx context.Context, tx driver.Tx) error {
			rows, err := w.things.Find(ctx, tx, "", driver.Query{Where: []driver.Cond{driver.In("key", keys)}, Limit: claimed})
			if len(rows) != claimed {
				b.Fatalf("found %d rows", len(rows))
			}
			return err
		})
	})
}
