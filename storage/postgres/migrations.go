package postgres

import (
	"embed"
	"io"
	"io/fs"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

//go:embed migrations/*.sql
var embedded embed.FS

func migrations() fs.FS {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		panic(err) // the name is constant and valid
	}
	return files
}

// ExportMigrations writes the SQL of all migrations, for a host that runs them
// with its own tool and opens the store with MigrateVerify. schema and prefix
// are Options.Schema and Options.TablePrefix; the schema must exist.
func ExportMigrations(w io.Writer, schema, prefix string) error {
	return sqlstore.Export(w, sqlstore.PostgreSQL, schema, prefix, migrations())
}
