package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// The guards hold the shapes that make the adapter fast. They count what the
// server does, since times on a shared machine say little.

// wide is a row as the domains have them: twenty columns, 300 to 400 bytes.
type wide struct {
	driver.Record
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
	if testlevel.Has(t, testlevel.Full) {
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
	testlevel.Need(t, testlevel.All)
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
		exec(g, g.DB(), fmt.Sprintf("UPDATE wide SET %s WHERE type = '%s' AND lane = %d", change, rowType, lane))
	}
	exec(g, g.DB(), "VACUUM (ANALYZE) wide")
}

// load adds n rows of a type and lane in due order, a second apart from first
// on, with keys of 120 characters.
func (g *guarded) load(n int, rowType string, lane int16, first time.Time) {
	g.Helper()
	exec(g, g.DB(), fmt.Sprintf(`INSERT INTO wide (scope, key, type, status, version, lane, due_on, claim_token, abandoned,
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
	c.Types, c.Now, c.LeaseUntil = []string{"served", "another"}, far, far.Add(time.Minute)
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
