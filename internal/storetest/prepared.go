package storetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/belfry-go/belfry/storage/sqlite"
)

// prepareSQLite makes a file with the tables of a store, a copy of the first one.
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
