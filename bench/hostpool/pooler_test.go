package hostpool

import (
	"errors"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/postgres"
)

// modes are pgx's, with those that a transaction pooler does not break.
var modes = []struct {
	name string
	safe bool
}{
	{"cache_statement", false},
	{"cache_statement", false}, // what the one before prepared is still there
	{"cache_describe", true},
	{"describe_exec", false},
	{"exec", true},
	{"simple_protocol", true},
}

func TestOnlyModesOfOneStepAreTakenBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.DSN(t)
	pooler := pgtest.Bouncer(t, direct, map[string]string{"default_pool_size": "1"})
	for _, m := range modes {
		if err := opened(t, pgtest.With(t, direct, mode, m.name)); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		err := opened(t, pgtest.With(t, pooler, mode, m.name))
		var refused *postgres.ServerError
		if m.safe && err != nil || !m.safe && !errors.As(err, &refused) {
			t.Errorf("%s through a pooler: %v", m.name, err)
		}
	}
}

// opened opens a store, and closes it.
func opened(t *testing.T, dsn string) error {
	t.Helper()
	db := pool(t, dsn)
	s, err := postgres.New(t.Context(), db, &postgres.Options{Migrate: postgres.MigrateAuto})
	if err == nil {
		err = s.Close()
	}
	return errors.Join(err, db.Close())
}
