package postgres

import (
	"errors"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
)

// Trap 3: behind PgBouncer in transaction mode, lib/pq's default protocol runs
// other clients' statements.

func TestTrap3UnsafeHostPoolIsRefused(t *testing.T) {
	t.Parallel()
	direct := emptyDSN(t)
	pooled := pgtest.Bouncer(t, direct, nil)
	opts := &Options{Migrate: MigrateAuto}
	var refused *ServerError
	if _, err := New(t.Context(), rawPool(t, pooled), opts); !errors.As(err, &refused) {
		t.Errorf("lib/pq's default protocol through a pooler: %v", err)
	}
	for name, dsn := range map[string]string{
		"direct":                  direct,
		"pooled, but in one step": pgtest.With(t, pooled, "binary_parameters", "yes"),
	} {
		s, err := New(t.Context(), rawPool(t, dsn), opts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
