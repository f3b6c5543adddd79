package postgres

import (
	"context"
	"database/sql"
)

// onConn runs f on one connection of db, under a watch.
func onConn(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
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
	defer func() { _ = done() }() // nothing is committed here
	return f(c)
}
