package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// inFolder calls f with the path of a database that is removed afterwards.
func inFolder(f func(path string) error) {
	dir, err := os.MkdirTemp("", "belfry")
	if err == nil {
		err = errors.Join(f(filepath.Join(dir, "app.db")), os.RemoveAll(dir))
	}
	if err != nil {
		fmt.Println(err)
	}
}

func ExampleOpen() {
	inFolder(func(path string) error {
		ctx := context.Background()
		store, err := sqlite.Open(ctx, path, &sqlite.Options{Environment: "production"})
		if err != nil {
			return err
		}
		defer store.Close()
		id, err := store.Identity(ctx)
		fmt.Println(id.Environment, id.Copied())
		return err
	})
	// Output: production false
}

// What is written through the bound transaction is committed with the host's own
// rows, or not at all.
func ExampleStore_InHostTx() {
	inFolder(func(path string) error {
		ctx := context.Background()
		store, err := sqlite.Open(ctx, path, nil)
		if err != nil {
			return err
		}
		defer store.Close()
		letter, err := store.Blobs().Put(ctx, strings.NewReader("Dear Sam"))
		if err != nil {
			return err
		}
		err = store.InHostTx(ctx, func(ctx context.Context, tx *sql.Tx, bound storage.Tx) error {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE attachment (blob TEXT)"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO attachment VALUES (?)", letter.Name); err != nil {
				return err
			}
			return store.Blobs().Keep(ctx, bound, storage.Owned{Table: "attachment", Key: letter.Name, Refs: []storage.Ref{letter}})
		})
		if err != nil {
			return err
		}
		body, err := store.Blobs().Open(ctx, letter, 5)
		if err != nil {
			return err
		}
		defer body.Close()
		name, err := io.ReadAll(body)
		fmt.Printf("%s\n", name)
		return err
	})
	// Output: Sam
}

func ExampleExportMigrations() {
	var sql strings.Builder
	if err := sqlite.ExportMigrations(&sql, "app_"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Contains(sql.String(), `CREATE TABLE "app_blob" (`))
	// Output: true
}
