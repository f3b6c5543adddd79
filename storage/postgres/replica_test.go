package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lib/pq"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// Trap 5: a driver is content with a replica, on which every write fails.

// replica is a cluster in hot standby, as it is while its primary is away.
func replica(t *testing.T) *pgtest.Server {
	t.Helper()
	server := ownServer(t, nil)
	folder := scan[string](t, rawPool(t, server.DSN()), "SHOW data_directory")
	if err := os.WriteFile(filepath.Join(folder, "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	return server
}

// either is a DSN with the hosts of both servers, the first one first.
func either(t *testing.T, first, second *pgtest.Server) string {
	t.Helper()
	a, b := pgtest.Addr(t, first.DSN()), pgtest.Addr(t, second.DSN())
	port := func(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }
	return "host=127.0.0.1,127.0.0.1 port=" + port(a) + "," + port(b) + " user=postgres dbname=postgres sslmode=disable"
}

func TestTrap5Replicas(t *testing.T) {
	t.Parallel()
	standby, primary := replica(t), ownServer(t, nil)
	hosts := either(t, standby, primary)

	t.Run("the driver writes to one", func(t *testing.T) {
		_, err := rawPool(t, hosts).ExecContext(t.Context(), "CREATE TABLE raw (id int)")
		var refused *pq.Error
		if !errors.As(err, &refused) || refused.Code != "25006" {
			t.Errorf("%v; the trap is gone", err)
		}
	})
	t.Run("Open refuses one", func(t *testing.T) {
		_, err := Open(t.Context(), standby.DSN(), nil)
		var refused *ServerError
		if !errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("New refuses one", func(t *testing.T) {
		_, err := New(t.Context(), rawPool(t, standby.DSN()), nil)
		var refused *ServerError
		if !errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a list of hosts follows a promotion", func(t *testing.T) {
		s := opened(t, hosts, nil)
		insert(t, s, dueTasks(1)...)
		port := scan[int](t, s.DB(), "SELECT inet_server_port()")
		if err := primary.Stop(); err != nil {
			t.Fatal(err)
		}
		err := s.InTx(t.Context(), func(driver.Tx) error { return nil })
		wantErr(t, err, driver.ErrUnavailable) // nobody was promoted yet
		exec(t, rawPool(t, standby.DSN()), "SELECT pg_promote()")
		if now := scan[int](t, s.DB(), "SELECT inet_server_port()"); now == port {
			t.Error("still on the server that was stopped")
		}
		exec(t, s.DB(), "CREATE TABLE promoted (id int)")
	})
}

func TestTrap5ReadOnlySessionsAreRefused(t *testing.T) {
	t.Parallel()
	dsn := emptyDSN(t)
	exec(t, rawPool(t, dsn), "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; END $$")
	var refused *ServerError
	if _, err := Open(t.Context(), dsn, nil); !errors.As(err, &refused) {
		t.Errorf("Open: %v", err)
	}
	if _, err := New(t.Context(), rawPool(t, dsn), nil); !errors.As(err, &refused) {
		t.Errorf("New: %v", err)
	}
}
