package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	_ "github.com/lib/pq" // the driver that creates, empties and drops
)

// adminTimeout bounds creating, emptying and dropping a database.
const adminTimeout = time.Minute

func newName() string { return fmt.Sprintf("belfry_test_%016x", rand.Uint64()) }

// createDatabase makes an empty database on a server and returns its name.
func createDatabase(server *url.URL) (string, error) {
	name := newName()
	if err := admin(server, "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		return "", fmt.Errorf("pgtest: create database: %w", err)
	}
	return name, nil
}

// dropDatabase drops it, and ends the sessions it has.
func dropDatabase(server *url.URL, name string) error {
	if err := admin(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("pgtest: drop database: %w", err)
	}
	return nil
}

// recycleDatabase empties a database and returns its new name: who still has
// the old one must not meet the next test. It is several times as fast as
// dropping and creating, which copies about a thousand files. An error means
// that the database is better dropped.
func recycleDatabase(server *url.URL, name string) (string, error) {
	fresh := newName()
	err := admin(server, fmt.Sprintf(`
		SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = '%[1]s' AND backend_type = 'client backend';
		ALTER DATABASE %[1]s RENAME TO %[2]s;
		ALTER DATABASE %[2]s RESET ALL`, name, fresh))
	if err != nil {
		return name, err
	}
	return fresh, admin(inDatabase(server, fresh), `
		DO $$ DECLARE found name; BEGIN
			FOR found IN SELECT nspname FROM pg_namespace
				WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%'
			LOOP
				EXECUTE format('DROP SCHEMA %I CASCADE', found);
			END LOOP;
		END $$;
		CREATE SCHEMA public AUTHORIZATION pg_database_owner;
		GRANT USAGE ON SCHEMA public TO PUBLIC`)
}

func admin(server *url.URL, statements string) error {
	db, err := sql.Open("postgres", server.String())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	_, err = db.ExecContext(ctx, statements)
	return errors.Join(err, db.Close())
}

// inDatabase is the URL of another database on the server.
func inDatabase(server *url.URL, name string) *url.URL {
	u := *server
	u.Path = "/" + name
	return &u
}
