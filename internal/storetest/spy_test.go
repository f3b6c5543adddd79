package storetest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

type parcel struct{ storage.Record }

var errHook = errors.New("the hook fails")

// Where the hook fails, the caller hears of it, and only behind the commit is the
// row there all the same.
func TestASpyFailsWhereItsHookDoes(t *testing.T) {
	t.Parallel()
	for verb, want := range map[string]int{
		storetest.Begin: 0, storetest.Insert: 0, storetest.Commit: 0, storetest.Committed: 1,
	} {
		inner, table := memory.New(nil), driver.Define[parcel]("parcel")
		spy := &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
			if c.Verb == verb {
				return errHook
			}
			return nil
		}}
		err := spy.InTx(t.Context(), func(tx storage.Tx) error {
			_, err := table.Insert(t.Context(), tx, &parcel{storage.Record{Key: "a"}})
			return err
		})
		if !errors.Is(err, errHook) {
			t.Errorf("%s: %v", verb, err)
		}
		if n := count(t, inner, table); n != want {
			t.Errorf("%s: %d rows", verb, n)
		}
	}
}

func count(t *testing.T, store storage.Store, table *driver.Table[parcel]) (n int) {
	t.Helper()
	if err := store.InTx(t.Context(), func(tx storage.Tx) (err error) {
		n, err = table.Count(t.Context(), tx, "", 10)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// Transactions and blobs belong to the Spy.
func TestASpyIsAStoreOfItsOwn(t *testing.T) {
	t.Parallel()
	spy, calls := storetest.Counting(memory.New(nil))
	table := driver.Define[parcel]("parcel")
	ref, err := spy.Blobs().Put(t.Context(), strings.NewReader("text"))
	if err != nil {
		t.Fatal(err)
	}
	calls.Take()
	if err := spy.InTx(t.Context(), func(tx storage.Tx) error {
		if tx.Store() != storage.Store(spy) {
			t.Error("the transaction belongs to another store")
		}
		_, err := table.Insert(t.Context(), tx, &parcel{storage.Record{Key: "a"}}, &parcel{storage.Record{Key: "b"}})
		return errors.Join(err, spy.Blobs().Keep(t.Context(), tx, driver.Owned{Table: "letter", Key: "1", Refs: []storage.Ref{ref}}))
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls.Take() {
		got = append(got, fmt.Sprint(c.Number, " ", c.Verb, " ", c.Table, " ", len(c.Rows)))
	}
	n := spy.Begun()
	want := []string{fmt.Sprint(n, " insert parcel 2"), fmt.Sprint(n, " select blob 0"), fmt.Sprint(n, " update blob 1"), fmt.Sprint(n, " insert blob_owner 1")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
