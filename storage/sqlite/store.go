package sqlite

import (
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// Store is a storage.Store on an SQLite file. Its methods may be called from any
// number of goroutines.
type Store struct {
	*sqlstore.Store
	writer, reader *sqlx.DB
}

// DB returns the one writing connection, whose transactions begin IMMEDIATE.
// Statements on it wait for the store's own transactions, and these for them.
func (s *Store) DB() *sql.DB { return s.writer.DB }

// Close closes the connections. Nothing may use the store any more. Closing
// twice is allowed.
func (s *Store) Close() error {
	return errors.Join(s.reader.Close(), s.writer.Close())
}
