package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
)

// prepared are databases that tests have given back as they were when they had been
// prepared, by what for.
var prepared struct {
	sync.Mutex
	free map[string][]*preparation
}

// preparation is a database that has been prepared.
type preparation struct {
	name   string
	newest uint64   // the object identifier of what was made last
	filled []string // tables that have had rows since then, quoted
	state  string   // see catalogs
}

// Prepared is DSN for a database that prepare has prepared, which makes its tables, for
// instance; what names how it does so, among the tests of this process. Most tests leave
// the tables as they were: then the next one gets them emptied, in a fifth of the time
// that they take to make. A server that is not ours gives an empty database.
func Prepared(t testing.TB, what string, prepare func(ctx context.Context, dsn string) error) string {
	t.Helper()
	if server := os.Getenv("BELFRY_POSTGRES_DSN"); server != "" {
		return createOn(t, server)
	}
	server := parse(t, sharedServer(t).DSN())
	p := takePrepared(what)
	if p == nil {
		p = &preparation{}
		var err error
		if p.name, err = freeOrCreated(server); err != nil {
			t.Fatal(err)
		}
		if err := prepare(t.Context(), inDatabase(server, p.name).String()); err != nil {
			t.Fatal(err)
		}
		if err := p.within(server, p.remember); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := p.reset(server); err == nil {
			prepared.Lock()
			defer prepared.Unlock()
			prepared.free[what] = append(prepared.free[what], p)
		} else if err := recycle(server, p.name); err != nil {
			t.Error(err)
		}
	})
	return inDatabase(server, p.name).String()
}

func takePrepared(what string) *preparation {
	prepared.Lock()
	defer prepared.Unlock()
	if prepared.free == nil {
		prepared.free = map[string][]*preparation{}
	}
	free := prepared.free[what]
	if len(free) == 0 {
		return nil
	}
	prepared.free[what] = free[:len(free)-1]
	return free[len(free)-1]
}

// remember looks at what preparing has made.
func (p *preparation) remember(ctx context.Context, db *sql.DB) (err error) {
	if err := db.QueryRowContext(ctx, "SELECT max(oid) FROM pg_class").Scan(&p.newest); err != nil {
		return err
	}
	if p.filled, err = names(ctx, db, "SELECT c.oid::regclass::text FROM "+ours+" AND pg_relation_size(c.oid) > 0"); err != nil {
		return err
	}
	p.state, err = p.now(ctx, db)
	return err
}

// reset takes away what a test has put into the tables, and has added to them. It is
// an error if it has changed anything else.
func (p *preparation) reset(server *url.URL) error {
	fresh, err := rename(server, p.name)
	if err != nil {
		return err
	}
	p.name = fresh
	return p.within(server, func(ctx context.Context, db *sql.DB) error {
		added, err := names(ctx, db, fmt.Sprintf("SELECT c.oid::regclass::text FROM %s AND c.oid > %d", ours, p.newest))
		if err != nil {
			return err
		}
		if len(added) > 0 {
			if _, err := db.ExecContext(ctx, "DROP TABLE "+strings.Join(added, ", ")); err != nil {
				return err
			}
		}
		if state, err := p.now(ctx, db); err != nil || state != p.state {
			return errors.Join(err, errChanged)
		}
		used, err := names(ctx, db, "SELECT c.oid::regclass::text FROM "+ours+` AND (pg_relation_size(c.oid) > 0 OR EXISTS (
			SELECT FROM pg_depend AS d JOIN pg_sequence AS s ON s.seqrelid = d.objid
			WHERE d.refobjid = c.oid AND d.refclassid = 'pg_class'::regclass AND pg_sequence_last_value(s.seqrelid) IS NOT NULL))
			AND c.oid::regclass::text <> ALL ('{`+strings.Join(p.filled, ",")+`}')`)
		if err != nil {
			return err
		}
		if len(used) > 0 {
			if _, err := db.ExecContext(ctx, "TRUNCATE "+strings.Join(used, ", ")+" RESTART IDENTITY"); err != nil {
				return err
			}
		}
		if _, err := db.ExecContext(ctx, "SELECT pg_stat_reset()"); err != nil {
			return err
		}
		p.state, err = p.now(ctx, db)
		return err
	})
}

var errChanged = errors.New("pgtest: a test has changed its tables")

// ours are the tables of a database that are no system's.
const ours = `pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'`

// catalogs tell what there is in a database but rows of tables: how many objects, and
// in which transaction the last of them was made or changed.
const catalogs = `SELECT string_agg(concat_ws(' ', name, n, at), ', ' ORDER BY name) FROM (
	SELECT 'class' AS name, count(*) AS n, max(xmin::text::bigint) AS at FROM pg_class WHERE oid > 16383
	UNION ALL SELECT 'attribute', count(*), max(xmin::text::bigint) FROM pg_attribute WHERE attrelid > 16383
	UNION ALL SELECT 'attrdef', count(*), max(xmin::text::bigint) FROM pg_attrdef
	UNION ALL SELECT 'index', count(*), max(xmin::text::bigint) FROM pg_index WHERE indexrelid > 16383
	UNION ALL SELECT 'constraint', count(*), max(xmin::text::bigint) FROM pg_constraint WHERE oid > 16383
	UNION ALL SELECT 'namespace', count(*), max(xmin::text::bigint) FROM pg_namespace
	UNION ALL SELECT 'type', count(*), max(xmin::text::bigint) FROM pg_type WHERE oid > 16383
	UNION ALL SELECT 'proc', count(*), max(xmin::text::bigint) FROM pg_proc WHERE oid > 16383
	UNION ALL SELECT 'trigger', count(*), max(xmin::text::bigint) FROM pg_trigger
	UNION ALL SELECT 'event trigger', count(*), max(xmin::text::bigint) FROM pg_event_trigger
	UNION ALL SELECT 'rule', count(*), max(xmin::text::bigint) FROM pg_rewrite WHERE oid > 16383
	UNION ALL SELECT 'policy', count(*), max(xmin::text::bigint) FROM pg_policy
	UNION ALL SELECT 'extension', count(*), max(xmin::text::bigint) FROM pg_extension
	UNION ALL SELECT 'publication', count(*), max(xmin::text::bigint) FROM pg_publication
	UNION ALL SELECT 'privileges', count(*), max(xmin::text::bigint) FROM pg_default_acl
	UNION ALL SELECT 'large object', count(*), max(xmin::text::bigint) FROM pg_largeobject_metadata
	UNION ALL SELECT 'statistic', count(*), max(xmin::text::bigint) FROM pg_statistic WHERE starelid > 16383
	UNION ALL SELECT 'extended statistic', count(*), max(xmin::text::bigint) FROM pg_statistic_ext) AS everything`

// now is what there is, with the rows that preparing has put in.
func (p *preparation) now(ctx context.Context, db *sql.DB) (string, error) {
	parts := []string{"(" + catalogs + ")"}
	for _, table := range p.filled {
		parts = append(parts, "(SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM "+table+" AS t)")
	}
	var state string
	err := db.QueryRowContext(ctx, "SELECT concat_ws(' ', "+strings.Join(parts, ", ")+")").Scan(&state)
	return state, err
}

// within opens the database for a moment.
func (p *preparation) within(server *url.URL, do func(context.Context, *sql.DB) error) error {
	db, err := sql.Open("postgres", inDatabase(server, p.name).String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	return errors.Join(do(ctx, db), db.Close())
}

func names(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}
