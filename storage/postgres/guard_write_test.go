package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// hot claims n rows, batch by batch, and returns the share of them that was
// written without touching an index. It is taken back.
func (g *guarded) hot(n int) float64 {
	g.Helper()
	s := g.claiming(g.claimOf(batch, driver.Cursor{}))
	tx, err := g.DB().BeginTx(g.Context(), nil)
	if err != nil {
		g.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var updates, hot, updatesBefore, hotBefore int
	counters := func(updates, hot *int) {
		g.Helper()
		row := tx.QueryRowContext(g.Context(), `SELECT coalesce(sum(n_tup_upd), 0), coalesce(sum(n_tup_hot_upd), 0)
			FROM pg_stat_xact_user_tables WHERE relname = 'wide'`)
		if err := row.Scan(updates, hot); err != nil {
			g.Fatal(err)
		}
	}
	counters(&updatesBefore, &hotBefore)
	for range n / batch {
		if _, err := tx.ExecContext(g.Context(), s.text, s.args...); err != nil {
			g.Fatal(err)
		}
	}
	counters(&updates, &hot)
	if updates-updatesBefore != n {
		g.Fatalf("%d of %d updates", updates-updatesBefore, n)
	}
	return float64(hot-hotBefore) / float64(n)
}

func TestGuardClaimsAreHOTUpdates(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, emptyDSN(t))
	g.fill(sized(t, 10_000, 1_000_000), "served", driver.LaneNormal, noon, "")
	if share := g.hot(5000); share < 0.9 {
		t.Errorf("%.0f %% of the claims are HOT", 100*share)
	} else {
		t.Logf("%.0f %% of the claims are HOT", 100*share)
	}
	exec(t, g.DB(), "CREATE INDEX bad ON wide (status)")
	if share := g.hot(5000); share != 0 {
		t.Errorf("%.0f %% with an index on status; this guard guards nothing", 100*share)
	}
}

// touchedSQL are the indexes that depend on a column that claims write: as a
// key, included, in an expression or in the predicate.
const touchedSQL = `SELECT DISTINCT c.relname || ': ' || a.attname FROM pg_index i
	JOIN pg_class c ON c.oid = i.indexrelid
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
		AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
	JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
	WHERE a.attname IN ('status', 'version', 'lease_expires_on', 'claim_token', 'abandoned')
		AND c.relnamespace = 'public'::regnamespace ORDER BY 1`

func TestGuardNoIndexHasAColumnThatClaimsWrite(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, emptyDSN(t))
	if diff := cmp.Diff([]string(nil), column(t, g, touchedSQL)); diff != "" {
		t.Errorf("indexes that end HOT claims: %s", diff)
	}
	exec(t, g.DB(),
		"CREATE INDEX bad_1 ON wide (status)",
		"CREATE INDEX bad_2 ON wide (id) INCLUDE (version)",
		"CREATE INDEX bad_3 ON wide (id) WHERE lease_expires_on IS NOT NULL",
		"CREATE INDEX bad_4 ON wide (lower(claim_token))")
	want := []string{"bad_1: status", "bad_2: version", "bad_3: lease_expires_on", "bad_4: claim_token"}
	if diff := cmp.Diff(want, column(t, g, touchedSQL)); diff != "" {
		t.Errorf("this guard overlooks: %s", diff)
	}
}

