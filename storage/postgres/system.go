package postgres

import (
	"context"
	"database/sql"
	"time"
)

// systemIdentifier is the number that initdb gave to the database cluster and
// its replicas; empty where the role may not ask for it.
func systemIdentifier(ctx context.Context, db *sql.DB) (string, error) {
	var id string
	err := onConn(ctx, db, func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, "SELECT system_identifier::text FROM pg_control_system()").Scan(&id)
	})
	switch state, _ := sqlState(err); state {
	case "42501", "42883": // insufficient_privilege, undefined_function
		return "", nil
	}
	return id, err
}

// serverTime looks at the server's clock. Waiting for a free connection does
// not count as part of the round trip.
func serverTime(db *sql.DB) source {
	return func(ctx context.Context, elapsed func() time.Duration) (r reading, err error) {
		err = onConn(ctx, db, func(c *sql.Conn) error {
			r.sent = elapsed()
			err := c.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&r.server)
			r.received, r.server = elapsed(), r.server.UTC()
			return err
		})
		return r, err
	}
}
