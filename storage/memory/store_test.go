package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// parcel has fixed columns of the kinds that are shared by a plain copy, and a
// field that reflection cannot write.
type parcel struct {
	driver.Due
	Marks  []string `db:"marks,json,fixed"`
	Seal   []byte   `db:"seal,fixed"`
	Weight int      `db:"weight"`
	Origin string   `db:"origin,fixed"`
	opened bool
}

var parcels = driver.Define[parcel]("parcel")

func inTx(t *testing.T, s driver.Store, f func(tx driver.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), f); err != nil {
		t.Error(err)
	}
}

func TestFixedColumnsStayAsInserted(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), memory.New(nil)
	p := &parcel{Due: driver.Due{Record: driver.Record{Key: "a"}}, Marks: []string{"fragile"}, Seal: []byte("wax"), Origin: "Cork", opened: true}
	inTx(t, store, func(tx driver.Tx) error {
		_, err := parcels.Insert(ctx, tx, p)
		return err
	})
	p.Marks[0], p.Seal[0], p.Origin, p.Weight = "heavy", 'W', "Dublin", 5
	inTx(t, store, func(tx driver.Tx) error { return parcels.Save(ctx, tx, p) })
	inTx(t, store, func(tx driver.Tx) error {
		got, err := parcels.Get(ctx, tx, "", "a")
		want := &parcel{
			Due:   driver.Due{Record: driver.Record{ID: got.ID, Key: "a", Version: 2}},
			Marks: []string{"fragile"}, Seal: []byte("wax"), Origin: "Cork", Weight: 5,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(parcel{})); diff != "" || got.opened {
			t.Errorf("opened %t, row (-want +got):\n%s", got.opened, diff)
		}
		return err
	})
}

func TestNothingIsCommittedAfterTheEndOfTheContext(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	ctx, end := context.WithCancel(t.Context())
	err := store.InTx(ctx, func(tx driver.Tx) error {
		_, err := parcels.Insert(ctx, tx, &parcel{Due: driver.Due{Record: driver.Record{Key: "a"}}})
		end()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	inTx(t, store, func(tx driver.Tx) error {
		n, err := parcels.Count(t.Context(), tx, "", 1)
		if n != 0 {
			t.Error("the row is there")
		}
		return err
	})
}

func TestOneTableHasOneStruct(t *testing.T) {
	t.Parallel()
	type letter struct{ driver.Record }
	letters := driver.Define[letter]("parcel")
	store := memory.New(nil)
	inTx(t, store, func(tx driver.Tx) error {
		_, err := parcels.Insert(t.Context(), tx, &parcel{Due: driver.Due{Record: driver.Record{Key: "a"}}})
		return err
	})
	err := store.InTx(t.Context(), func(tx driver.Tx) error {
		_, err := letters.Find(t.Context(), tx, "", driver.Query{Limit: 1})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "table parcel is used with *memory_test.parcel and *memory_test.letter") {
		t.Errorf("error is %v", err)
	}
	again := driver.Define[parcel]("parcel") // the same struct, described twice
	inTx(t, store, func(tx driver.Tx) error {
		rows, err := again.Find(t.Context(), tx, "", driver.Query{Limit: 1})
		if len(rows) != 1 {
			t.Errorf("found %d rows", len(rows))
		}
		return err
	})
}

func TestAComparisonThatADatabaseRefusesIsRefused(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]driver.Query{
		"parcel.weight cannot be compared with a string":  {Where: []driver.Cond{driver.Eq("weight", "5")}},
		"parcel.origin cannot be compared with a int64":   {Where: []driver.Cond{driver.Any(driver.Less("origin", 5))}},
		"parcel.due_on cannot be compared with a string":  {Where: []driver.Cond{driver.AtMost("due_on", "2026-03-01")}},
		"parcel.marks cannot be compared with a string":   {Where: []driver.Cond{driver.Eq("marks", "fragile")}},
		"parcel.abandoned cannot be in a []string":        {Where: []driver.Cond{driver.In("abandoned", []string{"true"})}},
		"parcel.seal has no order":                        {OrderBy: "seal"},
		"page of parcel.weight begins at a string":        {OrderBy: "weight", After: &driver.Position{Value: "5"}},
		"parcel.abandoned cannot be compared with a time": {Where: []driver.Cond{driver.Eq("abandoned", time.Time{})}},
	} {
		q.Limit = 1
		err := memory.New(nil).InTx(t.Context(), func(tx driver.Tx) error {
			_, err := parcels.Find(t.Context(), tx, "", q)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestAnUnknownColumnPanicsAndRollsBack(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), memory.New(nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there was no panic")
			}
		}()
		_ = store.InTx(ctx, func(tx driver.Tx) error {
			_, err := parcels.Insert(ctx, tx, &parcel{Due: driver.Due{Record: driver.Record{Key: "a"}}})
			if err != nil {
				return err
			}
			_, err = parcels.Find(ctx, tx, "", driver.Query{Where: []driver.Cond{driver.Null("colour")}})
			return err
		})
	}()
	inTx(t, store, func(tx driver.Tx) error {
		n, err := parcels.Count(ctx, tx, "", 1)
		if n != 0 {
			t.Errorf("%d rows are left", n)
		}
		return err
	})
}

func ExampleNew() {
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: mock, Environment: "test"})
	id, err := store.Identity(context.Background())
	fmt.Println(id.Environment, driver.Now(store).Format(time.RFC3339), err)
	// Output:
	// test 2026-03-01T08:00:00Z <nil>
}
