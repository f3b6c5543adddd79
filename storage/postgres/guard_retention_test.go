package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// forgetBuffers bounds the pages that one statement of the pass that forgets touches: it
// looks at 5,000 rows in the order of the primary key, which lie side by side, and at
// most at 450 others by their keys.
const forgetBuffers = 7000

// messageTable has n jobs that ended a year ago, each with its schedule and a message,
// and as many that are new.
func messageTable(t *testing.T, dsn string, n int) (*Store, *recorder) {
	t.Helper()
	s, r := recorded(t, dsn, 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	for _, rows := range [][2]string{{"old", "now() - interval '400 days'"}, {"new", "now()"}} { // a walk ends at the first young row
		tag, ended := rows[0], rows[1]
		fill(t, s, "notification_job", n, columns{
			"scope": "'tenant-' || g % 20", "key": "'p' || g || chr(31) || 'r' || g || '" + tag + "'", "kind": "'welcome'", "status": "'Generated'", "partition_key": "'p' || g",
			"row_key": "'r' || g || '" + tag + "'", "input_hash": "md5(g::text)", "source_on": ended, "created_on": ended, "ended_on": ended,
		})
		fill(t, s, "outgoing_message", n, columns{
			"scope": "'tenant-' || g % 20", "key": "'r' || g || '" + tag + "' || chr(31) || 'm' || g", "kind": "'email:test'", "status": "'SentToProvider'",
			"partition_key": "'r' || g || '" + tag + "'", "row_key": "'m' || g", "job_partition_key": "'p' || g", "notification_type": "'welcome'", "method": "'email'",
			"recipient_hash": "md5(g::text)", "input_hash": "md5(g::text)", "message_id": "md5(g::text || '" + tag + "')", "created_on": ended, "calls": "1", "sent_on": ended,
		})
	}
	fill(t, s, "blob_owner", max(n, 100_000), columns{
		"key": "md5(g::text) || '/' || md5(g::text)", "owner": "md5(g::text)", "owner_table": "'letter'", "owner_key": "g",
	})
	return s, r
}

// Whatever the pass reads and writes it finds by an index, in pages of one size, however
// large the table is.
func TestGuardAStepOfForgettingIsCheapHoweverManyRowsThereAre(t *testing.T) {
	t.Parallel()
	n := sized(t, 3_000, 300_000)
	s, r := messageTable(t, emptyDSN(t), n)
	out := notify.New(s, nil)
	for _, table := range []string{"notification_job", "outgoing_message"} {
		var done sweep.Walked
		statements := r.during(t, "", func() { done = forgotten(t, s, out, table) })
		if done.Emptied+done.Deleted != n {
			t.Errorf("%s: %+v of %d", table, done.Count, n)
		}
		worst := map[string]int{}
		for i, statement := range statements {
			verb, _, _ := strings.Cut(statement.text, " ")
			if verb != "SELECT" && verb != "UPDATE" && verb != "DELETE" && verb != "WITH" || i > 200 {
				continue
			}
			p := explained(t, s.DB(), statement)
			if p.sequential() {
				t.Errorf("%s: scans %v: %.200s", table, p.scans(), statement.text)
			}
			if p.buffers() > forgetBuffers {
				t.Errorf("%s: %d buffers: %.200s", table, p.buffers(), statement.text)
			}
			worst[verb] = max(worst[verb], p.buffers())
		}
		t.Logf("%s: %d statements for %d rows, at most %v buffers, %+v", table, len(statements), n, worst, done.Count)
	}
}

// forgotten forgets what is old of one table.
func forgotten(t *testing.T, s *Store, out *notify.Notifier, table string) (done sweep.Walked) {
	t.Helper()
	for _, of := range out.SweepRules() {
		for _, rule := range of.Old {
			if rule.Table != table {
				continue
			}
			var err error
			if done, err = rule.Now(t.Context(), s, 30*24*time.Hour, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	return done
}

// A claim of messages costs as much beside the pages that were just deleted as before. The
// server is its own: a transaction of another database, too, keeps dead rows from being
// pruned for a while, and then each look at a claim costs more than the last.
func TestGuardAClaimCostsNoMoreWhileOldRowsAreForgotten(t *testing.T) {
	t.Parallel()
	s, r := messageTable(t, ownServer(t, &pgtest.Options{Settings: quiet}).Database(t), sized(t, 3_000, 300_000))
	fill(t, s, "outgoing_message", 3000, columns{
		"key": "'due' || g", "kind": "'email:test'", "status": "'Created'", "due_on": "now() - interval '1 minute'", "partition_key": "'due'", "row_key": "'m' || g",
		"notification_type": "'welcome'", "method": "'email'", "recipient_hash": "md5(g::text)", "address": "'someone@example.com'",
		"message_id": "md5(g::text || 'due')", "created_on": "now()",
	})
	out := notify.New(s, nil, channel.Func("email:test", func(context.Context, channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: "1"}, nil
	}))
	var claim *statement
	for _, seen := range r.during(t, "", func() {
		for _, pass := range out.Passes() {
			if pass.Name() != "notify.distributor" {
				continue
			}
			if _, err := pass.Runner(work.Options{}).Poll(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
	}) {
		if claim == nil && strings.Contains(seen.text, "SKIP LOCKED") && strings.Contains(seen.text, "outgoing_message") {
			claim = &seen
		}
	}
	if claim == nil {
		t.Fatal("no claim was seen")
	}
	buffers, wal := costOf(t, s.DB(), *claim)
	gone := forgotten(t, s, out, "notification_job").Count.Add(forgotten(t, s, out, "outgoing_message").Count)
	buffersThen, walThen := costOf(t, s.DB(), *claim)
	t.Logf("%d buffers and %d bytes of WAL, then %d and %d, beside %+v", buffers, wal, buffersThen, walThen, gone)
	if !gone.Any() || float64(buffersThen) > 1.1*float64(buffers)+10 || float64(walThen) > 1.1*float64(wal)+8192 {
		t.Errorf("%d buffers and %d bytes of WAL, then %d and %d, beside %+v", buffers, wal, buffersThen, walThen, gone)
	}
}

// costOf is what a statement touches and logs, once the pages are in memory. It is taken
// back.
func costOf(t *testing.T, db *sql.DB, s statement) (buffers, wal int) {
	t.Helper()
	for range 2 {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var text string
		err = tx.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) "+s.text, s.args...).Scan(&text)
		if err := errors.Join(err, tx.Rollback()); err != nil {
			t.Fatal(err)
		}
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
				WAL  int `json:"WAL Bytes"`
			}
		}
		if err := json.Unmarshal([]byte(text), &plans); err != nil {
			t.Fatal(err)
		}
		buffers, wal = plans[0].Plan.Hit+plans[0].Plan.Read, plans[0].Plan.WAL
	}
	return buffers, wal
}
