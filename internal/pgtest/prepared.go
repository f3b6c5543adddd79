package pgtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"testing"

	"github.com/belfry-go/belfry/storage/postgres/migrations"
)

// Prepared is DSN for a copy of a database that prepare has prepared, which makes the
// tables, for instance. It does so once per cluster: what names how, among all tests of
// all packages, and with Belfry's migrations it names the template. A server that is not
// ours keeps no template: there the database is empty.
func Prepared(t testing.TB, what string, prepare func(ctx context.Context, dsn string) error) string {
	t.Helper()
	if os.Getenv("BELFRY_POSTGRES_DSN") != "" {
		return DSN(t)
	}
	server := sharedCluster(t)
	template, err := templateName(what)
	if err != nil {
		t.Fatal(err)
	}
	name, err := copyDatabase(server, template.String())
	if failedAs(err, "invalid_catalog_name") { // there is no such database
		if err := template.make(server, prepare); err != nil {
			t.Fatal(err)
		}
		name, err = copyDatabase(server, template.String())
	}
	return until(t, server, name, err)
}

// template is a database that others are copies of, and its lock.
type template uint64

func (t template) String() string { return fmt.Sprintf("belfry_template_%016x", uint64(t)) }

// templateName names the template of what, with the migrations as they are.
func templateName(what string) (template, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q", what)
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(h, "%q%q", name, text)
	}
	return template(binary.BigEndian.Uint64(h.Sum(nil))), nil
}

// make makes the template, unless another test does. It has its name only once it is
// whole.
func (t template) make(server *url.URL, prepare func(ctx context.Context, dsn string) error) error {
	return session(server, func(ctx context.Context, db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(t)); err != nil { // until the session ends
			return err
		}
		var made bool
		if err := db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", t.String()).Scan(&made); made || err != nil {
			return err
		}
		name, err := copyDatabase(server, "template0")
		if err != nil {
			return err
		}
		if err := prepare(ctx, inDatabase(server, name).String()); err != nil {
			return errors.Join(err, dropDatabase(server, name))
		}
		// Without sessions, which would forbid to copy it.
		if err := admin(server, "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false"); err != nil {
			return err
		}
		return admin(server, "ALTER DATABASE "+name+" RENAME TO "+t.String())
	})
}