func column(t testing.TB, g *guarded, query string) (out []string) {
	t.Helper()
	rows, err := g.DB().QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// quiet are settings of a server that writes no WAL of its own accord.
var quiet = map[string]string{"autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0", "checkpoint_timeout": "1h"}

func TestGuardRepeatedEnsureWritesNothing(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, ownServer(t, &pgtest.Options{Settings: quiet}).Database(t))
	rows := make([]*wide, 1000)
	for i, r := range dueTasks(len(rows)) {
		rows[i] = &wide{Due: r.Due}
	}
	ensure := func(rows []*wide, want driver.Outcome) (wal int64) {
		t.Helper()
		const position = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
		before := scan[int64](t, g.DB(), position)
		err := g.InTx(t.Context(), func(tx driver.Tx) error {
			ensured, err := wides.Ensure(t.Context(), tx, unchanged, rows...)
			for _, e := range ensured {
				if e.Outcome != want {
					t.Fatalf("%s instead of %s", e.Outcome, want)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return scan[int64](t, g.DB(), position) - before
	}
	if wal := ensure(rows, driver.Created); wal < 100_000 {
		t.Errorf("creating wrote %d bytes; this guard guards nothing", wal)
	}
	exec(t, g.DB(), "VACUUM wide") // reading sets hint bits on pages else
	ensure(rows, driver.Unchanged) // from now on it reads first
	if wal := ensure(rows, driver.Unchanged); wal != 0 {
		t.Errorf("repeating wrote %d bytes", wal)
	}
}

// The guards hold the shapes that make the adapter fast. They count what the
// server does, since times on a shared machine say little.

// wide is a row as the domains have them: twenty columns, 300 to 400 bytes.
type wide struct {
	driver.Due
	SettingID    string    `db:"setting_id"`
	SourceType   string    `db:"source_type"`
	SourceID     string    `db:"source_id"`
	InputHash    string    `db:"input_hash"`
	BusinessUnit string    `db:"business_unit"`
	RetryCount   int64     `db:"retry_count"`
	ScheduledOn  time.Time `db:"scheduled_on"`
	NextRetryOn  time.Time `db:"next_retry_on"`
	Details      []string  `db:"details,json"`
}

var wides = driver.Define[wide]("wide")

// sized is how many rows a guard has, in the usual form and in the full one.
func sized(t testing.TB, usual, long int) int {
	if testlevel.Has(t, testlevel.Nightly) {
		return long
	}
	return usual
}

// guarded is a store with a table of wide rows.
type guarded struct {
	testing.TB
	*Store
	*recorder
}

func newGuarded(t testing.TB, dsn string) *guarded {
	t.Helper()
	testlevel.Need(t, testlevel.Nightly)
	s, r := recorded(t, pgtest.With(t, dsn, "application_name", "guard"), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	if err := sqlstore.CreateTable(t.Context(), s.Store, &wides.Schema); err != nil {
		t.Fatal(err)
	}
	return &guarded{t, s, r}
}

// fill loads rows, changes them by SQL that sets columns unless it is empty, and
// tidies up as autovacuum would.
func (g *guarded) fill(n int, rowType string, lane int16, first time.Time, change string) {
	g.Helper()
	g.load(n, rowType, lane, first)
	if change != "" {
		exec(g, g.DB(), fmt.Sprintf("UPDATE wide SET %s WHERE kind = '%s' AND lane = %d", change, rowType, lane))
	}
	exec(g, g.DB(), "VACUUM (ANALYZE) wide")
}

// load adds n rows of a type and lane in due order, a second apart from first
// on, with keys of 120 characters.
func (g *guarded) load(n int, rowType string, lane int16, first time.Time) {
	g.Helper()
	exec(g, g.DB(), fmt.Sprintf(`INSERT INTO wide (scope, key, kind, status, version, lane, due_on, claim_token, abandoned,
			setting_id, source_type, source_id, input_hash, business_unit, retry_count, scheduled_on, details)
		SELECT '', rpad('%[2]s-%[3]d-' || g, 120, 'x'), '%[2]s', 'Ready', 1, %[3]d, '%[4]s'::timestamptz + g * interval '1 second', '', false,
			'setting', 'employee', g::text, md5(g::text) || md5(g::text), 'unit', 0, '%[4]s'::timestamptz, '["a"]'
		FROM generate_series(1, %[1]d) AS g`, n, rowType, lane, first.Format(time.RFC3339)))
}

// far is later than every moment at which rows of a guard are due.
var far = noon.AddDate(1, 0, 0)

// claimOf is a claim of rows of the type served, when all are due.
func (g *guarded) claimOf(n int, after driver.Cursor) driver.Claim {
	c := claimOf("guard", n)
	c.Kinds, c.Now, c.LeaseUntil = []string{"served", "another"}, far, far.Add(time.Minute)
	c.Lanes[0].After = after
	return c
}

var errTakeBack = errors.New("take back")

// claiming is the statement of a claim, which is taken back.
func (g *guarded) claiming(c driver.Claim) statement {
	g.Helper()
	seen := g.during(g, "UPDATE", func() {
		err := g.InTx(g.Context(), func(tx driver.Tx) error {
			if _, err := wides.Claim(g.Context(), tx, c); err != nil {
				return err
			}
			return errTakeBack
		})
		wantErr(g, err, errTakeBack)
	})
	exec(g, g.DB(), "VACUUM wide")
	return seen[0]
}

// mustClaim claims n rows for good.
func (g *guarded) mustClaim(ctx context.Context, c driver.Claim, n int) (rows []*wide) {
	g.Helper()
	err := g.InTx(ctx, func(tx driver.Tx) (err error) {
		rows, err = wides.Claim(ctx, tx, c)
		return err
	})
	if err != nil || len(rows) != n {
		g.Fatalf("claimed %d of %d rows: %v", len(rows), n, err)
	}
	return rows
}
