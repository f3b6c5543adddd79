package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
)

// world is where a sentence is shown: an empty table of things on a store whose
// clock stands at base until the test moves it.
type world struct {
	*testing.T
	h      Harness
	in     *Instance
	ctx    context.Context
	store  driver.Store
	clock  *clock.Mock
	things *driver.Table[thing]
}

// What a sentence does beyond verbs and rows: blobs is about payloads, ears about
// hints to pollers, tallies about counting by kind, lists about conditions and pages,
// undoing about transactions that end in vain.
type (
	blobs   struct{ *world }
	ears    struct{ *world }
	tallies struct{ *world }
	lists   struct{ *world }
	undoing struct{ *world }
)

func (w *world) blobs() blobs     { return blobs{w} }
func (w *world) ears() ears       { return ears{w} }
func (w *world) tallies() tallies { return tallies{w} }
func (w *world) lists() lists     { return lists{w} }
func (w *world) undoing() undoing { return undoing{w} }

// with is w for a subtest, with a table of that name.
func (w *world) with(t *testing.T, table string) *world {
	t.Helper()
	own := *w
	own.T, own.ctx = t, t.Context()
	own.things = driver.Define[thing](table)
	own.in.createTable(t, &own.things.Schema)
	return &own
}

// on is the same table through another store.
func (w *world) on(store driver.Store) *world {
	other := *w
	other.store = store
	return &other
}

// patience is how long the suite waits for what an adapter does at once, before it says
// which sentence hangs. It is long enough for the slowest machine.
const patience = 5 * time.Minute

// await takes what c gives, and ends the test if nothing comes.
func await[T any](w *world, what string, c <-chan T) (v T) {
	w.Helper()
	ctx, end := context.WithTimeout(w.ctx, patience)
	defer end()
	select {
	case v = <-c:
	case <-ctx.Done():
		w.Fatalf("%s: still waiting after %v", what, patience)
	}
	return v
}

// tx runs f in a transaction that must succeed. Waiting in vain for a lock is an
// answer that a caller repeats after, and so does this one.
func (w *world) tx(f func(tx driver.Tx) error) {
	w.Helper()
	err := w.store.InTx(w.ctx, f)
	for errors.Is(err, driver.ErrBusy) {
		err = w.store.InTx(w.ctx, f)
	}
	if err != nil {
		w.Errorf("InTx: %v", err)
	}
}

// insert adds rows that must be new.
func (w *world) insert(rows ...*thing) {
	w.Helper()
	for i, inserted := range w.insertSome(rows...) {
		if !inserted {
			w.Fatalf("Insert says that %q exists", rows[i].Key)
		}
	}
}

func (w *world) insertSome(rows ...*thing) (inserted []bool) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		inserted, err = w.things.Insert(w.ctx, tx, rows...)
		return err
	})
	return inserted
}

func (w *world) find(scope driver.Scope, q driver.Query) (rows []*thing) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		rows, err = w.things.Find(w.ctx, tx, scope, q)
		return err
	})
	return rows
}

func (w *world) findEverywhere(q driver.Query) (rows []*thing) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		rows, err = w.things.Everywhere().Find(w.ctx, tx, q)
		return err
	})
	return rows
}

// where gives the keys of the rows for which all conditions hold, by id.
func (w *world) where(conds ...driver.Cond) []string {
	w.Helper()
	return keysOf(w.find("", driver.Query{Where: conds, Limit: 100}))
}

// all gives the rows of all scopes by id.
func (w *world) all() []*thing {
	w.Helper()
	return w.findEverywhere(driver.Query{Limit: 10000})
}

// get gives the stored row of a key in the empty scope.
func (w *world) get(key string) (row *thing) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		row, err = w.things.Get(w.ctx, tx, "", key)
		return err
	})
	if row == nil {
		w.FailNow()
	}
	return row
}

// due is a claim of ready rows at base, for a minute.
func due(token string) driver.Claim {
	return driver.Claim{
		Statuses:   []string{ready},
		Busy:       busy,
		Lanes:      []driver.LaneClaim{{Lane: driver.LaneNormal, Limit: 100}},
		Now:        base,
		LeaseUntil: base.Add(time.Minute),
		Token:      token,
	}
}

// later is a claim when the leases of due have expired.
func later(token string) driver.Claim {
	c := due(token)
	c.Now, c.LeaseUntil = base.Add(time.Minute), base.Add(2*time.Minute)
	return c
}

func (w *world) claim(c driver.Claim) (rows []*thing) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		rows, err = w.things.Claim(w.ctx, tx, c)
		return err
	})
	return rows
}

// save writes rows and gives the indices of the stale ones.
func (w *world) save(rows ...*thing) []int {
	w.Helper()
	return w.swap(func(tx driver.Tx) error { return w.things.Save(w.ctx, tx, rows...) })
}

// remove deletes rows and gives the indices of the stale ones.
func (w *world) remove(rows ...*thing) []int {
	w.Helper()
	return w.swap(func(tx driver.Tx) error { return w.things.Delete(w.ctx, tx, rows...) })
}

func (w *world) swap(f func(tx driver.Tx) error) (stale []int) {
	w.Helper()
	w.tx(func(tx driver.Tx) error {
		err := f(tx)
		if e := (*driver.StaleError)(nil); errors.As(err, &e) {
			stale = e.Rows
			return nil
		}
		stale = nil
		return err
	})
	return stale
}

func (w *world) extend(until time.Time, rows ...*thing) (lost []bool) {
	w.Helper()
	w.tx(func(tx driver.Tx) (err error) {
		lost, err = w.things.Extend(w.ctx, tx, until, rows...)
		return err
	})
	return lost
}

// same fails the test if got is not what the contract wants.
func (w *world) same(what string, got, want any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// is fails the test if err is not the wanted error.
func (w *world) is(what string, err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Errorf("%s: error is %v, want %v", what, err, want)
	}
}

// thing is the row of the suite's tables: every kind of column, nullable and not,
// and a fixed one beside those of Record.
type thing struct {
	driver.Due
	Name    string            `db:"name"`
	Note    string            `db:"note,null"`
	Origin  string            `db:"origin,fixed"`
	Amount  int64             `db:"amount"`
	Rank    int32             `db:"ranking,null"`
	Ready   bool              `db:"is_ready"`
	Checked bool              `db:"is_checked,null"`
	SeenOn  time.Time         `db:"seen_on"`
	Tags    []string          `db:"tags,json"`
	Labels  map[string]string `db:"labels,json,null"`
	Raw     json.RawMessage   `db:"raw,json,null"`
	Data    []byte            `db:"data"`
	Seal    []byte            `db:"seal,null"`
	Draft   string            // has no column
}

// The statuses of things.
const (
	ready = "Ready"
	busy  = "Busy"
	done  = "Done"
)

// newThing is a free row that is due at base.
func newThing(key string) *thing {
	return &thing{
		Due:  driver.Due{Record: driver.Record{Key: key, Status: ready}, DueOn: base},
		Data: []byte{},
	}
}

// newThings are rows with those keys, due one microsecond after the other.
func newThings(keys ...string) []*thing {
	out := make([]*thing, len(keys))
	for i, key := range keys {
		out[i] = newThing(key)
		out[i].DueOn = at(i)
	}
	return out
}

func keysOf(rows []*thing) []string {
	keys := make([]string, len(rows))
	for i, r := range rows {
		keys[i] = r.Key
	}
	return keys
}

// copyOf is another struct with the same content, as another reader holds it.
func copyOf(r *thing) *thing {
	c := *r
	return &c
}
