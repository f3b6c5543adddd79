package storage_test

import (
	"testing"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestCopiedTellsACopyFromItsOriginal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id   storage.Identity
		want bool
	}{
		{storage.Identity{}, false},
		{storage.Identity{Environment: "production", Given: "production", System: "7", Present: "7"}, false},
		{storage.Identity{Environment: "production", System: "7", Present: "7"}, false},
		{storage.Identity{Environment: "production", Given: "staging", System: "7", Present: "7"}, true},
		{storage.Identity{Environment: "production", Given: "production", System: "7", Present: "8"}, true},
	} {
		if got := c.id.Copied(); got != c.want {
			t.Errorf("%+v: copied %t", c.id, got)
		}
	}
}

func TestIdentityIsThatOfTheFirstOpening(t *testing.T) {
	t.Parallel()
	store := memory.New(nil)
	for _, c := range []struct{ given, present, environment, system string }{
		{"", "7", "", "7"},
		{"production", "7", "production", "7"},
		{"staging", "7", "production", "7"},
		{"production", "8", "production", "7"},
	} {
		got, err := storage.LoadIdentity(t.Context(), store, c.given, c.present)
		want := storage.Identity{Environment: c.environment, Given: c.given, System: c.system, Present: c.present}
		if err != nil || got != want {
			t.Errorf("identity is %+v, want %+v; %v", got, want, err)
		}
	}
}

func TestACopyThatIsAdoptedIsTheOriginal(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), memory.New(nil)
	if _, err := storage.LoadIdentity(ctx, store, "production", "7"); err != nil {
		t.Fatal(err)
	}
	adopt := func(given, present string, want storage.Identity) {
		t.Helper()
		err := store.InTx(ctx, func(tx storage.Tx) error {
			row, err := storage.Adopt(ctx, tx, storage.Identity{Given: given, Present: present})
			if row.Version < 2 {
				t.Errorf("row is %+v", row)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = store.InTx(ctx, func(tx storage.Tx) error {
			got, err := storage.StoredIdentity(ctx, tx)
			if got != want {
				t.Errorf("stored is %+v, want %+v", got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	adopt("staging", "8", storage.Identity{Environment: "staging", System: "8"})
	adopt("", "9", storage.Identity{Environment: "staging", System: "9"}) // a host without a name takes none away
	if id, err := storage.LoadIdentity(ctx, store, "production", "7"); err != nil || !id.Copied() {
		t.Errorf("the former original is %+v, %v", id, err)
	}
}
