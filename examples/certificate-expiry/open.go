package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

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

// openSchool opens the database at a moment and starts the school on it. wrap, if
// it is not nil, decorates the channel. The caller closes the database.
func openSchool(ctx context.Context, s settings, now time.Time, wrap func(notify.Channel) notify.Channel) (database, *clock.Mock, *school, error) {
	clk := clock.NewMock()
	clk.Set(now)
	mail, err := openMail(s)
	if err != nil {
		return nil, nil, nil, err
	}
	if wrap != nil {
		mail = wrap(mail)
	}
	store, err := openStore(ctx, s, clk)
	if err != nil {
		return nil, nil, nil, err
	}
	school, err := newSchool(store, mail)
	if err != nil {
		return nil, nil, nil, errors.Join(err, store.Close())
	}
	return store, clk, school, nil
}

// openMail writes mails into a folder, or sends them to a mail server.
func openMail(s settings) (notify.Channel, error) {
	if s.smtp == "" {
		return file.New(s.out, nil), nil
	}
	return smtp.New(s.smtp, &smtp.Options{From: "office@school.example", TLS: smtp.NoTLS})
}
