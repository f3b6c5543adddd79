package main

import (
	"context"
	"database/sql"
	"io"
	"os"
	"path/filepath"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/file"
	"github.com/belfry-go/belfry/notify/channel/smtp"
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

// openStore opens SQLite or PostgreSQL. The clock is a mock, since months pass in
// seconds here; a real program leaves it out.
func openStore(ctx context.Context, s settings, clk clock.Clock) (database, error) {
	if s.dsn != "" {
		return postgres.Open(ctx, s.dsn, &postgres.Options{Clock: clk})
	}
	if err := os.MkdirAll(filepath.Dir(s.db), 0o755); err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, s.db, &sqlite.Options{Clock: clk})
}

// openMail writes mails into a folder, or sends them to a mail server.
func openMail(s settings) (notify.Channel, error) {
	if s.smtp == "" {
		return file.New(s.out, nil), nil
	}
	return smtp.New(s.smtp, &smtp.Options{From: "office@school.example", TLS: smtp.NoTLS})
}
