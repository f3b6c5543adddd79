package driver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// guest is a row that can be forgotten.
type guest struct {
	driver.Due
	driver.Tombstone
	Name    string            `db:"name,fixed,person"`
	Room    int               `db:"room"`
	Stay    string            `db:"stay,fixed,plain"`
	Wishes  map[string]string `db:"wishes,fixed,json,content"`
	LeftOn  time.Time         `db:"left_on"`
	Picture []byte            `db:"picture,fixed,content"`
}

func TestAStubKeepsWhatIsNamedAndNothingElse(t *testing.T) {
	t.Parallel()
	guests := driver.Define[guest]("guest")
	stubs := guests.Tombstones("stay", "left_on")
	clk := clock.NewMock()
	clk.Set(noon)
	store := memory.New(&memory.Options{Clock: clk})
	whole := &guest{
		Due:  driver.Due{Record: driver.Record{Scope: "s", Key: "k", Kind: "t", Status: "Gone"}, Lane: 1, ClaimToken: "c"},
		Name: "Sam", Room: 7, Stay: "2026", Wishes: map[string]string{"view": "sea"}, LeftOn: noon, Picture: []byte{1},
	}
	inStore(t, store, func(tx driver.Tx) error {
		_, err := guests.Insert(t.Context(), tx, whole)
		return err
	})
	stale := *whole
	inStore(t, store, func(tx driver.Tx) error { return stubs.Save(t.Context(), tx, whole) })
	inStore(t, store, func(tx driver.Tx) error {
		got, err := guests.Get(t.Context(), tx, "s", "k")
		want := &guest{
			Due:       driver.Due{Record: driver.Record{ID: 1, Scope: "s", Key: "k", Kind: "t", Status: "Gone", Version: 2}, Lane: 1},
			Tombstone: driver.Tombstone{ForgottenOn: noon}, Stay: "2026", LeftOn: noon, Picture: []byte{},
		}
		if diff := cmp.Diff(want, got); diff != "" || !got.IsTombstone() {
			t.Error(diff)
		}
		if err := stubs.Save(t.Context(), tx, &stale); !errors.Is(err, driver.ErrStale) {
			t.Errorf("a row that was written meanwhile: %v", err)
		}
		return err
	})
}

func TestATableWithoutStubsHasNone(t *testing.T) {
	t.Parallel()
	defer func() {
		if said, ok := recover().(string); !ok || !strings.Contains(said, "embed no Tombstone") {
			t.Error(said)
		}
	}()
	visits().Tombstones()
}

func TestReleasedBlobsAreCollected(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	store := memory.New(&memory.Options{Clock: clk})
	ref, err := store.Blobs().Put(t.Context(), strings.NewReader("frozen"))
	if err != nil {
		t.Fatal(err)
	}
	inStore(t, store, func(tx driver.Tx) error { return store.Blobs().Keep(t.Context(), tx, owner(ref)) })
	clk.Add(48 * time.Hour)
	if n, err := store.Blobs().Collect(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("collected %d that are kept; %v", n, err)
	}
	inStore(t, store, func(tx driver.Tx) error {
		return driver.Release(t.Context(), tx, owner(ref, ref, driver.Ref{}, driver.Ref{Name: "abc"})) // twice, none, and gone
	})
	clk.Add(24 * time.Hour)
	if n, err := store.Blobs().Collect(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("collected %d; %v", n, err)
	}
}
