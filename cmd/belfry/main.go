// Command belfry looks after a database of Belfry that a DSN names, without a host's
// program: see package cli, and docs/support.md for what it can do and what it leaves to that.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	_ "time/tzdata" // machines without zone data

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/cli"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

func main() {
	d := &database{}
	os.Exit(cli.Main(&cli.App{Open: d.open, OpenStore: d.openStore, Flags: d.flags}))
}

// database is what the flags name.
type database struct{ dsn, schema, prefix string }

func (d *database) flags(s *flag.FlagSet) {
	s.StringVar(&d.dsn, "dsn", os.Getenv("BELFRY_DSN"), "the `database`: postgres://… or the path of an SQLite file; default $BELFRY_DSN")
	s.StringVar(&d.schema, "schema", "", "the `schema` of the tables, on PostgreSQL")
	s.StringVar(&d.prefix, "prefix", "", "the `prefix` of the tables' names")
}

func (d *database) open(ctx context.Context, migrate bool) (*cli.Services, error) {
	store, closes, err := d.store(ctx, migrate)
	if err != nil {
		return nil, err
	}
	out := notify.New(store, nil)
	return &cli.Services{
		Options: support.Options{Store: store, Automation: automation.New(store, out, nil), Notify: out, Survey: survey.New(store, out, nil)},
		Bare:    true, Close: closes,
	}, nil
}

// openStore opens another database, whose tables have the same schema and prefix where that
// can be.
func (d *database) openStore(ctx context.Context, dsn string) (storage.Store, func() error, error) {
	return (&database{dsn: dsn, schema: d.schema, prefix: d.prefix}).store(ctx, false)
}

func (d *database) store(ctx context.Context, migrate bool) (storage.Store, func() error, error) {
	how := sqlite.MigrateVerify
	if migrate {
		how = sqlite.MigrateAuto
	}
	switch {
	case d.dsn == "":
		return nil, nil, errors.New("no database is named: give -dsn before the command, or set BELFRY_DSN")
	case strings.HasPrefix(d.dsn, "postgres://"), strings.HasPrefix(d.dsn, "postgresql://"), strings.Contains(d.dsn, "host="):
		s, err := postgres.Open(ctx, d.dsn, &postgres.Options{Migrate: how, Schema: d.schema, TablePrefix: d.prefix})
		if err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	if _, err := os.Stat(d.dsn); err != nil && !migrate && !strings.HasPrefix(d.dsn, "file:") {
		return nil, nil, errors.New("the file does not exist; the command migrate creates it")
	}
	s, err := sqlite.Open(ctx, d.dsn, &sqlite.Options{Migrate: how, TablePrefix: d.prefix})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}
