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
