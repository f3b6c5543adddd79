package pgserver

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

// WhoSQL asks a server who it is, for [Following.Admit]: the digits of its timeline, or
// what it is instead of a primary that takes writes. It is one text.
const WhoSQL = `SELECT CASE WHEN pg_is_in_recovery() THEN 'replica' WHEN current_setting('transaction_read_only') = 'on' THEN 'read-only' ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END`

// Admit takes in what the server of a new connection answered to [WhoSQL], or that it
// could not. It refuses a replica, a session that only reads, and a primary with a lower timeline than was seen:
// one that was stopped while another was promoted, and does not know it yet. What is
// written there is lost when it is demoted. If no other one is found it is admitted after
// half a minute.
func (f *Following) Admit(who string, err error) (timeline int64, _ error) {
	if err != nil {
		if state, _ := sqlState(err); notAllowed(state) {
			return 0, nil
		}
		return 0, err
	}
	switch who {
	case "replica":
		return 0, ErrReplica
	case "read-only":
		return 0, ErrReadOnly
	}
	if timeline, err = strconv.ParseInt(who, 16, 64); err != nil {
		return 0, fmt.Errorf("postgres: the server's timeline is %q", who)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, seen := f.now(), f.timeline.Load()
	switch {
	case timeline >= seen:
	case f.refused.IsZero():
		f.refused = now
		fallthrough
	case now.Sub(f.refused) < believed:
		return 0, &ServerError{fmt.Sprintf("the server is on timeline %d, and %d was seen: another primary has replaced it; "+
			"it is believed if no other one is found for %s", timeline, seen, believed), true}
	}
	f.refused = time.Time{}
	f.timeline.Store(timeline)
	return timeline, nil
}

// believed is for how long a primary is refused that seems to have been replaced. One that
// has been is demoted by then. One that still is the primary is so since the promotion of
// the other came to nothing, or since the database was restored: then what is forgotten is
// found by the store.
const believed = 30 * time.Second

// Outdated says that a connection with that timeline, or none, is to a primary that was
// replaced since.
func (f *Following) Outdated(timeline int64) bool {
	return timeline != 0 && timeline < f.timeline.Load()
}

// granting adds to an error of opening which rights the role lacks.
func granting(ctx context.Context, pool sqlstore.Pool, schema string, err error) error {
	if state, _ := sqlState(err); state != "42501" {
		return err
	}
	var role, database, in string
	var known bool
	asked := On(ctx, pool, func(c sqlstore.Runner) error {
		return row(ctx, c, "SELECT quote_ident(current_user), quote_ident(current_database()), quote_ident($1::text), to_regnamespace(quote_ident($1::text)) IS NOT NULL", []any{schema}, &role, &database, &in, &known)
	})
	switch {
	case asked != nil:
		return err
	case !known:
		return fmt.Errorf("%w; to make the tables the role needs: GRANT CREATE ON DATABASE %s TO %s; or let another role make them, with the command belfry migrate", err, database, role)
	}
	return fmt.Errorf("%w; the role needs: GRANT USAGE ON SCHEMA %[2]s TO %[3]s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[2]s TO %[3]s; "+
		"and to change the tables GRANT CREATE ON SCHEMA %[2]s TO %[3]s, or another role that does", err, in, role)
}

// notAllowed says that a role may not call a function, or that there is none.
func notAllowed(state string) bool { return state == "42501" || state == "42883" }
