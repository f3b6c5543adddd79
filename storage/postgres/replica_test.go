package postgres

import (
	"errors"
	"testing"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/internal/traptest"
)

// Trap 5: a driver is content with a replica, on which every write fails.

func TestTrap5DriverWritesToAReplica(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Nightly)
	hosts := traptest.Either(t, traptest.Replica(t), ownServer(t, nil))
	_, err := rawPool(t, hosts).ExecContext(t.Context(), "CREATE TABLE raw (id int)")
	var refused *pq.Error
	if !errors.As(err, &refused) || refused.Code != "25006" {
		t.Errorf("%v; the trap is gone", err)
	}
}
