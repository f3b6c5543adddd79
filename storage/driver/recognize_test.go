package driver_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// order is a row with a fingerprint.
type order struct {
	driver.Record
	Guests int    `db:"guests"`
	Note   string `db:"note"`
	Print  int64  `db:"print,fixed"`
}

func orders() *driver.Table[order] {
	return driver.Define[order]("orders").Deciding("guests").Fingerprint("print")
}

// many are orders of one guest each, more than are worth a goroutine.
func many(n int) []*order {
	out := make([]*order, n)
	for i := range out {
		out[i] = &order{Record: driver.Record{Key: fmt.Sprintf("k%03d", i)}, Guests: 1}
	}
	return out
}

// moreGuests keeps the larger number of guests.
func moreGuests(stored, want *order) (driver.Outcome, bool) {
	if stored.Guests >= want.Guests {
		return driver.Unchanged, false
	}
	stored.Guests = want.Guests
	return driver.Updated, true
}

// looking notes which keys are read, and how often untouched rows are asked for.
type looking struct {
	driver.Tx
	read  []string
	asked int
}

func (x *looking) Get(ctx context.Context, s *driver.Schema, places []driver.Place, columns []string) ([]driver.Row, error) {
	for _, p := range places {
		x.read = append(x.read, p.Key)
	}
	return x.Tx.Get(ctx, s, places, columns)
}

func (x *looking) Untouched(ctx context.Context, s *driver.Schema, scope driver.Scope, keys []string) ([]int64, error) {
	x.asked++
	return x.Tx.(driver.Recognizer).Untouched(ctx, s, scope, keys)
}

// desk is a table of orders that a new process ensures.
type desk struct {
	*testing.T
	store *memory.Store
	table *driver.Table[order]
}

func newDesk(t *testing.T, stored ...*order) *desk {
	t.Helper()
	d := &desk{t, memory.New(nil), orders()}
	d.ensure(moreGuests, stored...)
	d.table = orders()
	return d
}

func (d *desk) ensure(decide driver.Decide[order], want ...*order) (got []driver.Ensured[order], x *looking) {
	d.Helper()
	d.tx(func(tx driver.Tx) (err error) {
		x = &looking{Tx: tx}
		got, err = d.table.Ensure(d.Context(), x, decide, want...)
		return err
	})
	return got, x
}

func (d *desk) tx(f func(tx driver.Tx) error) {
	d.Helper()
	if err := d.store.InTx(d.Context(), f); err != nil {
		d.Fatal(err)
	}
}

// write saves the row of a key as others would.
func (d *desk) write(key string, change func(*order)) {
	d.Helper()
	d.tx(func(tx driver.Tx) error {
		row, err := d.table.Get(d.Context(), tx, "", key)
		if err != nil {
			return err
		}
		change(row)
		return d.table.Save(d.Context(), tx, row)
	})
}

func (d *desk) same(what string, want, got any) {
	d.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func tallyOf(got []driver.Ensured[order]) map[driver.Outcome]int {
	out := map[driver.Outcome]int{}
	for _, g := range got {
		out[g.Outcome]++
	}
	return out
}

func TestEnsureReadsNoRowThatItKnows(t *testing.T) {
	t.Parallel()
	d := newDesk(t, many(100)...)
	got, x := d.ensure(moreGuests, many(100)...)
	d.same("outcomes", map[driver.Outcome]int{driver.Unchanged: 100}, tallyOf(got))
	d.same("rows read", []string(nil), x.read)
	for i, g := range got {
		if g.Row.Key != many(100)[i].Key || g.Row.Guests != 1 {
			t.Errorf("answer %d is %+v", i, g.Row)
		}
	}
}

func TestEnsureReadsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	d := newDesk(t, many(100)...)
	d.write("k007", func(o *order) { o.Note = "written since" })
	d.write("k008", func(o *order) { o.Guests = 5 })
	want := many(101)
	want[9].Guests = 2
	got, x := d.ensure(moreGuests, want...)
	d.same("outcomes", map[driver.Outcome]int{driver.Unchanged: 99, driver.Updated: 1, driver.Created: 1}, tallyOf(got))
	d.same("rows read, and one of them again to be written", []string{"k007", "k008", "k009", "k100", "k009"}, x.read)
	d.same("guests as others wrote them", 5, got[8].Row.Guests)
	d.same("updated", driver.Updated, got[9].Outcome)
}

// What is to be written is read first, although it is known: what Ensure was
// given does not have the columns that decide nothing.
func TestAKnownRowThatIsToBeWrittenIsRead(t *testing.T) {
	t.Parallel()
	first := many(100)
	for _, o := range first {
		o.Note = "kept"
	}
	d := newDesk(t, first...)
	want := many(100)
	got, x := d.ensure(func(stored, _ *order) (driver.Outcome, bool) {
		stored.Guests++
		return driver.Updated, true
	}, want...)
	d.same("outcomes", map[driver.Outcome]int{driver.Updated: 100}, tallyOf(got))
	d.same("asked", 1, x.asked)
	d.same("the wanted row", 1, want[3].Guests)
	d.same("the row", []any{2, "kept", int64(2)}, []any{got[3].Row.Guests, got[3].Row.Note, got[3].Row.Version})
}

// Asking costs a statement, which batches of rows that others have written spare
// themselves for a while.
func TestAfterStrangersEnsureAsksForAWhileNoMore(t *testing.T) {
	t.Parallel()
	d := newDesk(t, many(100)...)
	for _, o := range many(51) {
		d.write(o.Key, func(*order) {})
	}
	var asked []int
	for n := range 18 {
		if _, x := d.ensure(moreGuests, many(100)...); x.asked > 0 {
			asked = append(asked, n)
		}
	}
	d.same("batches that asked", []int{0, 16}, asked)
}

func TestEnsureAsksAboutManyRowsOfOneScope(t *testing.T) {
	t.Parallel()
	two := many(100)
	two[50].Scope = "another"
	for _, c := range []struct {
		what  string
		want  []*order
		asked int
	}{
		{"few", many(64), 0}, {"many", many(65), 1}, {"of two scopes", two, 0},
	} {
		d := newDesk(t)
		_, x := d.ensure(moreGuests, c.want...)
		d.same(c.what, c.asked, x.asked)
	}
}

// unable hides what a Tx can do beside its verbs.
type unable struct{ driver.Tx }

func TestEnsureReadsRowsThatATxCannotRecognize(t *testing.T) {
	t.Parallel()
	d := newDesk(t, many(100)...)
	d.tx(func(tx driver.Tx) error {
		got, err := d.table.Ensure(d.Context(), unable{tx}, moreGuests, many(101)...)
		if err != nil {
			return err
		}
		d.same("a stored row", driver.Unchanged, got[99].Outcome)
		d.same("a new one", driver.Created, got[100].Outcome)
		if got[0].Row.ID == 0 {
			d.Error("a row was not read")
		}
		return nil
	})
}
