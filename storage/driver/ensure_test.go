package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

func booking(key string, guests int) *visit {
	return &visit{Due: driver.Due{Record: driver.Record{Key: key}}, Guests: guests, Picture: []byte{}}
}

// more keeps the larger number of guests.
func more(stored, want *visit) (driver.Outcome, bool) {
	if stored.Guests >= want.Guests {
		return driver.Unchanged, false
	}
	stored.Guests = want.Guests
	return driver.Updated, true
}

// interfering is a transaction into which others write between its statements.
type interfering struct {
	driver.Tx
	beforeGet, beforeUpdate func()
	gets                    int
}

func (x *interfering) Get(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, columns []string) ([]driver.Row, error) {
	x.gets++
	if x.beforeGet != nil {
		x.beforeGet()
	}
	return x.Tx.Get(ctx, s, places, columns)
}

func (x *interfering) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if f := x.beforeUpdate; f != nil {
		x.beforeUpdate = nil
		f()
	}
	return x.Tx.Update(ctx, s, rows)
}

func TestEnsureDecidesAgainAboutARowThatOthersWrote(t *testing.T) {
	t.Parallel()
	ctx, table := t.Context(), visits()
	inTx(t, func(tx driver.Tx) error {
		if _, err := table.Insert(ctx, tx, booking("a", 1)); err != nil {
			return err
		}
		x := &interfering{Tx: tx, beforeUpdate: func() {
			theirs, err := table.Get(ctx, tx, "", "a")
			theirs.Guests = 4
			if err := errors.Join(err, table.Save(ctx, tx, theirs)); err != nil {
				t.Error(err)
			}
		}}
		got, err := table.Ensure(ctx, x, more, booking("a", 3), booking("b", 1))
		if err != nil {
			return err
		}
		outcomes := []driver.Outcome{got[0].Outcome, got[1].Outcome}
		if diff := cmp.Diff([]driver.Outcome{driver.Unchanged, driver.Created}, outcomes); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		if got[0].Row.Guests != 4 {
			t.Errorf("row has %d guests", got[0].Row.Guests)
		}
		return nil
	})
}

func TestEnsureGivesUpOnARowThatComesAndGoes(t *testing.T) {
	t.Parallel()
	ctx, table := t.Context(), visits()
	inTx(t, func(tx driver.Tx) error {
		blocked := &vanishing{interfering: &interfering{Tx: tx}}
		_, err := table.Ensure(ctx, blocked, more, booking("a", 1))
		if !errors.Is(err, driver.ErrBusy) {
			t.Errorf("error is %v", err)
		}
		if blocked.gets != 10 {
			t.Errorf("it tried %d times", blocked.gets)
		}
		return nil
	})
}

// vanishing says that every key is taken, and finds none of them.
type vanishing struct{ *interfering }

func (x *vanishing) Insert(_ context.Context, _ *driver.Schema, rows []driver.Row) ([]bool, error) {
	return make([]bool, len(rows)), nil
}

func TestEnsureOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	inTx(t, func(tx driver.Tx) error {
		got, err := visits().Ensure(t.Context(), tx, more)
		if len(got) != 0 {
			t.Errorf("%d results", len(got))
		}
		return err
	})
}

func TestEnsureReportsWhatItsDecisionSays(t *testing.T) {
	t.Parallel()
	ctx, table := t.Context(), visits()
	says := func(o driver.Outcome) driver.Decide[visit] {
		return func(_, _ *visit) (driver.Outcome, bool) { return o, false }
	}
	inTx(t, func(tx driver.Tx) error {
		if _, err := table.Insert(ctx, tx, booking("a", 1)); err != nil {
			return err
		}
		for _, want := range []driver.Outcome{driver.Reactivated, driver.InFlight, driver.Conflict} {
			got, err := table.Ensure(ctx, tx, says(want), booking("a", 2))
			if err != nil {
				return err
			}
			if got[0].Outcome != want || got[0].Row.Guests != 1 || got[0].Row.Version != 1 {
				t.Errorf("outcome is %s for %+v", got[0].Outcome, got[0].Row)
			}
		}
		return nil
	})
}

// inTx runs f in a transaction of a new store, and wants it to succeed.
func inTx(t *testing.T, f func(tx driver.Tx) error) {
	t.Helper()
	if err := memory.New(nil).InTx(t.Context(), f); err != nil {
		t.Error(err)
	}
}

// recording notes the keys in the order of Insert.
type recording struct {
	driver.Tx
	keys []string
}

func (r *recording) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	for _, row := range rows {
		rec := driver.RecordOf(row)
		r.keys = append(r.keys, string(rec.Scope)+"/"+rec.Key)
	}
	return r.Tx.Insert(ctx, s, rows)
}

