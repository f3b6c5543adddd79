package storetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// The adapters' own tests show that opening a store makes its tables. Here that is done
// once for a process.

var migrationsOfPostgres = sync.OnceValues(func() (string, error) {
	var text strings.Builder
	err := postgres.ExportMigrations(&text, "", "")
	return text.String(), err
})

// prepareSQLite makes a file with the tables of a store.
func prepareSQLite(path string) error {
	content, err := migratedSQLite()
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

var migratedSQLite = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "belfry-storetest-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "belfry.db")
	store, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil { // which moves the log into the file
		return nil, err
	}
	return os.ReadFile(path)
})
