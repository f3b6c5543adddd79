package postgres

import (
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/notify"
)

// personIndexes find the rows of a person on the send path.
var personIndexes = []string{"outgoing_message_recipient", "outgoing_message_address", "user_message_recipient", "notification_job_untraced"}

// What the indexes by which people are found add to a message, from Ensure to the channel,
// in an inbox too: less than a tenth of its WAL, and as little of its buffers.
func TestGuardThatPeopleAreFoundCostsASendLittle(t *testing.T) {
	t.Parallel()
	settings := maps.Clone(quiet)
	settings["full_page_writes"] = "off" // else what is counted is which pages are new since a checkpoint
	server := ownServer(t, &pgtest.Options{Settings: settings})
	n := sized(t, 2_000, 20_000)
	cost := func(without ...string) perRow {
		s, _ := recorded(t, server.Database(t), 4, &Options{Clock: realTime, Migrate: MigrateAuto})
		for _, index := range without {
			exec(t, s.DB(), "DROP INDEX "+index)
		}
		sends(t, s, "first", n) // the pages are there, and known
		found := func() float64 {
			alone(t, s.DB())
			return scan[float64](t, s.DB(), `SELECT coalesce(sum(idx_blks_hit + idx_blks_read), 0) FROM pg_statio_user_indexes
				WHERE indexrelname IN ('`+strings.Join(personIndexes, "','")+`')`)
		}
		before := found()
		c := during(t, s.DB(), n, func() { sends(t, s, "second", n) })
		c.found = (found() - before) / float64(n)
		return c
	}
	with, without := cost(), cost(personIndexes...)
	t.Logf("%d messages: %v each, of which %.1f in the indexes, without the indexes %v", n, with, with.found, without)
	if with.found == 0 || with.wal > 1.1*without.wal || with.found > 0.1*(with.buffers-with.found) {
		t.Errorf("%v a message, of which %.1f buffers in the indexes, without the indexes %v", with, with.found, without)
	}
}

// sends asks for a letter to n people, with their inboxes, and sends it.
func sends(t *testing.T, s *Store, letter string, n int) {
	t.Helper()
	out := sender(s)
	for first := 0; first < n; first += 500 {
		jobs := make([]notify.Job, min(500, n-first))
		for i := range jobs {
			who := fmt.Sprint("person-", first+i)
			jobs[i] = notify.Job{Type: "welcome", PartitionKey: who, RowKey: letter + "-" + who, Recipients: []notify.Recipient{
				{Ref: who, Name: "Sam", Channel: "email:test", Address: who + "@example.com", Inbox: "user:" + who}}}
		}
		if _, err := out.EnsureNotificationJob(t.Context(), nil, jobs...); err != nil {
			t.Fatal(err)
		}
		schedules := make([]notify.Schedule, len(jobs))
		for i, j := range jobs {
			schedules[i] = notify.ScheduleFor(j, time.Time{})
		}
		if _, err := out.EnsureNotificationScheduler(t.Context(), nil, schedules...); err != nil {
			t.Fatal(err)
		}
	}
	if err := belfry.NewPoller(s, nil, out).Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := scan[int](t, s.DB(), "SELECT count(*) FROM outgoing_message WHERE status <> 'SentToProvider'"); got != 0 {
		t.Fatalf("%d messages were not sent", got)
	}
	if got := scan[int](t, s.DB(), "SELECT count(*) FROM audit_entry"); got != 0 {
		t.Errorf("sending wrote %d entries of the audit", got)
	}
}

// perRow is what a row costs: bytes of WAL, and pages that were touched.
type perRow struct {
	wal, buffers float64
	found        float64 // of the buffers, those of the indexes by which people are found
}

func (p perRow) String() string {
	return fmt.Sprintf("%.0f bytes of WAL and %.1f buffers", p.wal, p.buffers)
}

// during is what f costs for each of n rows.
func during(t *testing.T, db *sql.DB, n int, f func()) perRow {
	t.Helper()
	touched := func() float64 {
		alone(t, db)
		exec(t, db, "SELECT pg_stat_clear_snapshot()")
		return scan[float64](t, db, "SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()")
	}
	wal := func() float64 { return scan[float64](t, db, "SELECT pg_current_wal_insert_lsn() - '0/0'") }
	buffers, written := touched(), wal()
	f()
	written = wal() - written
	return perRow{wal: written / float64(n), buffers: (touched() - buffers) / float64(n)}
}

// alone waits until the connections of a pool are gone, and have reported what they
// touched.
func alone(t *testing.T, db *sql.DB) {
	t.Helper()
	db.SetMaxIdleConns(0)
	defer db.SetMaxIdleConns(4)
	last, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	for others := 1; others > 0; {
		err = last.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&others)
		if err != nil {
			t.Fatal(err)
		}
	}
}