func TestEnsureTakesLocksInTheOrderOfTheKeys(t *testing.T) {
	t.Parallel()
	inTx(t, func(tx driver.Tx) error {
		r := &recording{Tx: tx}
		other := booking("a", 1)
		other.Scope = "s"
		_, err := visits().Ensure(t.Context(), r, more, booking("c", 1), other, booking("b", 1), booking("B", 1), booking("b", 2))
		if diff := cmp.Diff([]string{"/B", "/b", "/c", "s/a", "/b"}, r.keys); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		return err
	})
}

// Rows are read whole only to be written, and then decided on again: what was
// decided by a part of the row is not what is saved.
func TestEnsureReadsDecidingColumnsUntilItWrites(t *testing.T) {
	t.Parallel()
	ctx, table := t.Context(), visits().Deciding("guests")
	inTx(t, func(tx driver.Tx) error {
		a, b := booking("a", 1), booking("b", 1)
		a.Status, b.Status = "kept", "kept"
		if _, err := table.Insert(ctx, tx, a, b); err != nil {
			return err
		}
		reads := &readings{Tx: tx}
		got, err := table.Ensure(ctx, reads, more, booking("a", 1), booking("b", 2), booking("c", 1))
		if err != nil {
			return err
		}
		if diff := cmp.Diff([]string{"guests", ""}, reads.columns); diff != "" {
			t.Errorf("columns read (-want +got):\n%s", diff)
		}
		for i, want := range []driver.Ensured[visit]{
			{Outcome: driver.Unchanged, Row: &visit{Due: driver.Due{Record: driver.Record{ID: a.ID, Key: "a"}}, Guests: 1}},
			{Outcome: driver.Updated, Row: &visit{Due: driver.Due{Record: driver.Record{ID: b.ID, Key: "b", Status: "kept", Version: 2}}, Guests: 2, Picture: []byte{}}},
			{Outcome: driver.Created, Row: got[2].Row},
		} {
			if diff := cmp.Diff(want, got[i]); diff != "" {
				t.Errorf("row %d (-want +got):\n%s", i, diff)
			}
		}
		stored, err := table.Get(ctx, tx, "", "b")
		if diff := cmp.Diff(got[1].Row, stored); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		return err
	})
}

// readings notes which columns each Get asks for.
type readings struct {
	driver.Tx
	columns []string
}

func (r *readings) Get(ctx context.Context, s *driver.Schema, places []driver.ScopedKey, columns []string) ([]driver.Row, error) {
	r.columns = append(r.columns, strings.Join(columns, ","))
	return r.Tx.Get(ctx, s, places, columns)
}

func TestDecidingColumnsExist(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	visits().Deciding("gusts")
}

// Many rows are checked while the database looks for them. One that cannot be
// stored stops all of them, whether they exist or not.
func TestEnsureOfABadRowAmongManyDecidesAndWritesNothing(t *testing.T) {
	t.Parallel()
	ctx, table := t.Context(), visits()
	bookings := func(guests int) (all []*visit) {
		for i := range 200 {
			all = append(all, booking(fmt.Sprint("b", i), guests))
		}
		return all
	}
	inTx(t, func(tx driver.Tx) error {
		for _, when := range []string{"they are new", "they were inserted", "they were found"} {
			bad := bookings(2)
			bad[150].Note = "a\x00b"
			x := &writes{Tx: tx}
			_, err := table.Ensure(ctx, x, func(stored, _ *visit) (driver.Outcome, bool) {
				t.Errorf("when %s: %s was decided on", when, stored.Key)
				return driver.Unchanged, false
			}, bad...)
			if refused := (*driver.ValueError)(nil); !errors.As(err, &refused) || refused.Column != "note" || x.writes > 0 {
				t.Errorf("when %s: %d writes: %v", when, x.writes, err)
			}
			if _, err := table.Ensure(ctx, tx, more, bookings(1)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// writes counts what changes rows.
type writes struct {
	driver.Tx
	writes int
}

func (x *writes) Insert(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	x.writes++
	return x.Tx.Insert(ctx, s, rows)
}

func (x *writes) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	x.writes++
	return x.Tx.Update(ctx, s, rows)
}

// A host's own JSON type may panic.
func TestAPanicWhileManyRowsAreCheckedComesBack(t *testing.T) {
	t.Parallel()
	table := driver.Define[explosive]("explosive")
	rows := make([]*explosive, 200)
	for i := range rows {
		rows[i] = &explosive{Record: driver.Record{Key: fmt.Sprint(i)}}
	}
	inTx(t, func(tx driver.Tx) error {
		defer func() {
			if r := recover(); r != "it went off" {
				t.Errorf("recovered %v", r)
			}
		}()
		_, err := table.Ensure(t.Context(), tx, func(_, _ *explosive) (driver.Outcome, bool) { return driver.Unchanged, false }, rows...)
		t.Errorf("it returned: %v", err)
		return nil
	})
}

type explosive struct {
	driver.Record
	Bomb bomb `db:"bomb,json"`
}

type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("it went off") }
