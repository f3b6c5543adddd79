package postgres

import (
	"errors"
	"testing"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/driver"
)

// A server whose connection slots are gone has them again later: what was not written
// can be written then.
func TestAServerWithoutConnectionSlotsIsUnavailable(t *testing.T) {
	t.Parallel()
	server := ownServer(t, &pgtest.Options{Settings: map[string]string{"max_connections": "6", "superuser_reserved_connections": "0", "max_wal_senders": "0", "autovacuum": "off"}})
	s := opened(t, server.Database(t), &Options{MaxOpenConns: 1})
	insert(t, s, dueTasks(1)...)
	s.DB().SetMaxIdleConns(0)
	others := opened(t, server.Database(t), nil)
	var err error
	for range 7 {
		conn, taken := others.DB().Conn(t.Context())
		if err = taken; err != nil {
			break
		}
		defer conn.Close()
	}
	if err == nil {
		t.Fatal("there were connections for everybody, so this test shows nothing")
	}
	if _, err := claim(t.Context(), s, claimOf("t", 1)); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
