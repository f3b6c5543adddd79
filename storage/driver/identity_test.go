package driver_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestCopiedTellsACopyFromItsOriginal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id   driver.Identity
		want bool
	}{
		{driver.Identity{}, false},
		{driver.Identity{Environment: "production", Given: "production", System: "7", Present: "7"}, false},
		{driver.Identity{Environment: "production", System: "7", Present: "7"}, false},
		{driver.Identity{Environment: "production", Given: "staging", System: "7", Present: "7"}, true},
		{driver.Identity{Environment: "production", Given: "production", System: "7", Present: "8"}, true},
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
		got, err := driver.LoadIdentity(t.Context(), store, c.given, c.present)
		want := driver.Identity{Environment: c.environment, Given: c.given, System: c.system, Present: c.present}
		if err != nil || got != want {
			t.Errorf("identity is %+v, want %+v; %v", got, want, err)
		}
	}
}

func TestACopyThatIsAdoptedIsTheOriginal(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), memory.New(nil)
	if _, err := driver.LoadIdentity(ctx, store, "production", "7"); err != nil {
		t.Fatal(err)
	}
	adopt := func(given, present string, want driver.Identity) {
		t.Helper()
		err := store.InTx(ctx, func(tx driver.Tx) error {
			row, err := driver.Adopt(ctx, tx, driver.Identity{Given: given, Present: present}, time.Time{})
			if row.Version < 2 {
				t.Errorf("row is %+v", row)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = store.InTx(ctx, func(tx driver.Tx) error {
			got, err := driver.StoredIdentity(ctx, tx)
			if got != want {
				t.Errorf("stored is %+v, want %+v", got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	adopt("staging", "8", driver.Identity{Environment: "staging", System: "8"})
	adopt("", "9", driver.Identity{Environment: "staging", System: "9"}) // a host without a name takes none away
	if id, err := driver.LoadIdentity(ctx, store, "production", "7"); err != nil || !id.Copied() {
		t.Errorf("the former original is %+v, %v", id, err)
	}
}
