package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/storage/internal/pgserver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// over is a host's pool as the shared SQL takes it.
func over(db *sql.DB) sqlstore.Pool { return sqlstore.NewDatabase(db, watch) }

// rawPool is a pool of plain lib/pq, as a host may have it.
func rawPool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestUnsafePoolersAreTold(t *testing.T) {
	t.Parallel()
	direct := emptyDSN(t)
	session := pgtest.Bouncer(t, direct, map[string]string{"pool_mode": "session"})
	transaction := pgtest.Bouncer(t, direct, nil)
	type finding struct{ Pooled, Refused bool }
	for name, c := range map[string]struct {
		dsn  string
		want finding
	}{
		"direct":                         {direct, finding{false, false}},
		"direct, one step":               {pgtest.With(t, direct, "binary_parameters", "yes"), finding{false, false}},
		"pooled by session":              {session, finding{false, false}},
		"pooled by transaction":          {transaction, finding{true, true}},
		"pooled by transaction, in one ": {pgtest.With(t, transaction, "binary_parameters", "yes"), finding{true, false}},
	} {
		pooled, err := pgserver.Check(t.Context(), over(rawPool(t, c.dsn)), false)
		var refused *ServerError
		got := finding{pooled, errors.As(err, &refused)}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil && !got.Refused {
			t.Errorf("%s: %s, %v", name, diff, err)
		}
	}
}

// wrapped is a host's pool of lib/pq, in one step, under another driver.
type wrapped struct {
	driver.Connector
	wrap func(pqConn) driver.Conn
}

func (w wrapped) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return w.wrap(inner.(pqConn)), nil
}

func wrappedPool(t *testing.T, dsn string, wrap func(pqConn) driver.Conn) *sql.DB {
	t.Helper()
	inner, err := pq.NewConnector(pgtest.With(t, dsn, "binary_parameters", "yes"))
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(wrapped{inner, wrap})
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// texting sends bytes as text, as a driver does that asks for the types of the
// parameters first.
type texting struct{ pqConn }

func (texting) CheckNamedValue(v *driver.NamedValue) error {
	if b, ok := v.Value.([]byte); ok {
		v.Value = string(b)
	}
	return nil
}

func TestSafePoolersAreTakenWhateverTheDriverMakesOfBytes(t *testing.T) {
	t.Parallel()
	db := wrappedPool(t, pgtest.Bouncer(t, emptyDSN(t), nil), func(c pqConn) driver.Conn { return texting{c} })
	if _, err := pgserver.Check(t.Context(), over(db), false); err != nil {
		t.Error(err)
	}
}

// misplaced fails as a driver does whose prepared statements are on another
// backend than it thinks.
type misplaced struct {
	pqConn
	state pqerror.Code
}

func (c misplaced) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) > 0 {
		return nil, &pq.Error{Code: c.state}
	}
	return c.pqConn.QueryContext(ctx, text, args)
}

func TestPreparedStatementsThatThePoolerMislaysAreTold(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Bouncer(t, emptyDSN(t), nil)
	for state, want := range map[pqerror.Code]bool{"26000": true, "42P05": true, "42501": false} {
		db := wrappedPool(t, dsn, func(c pqConn) driver.Conn { return misplaced{c, state} })
		var refused *ServerError
		if _, err := pgserver.Check(t.Context(), over(db), false); err == nil || errors.As(err, &refused) != want {
			t.Errorf("%s: %v", state, err)
		}
	}
}

func TestPoolOfOneConnectionIsNotHeldUp(t *testing.T) {
	t.Parallel()
	db := rawPool(t, emptyDSN(t))
	db.SetMaxOpenConns(1)
	if _, err := pgserver.Check(t.Context(), over(db), false); err != nil {
		t.Error(err)
	}
}

func TestSystemIdentifierIsEmptyWhereItMayNotBeAsked(t *testing.T) {
	t.Parallel()
	db := rawPool(t, emptyDSN(t))
	db.SetMaxOpenConns(1)
	id, err := pgserver.SystemIdentifier(t.Context(), over(db))
	if err != nil || id == "" {
		t.Errorf("a superuser got %q, %v", id, err)
	}
	for _, statement := range []string{
		"REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
		"SET ROLE pg_monitor",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := pgserver.SystemIdentifier(t.Context(), over(db)); err != nil || id != "" {
		t.Errorf("a role without the right got %q, %v", id, err)
	}
}
