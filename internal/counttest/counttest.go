// Package counttest counts the statements that reach a database, through a
// driver that wraps another. Only tests import it.
package counttest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
)

// Counter notes every statement, BEGIN and COMMIT included.
type Counter struct {
	mu         sync.Mutex
	statements []string
}

// Take returns the statements since the last Take.
func (c *Counter) Take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.statements
	c.statements = nil
	return taken
}

func (c *Counter) note(statement string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements = append(c.statements, statement)
}

// Open is sql.OpenDB with a counter in between. The connections of connector
// have to implement QueryerContext, ExecerContext and ConnBeginTx.
func Open(connector driver.Connector) (*sql.DB, *Counter) {
	c := &Counter{}
	return sql.OpenDB(&counting{connector, c}), c
}

type counting struct {
	driver.Connector
	c *Counter
}

func (w *counting) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{inner.(full), w.c}, nil
}

type full interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
	driver.ConnBeginTx
}

type conn struct {
	full
	c *Counter
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.c.note(query)
	return c.full.QueryContext(ctx, query, args)
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.c.note(query)
	return c.full.ExecContext(ctx, query, args)
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.c.note("BEGIN")
	return c.full.BeginTx(ctx, opts)
}
