package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// onConn runs f on one connection of db, under a watch, and again on another one
// if it broke, perhaps while it lay idle: nothing that f does may count.
func onConn(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
	for idle := db.Stats().OpenConnections; ; idle-- {
		err := onConnOnce(ctx, db, f)
		if classify(err) != sqlstore.Connection || ctx.Err() != nil || idle <= 0 {
			return err
		}
	}
}

func onConnOnce(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // only ever "already closed"
	var done func() error
	err = c.Raw(func(driverConn any) error {
		done = watch(ctx, driverConn)
		return nil
	})
	if err != nil {
		return err
	}
	err = f(c)
	_ = done() // nothing was committed
	if classify(err) == sqlstore.Connection {
		_ = c.Raw(func(any) error { return driver.ErrBadConn }) // not to be used again
	}
	return err
}
