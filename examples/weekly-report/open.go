package main

import (
	"context"
	"database/sql"
	"io"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// database is what both adapters give.
type database interface {
	storage.Store
	io.Closer
	DB() *sql.DB
}

func openStore(ctx context.Context, s settings, clk clock.Clock) (database, error) {
	if s.dsn != "" {
		return postgres.Open(ctx, s.dsn, &postgres.Options{Clock: clk})
	}
	return sqlite.Open(ctx, s.db, &sqlite.Options{Clock: clk})
}
