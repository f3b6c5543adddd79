package sqlstore_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// bell and rope are two steps of a history; both dialects understand them.
var (
	bell = map[string]string{"0001_bell.sql": "CREATE TABLE {bell} (n bigint_type);\nINSERT INTO {bell} VALUES (1);\n"}
	rope = map[string]string{"0002_rope.sql": "CREATE TABLE {rope} (n bigint_type); CREATE INDEX {index:rope_n} ON {rope} (n);\n"}
)

// files are migrations from several maps.
func files(parts ...map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for _, part := range parts {
		for name, text := range part {
			all[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, "bigint_type", "bigint"))}
		}
	}
	return all
}

func (d database) migrate(t testing.TB, how sqlstore.Migrate, parts ...map[string]string) error {
	t.Helper()
	_, err := d.store(t, func(c *sqlstore.Config) { c.Migrate, c.Migrations = how, files(parts...) })
	return err
}

func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want an error with %q", err, part)
		}
	}
}

func TestAutoRunsWhatIsMissing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		for _, parts := range [][]map[string]string{{bell}, {bell, rope}, {bell, rope}, {bell}} {
			if err := d.migrate(t, sqlstore.MigrateAuto, parts...); err != nil {
				t.Fatal(err)
			}
		}
		db := d.handle(t)
		if n := scan[int](t, db, "SELECT count(*) FROM bell"); n != 1 {
			t.Errorf("the first migration ran %d times", n)
		}
		var recorded []string
		if err := db.Select(&recorded, "SELECT file FROM schema_migration WHERE applied_on IS NOT NULL ORDER BY number"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"0001_bell.sql", "0002_rope.sql"}, recorded); diff != "" {
			t.Error(diff)
		}
	})
}

// Many processes are started at once and find an empty database.
func TestProcessesThatStartAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := d.migrate(t, sqlstore.MigrateAuto, bell, rope); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := scan[int](t, d.handle(t), "SELECT count(*) FROM bell"); n != 1 {
			t.Errorf("the first migration ran %d times", n)
		}
	})
}

func TestAMigrationHappensWhollyOrNotAtAll(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		bad := map[string]string{"0002_bad.sql": "CREATE TABLE {half} (n bigint_type); CREATE TABLE {half} (n bigint_type);"}
		wantError(t, d.migrate(t, sqlstore.MigrateAuto, bell, bad), "migration 0002_bad.sql")
		db := d.handle(t)
		if _, err := db.Exec("SELECT * FROM half"); err == nil {
			t.Error("half of a migration was committed")
		}
		if n := scan[int](t, db, "SELECT count(*) FROM bell"); n != 1 {
			t.Errorf("the migration before it ran %d times", n)
		}
		if err := d.migrate(t, sqlstore.MigrateAuto, bell, rope); err != nil {
			t.Errorf("the mended migration: %v", err)
		}
	})
}

func TestVerifyNamesWhatIsMissingAndRunsNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		wantError(t, d.migrate(t, sqlstore.MigrateVerify, bell, rope), "0001_bell.sql, 0002_rope.sql")
		if err := d.migrate(t, sqlstore.MigrateAuto, bell); err != nil {
			t.Fatal(err)
		}
		err := d.migrate(t, sqlstore.MigrateVerify, bell, rope)
		wantError(t, err, "0002_rope.sql")
		if strings.Contains(err.Error(), "0001_bell.sql") {
			t.Errorf("it names one that was applied: %v", err)
		}
	})
}

// Replicas of a program are replaced one at a time, so an old one meets the
// tables of a newer one.
func TestVerifyAcceptsANewerDatabase(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		if err := d.migrate(t, sqlstore.MigrateAuto, bell, rope); err != nil {
			t.Fatal(err)
		}
		for _, how := range []sqlstore.Migrate{sqlstore.MigrateVerify, sqlstore.MigrateAuto, sqlstore.MigrateOff} {
			if err := d.migrate(t, how, bell); err != nil {
				t.Errorf("%s: %v", how, err)
			}
		}
	})
}

func TestAnEditedMigrationIsAnError(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		if err := d.migrate(t, sqlstore.MigrateAuto, bell); err != nil {
			t.Fatal(err)
		}
		edited := map[string]string{"0001_bell.sql": "CREATE TABLE {bell} (m bigint_type);"}
		for _, how := range []sqlstore.Migrate{sqlstore.MigrateAuto, sqlstore.MigrateVerify} {
			wantError(t, d.migrate(t, how, edited, rope), "0001_bell.sql", "must not be edited")
		}
	})
}

func TestHostsRunTheExportWithTheirOwnTool(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		var sql bytes.Buffer
		if err := sqlstore.Export(&sql, d.dialect, "", "pre_", files(bell, rope)); err != nil {
			t.Fatal(err)
		}
		db := d.handle(t)
		d.exec(t, db, sql.String())
		_, err := d.store(t, func(c *sqlstore.Config) {
			c.Migrate, c.Migrations, c.Prefix = sqlstore.MigrateVerify, files(bell, rope), "pre_"
		})
		if err != nil {
			t.Error(err)
		}
		if n := scan[int](t, db, "SELECT count(*) FROM pre_bell"); n != 1 {
			t.Errorf("%d rows in the exported table", n)
		}
	})
}

func TestMigrationsThatAreNotInOrderAreRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		twice := map[string]string{"0001_rope.sql": ""}
		wantError(t, d.migrate(t, sqlstore.MigrateAuto, bell, twice), "0001_bell.sql and 0001_rope.sql")
		wantError(t, d.migrate(t, sqlstore.MigrateAuto, map[string]string{"1_bell.sql": ""}), "1_bell.sql")
		wantError(t, d.migrate(t, "always", bell), `"always"`)
	})
}

func TestSchemaAndPrefixAreInEveryName(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d database) {
		bellName := "pre_bell"
		for range 2 { // the second time the schema exists
			_, err := d.store(t, func(c *sqlstore.Config) {
				c.Migrate, c.Migrations, c.Prefix = sqlstore.MigrateAuto, files(bell, rope), "pre_"
				if d.dialect == sqlstore.PostgreSQL {
					c.Schema, bellName = "tower", "tower.pre_bell"
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := scan[int](t, d.handle(t), "SELECT count(*) FROM "+bellName); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestUnsafeNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`a"b`, "A", "1a", "a-b", strings.Repeat("a", 42)} {
		_, err := database{dialect: sqlstore.PostgreSQL, handle: nothing}.store(t, func(c *sqlstore.Config) { c.Prefix = bad })
		wantError(t, err, "table prefix", "does not match")
		_, err = database{dialect: sqlstore.PostgreSQL, handle: nothing}.store(t, func(c *sqlstore.Config) { c.Schema = bad })
		wantError(t, err, "schema", "does not match")
	}
	long := map[string]string{"0001_a.sql": "CREATE TABLE {a_table_with_quite_a_long_name} (n bigint_type)"}
	err := sqlstore.Export(&bytes.Buffer{}, sqlstore.PostgreSQL, "", strings.Repeat("a", 41), files(long))
	wantError(t, err, "too long for a_table_with_quite_a_long_name")
}
