//go:build cgo

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// readers is how many connections read while the writer writes.
const readers = 4

// Open opens the database at path, creating the file if need be, and runs the
// migrations that are missing. Nil opts are the defaults. path is a file's path,
// ":memory:" (a database of this store alone, gone when it is closed) or a file:
// URI; a question mark begins parameters, and those that would make the database
// unsafe are refused. ctx bounds the opening only.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkVersion(libraryVersion()); err != nil {
		return nil, err
	}
	sync, err := opts.Synchronous.orDefault()
	if err != nil {
		return nil, err
	}
	d, err := parse(path)
	if err != nil {
		return nil, err
	}
	s := &Store{writer: pool(d.with(writing, sync), !d.memory, 1)}
	s.reader = s.writer
	if !d.memory {
		s.reader = pool(d.with(reading, ""), false, readers)
	}
	if err := s.open(ctx, opts); err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, opts *Options) (err error) {
	s.Store, err = sqlstore.New(ctx, sqlstore.Config{
		Dialect:     sqlstore.SQLite,
		Outer:       s,
		Writer:      s.writer,
		Reader:      s.reader,
		Classify:    classify,
		Clock:       opts.Clock,
		Rand:        opts.Rand,
		Environment: opts.Environment,
		BlobDir:     opts.BlobDir,
		Prefix:      opts.TablePrefix,
		Migrations:  migrations(),
		Migrate:     opts.Migrate,
	})
	if err != nil {
		return err
	}
	return s.InTx(ctx, func(storage.Tx) error { return nil }) // the file can be written
}

// pool makes a handle with at most n connections, which it keeps.
func pool(name string, wal bool, n int) *sqlx.DB {
	db := sqlx.NewDb(sqlOpen(name, wal), "sqlite3")
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db
}
