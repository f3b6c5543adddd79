package storetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
)

// Statements are those that reach a database, BEGIN and COMMIT included.
type Statements struct {
	mu         sync.Mutex
	statements []string
}

// Take returns the statements since the last Take.
func (c *Statements) Take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.statements
	c.statements = nil
	return taken
}

func (c *Statements) note(statement string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements = append(c.statements, statement)
}

// CountStatements is sql.OpenDB, noting what passes through. The connections of connector
// have to implement QueryerContext, ExecerContext and ConnBeginTx.
func CountStatements(connector driver.Connector) (*sql.DB, *Statements) {
	c := &Statements{}
	return sql.OpenDB(&countingConnector{connector, c}), c
}

type countingConnector struct {
	driver.Connector
	c *Statements
}

func (w *countingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countingConn{inner.(fullConn), w.c}, nil
}

type fullConn interface {
	driver.Conn
	driver.QueryerContext
	driver.ExecerContext
	driver.ConnBeginTx
}

type countingConn struct {
	fullConn
	c *Statements
}

func (c *countingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.c.note(query)
	return c.fullConn.QueryContext(ctx, query, args)
}

func (c *countingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.c.note(query)
	return c.fullConn.ExecContext(ctx, query, args)
}

func (c *countingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.c.note("BEGIN")
	return c.fullConn.BeginTx(ctx, opts)
}
