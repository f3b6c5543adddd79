package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/keys"
)

// columns are SQL for the values of columns, in which g is the number of the row.
type columns map[string]string

// fill loads n rows, and tidies up as autovacuum would. A column that must have a value
// and is not given has an empty one.
func fill(t testing.TB, s *Store, table string, n int, given columns) {
	t.Helper()
	all := columns{"version": "1"}
	rows, err := s.DB().QueryContext(t.Context(), `SELECT attname, CASE format_type(atttypid, NULL) WHEN 'boolean' THEN 'false' WHEN 'text' THEN ''''''
			WHEN 'json' THEN '''null''' WHEN 'timestamp with time zone' THEN '''2025-03-01''' ELSE '0' END
		FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND attnotnull AND attidentity = '' AND NOT atthasdef AND attname <> 'version'`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, empty string
		if err := rows.Scan(&name, &empty); err != nil {
			t.Fatal(err)
		}
		all[name] = empty
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	maps.Copy(all, given)
	var names, values []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names, values = append(names, name), append(values, all[name])
	}
	exec(t, s.DB(), fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generate_series(1, %d) AS g",
		table, strings.Join(names, ", "), strings.Join(values, ", "), n), "VACUUM (ANALYZE) "+table)
}

// cheap fails the test if a SELECT about something that f sends scans a table, or touches
// more pages than most. It returns how many there were.
func (r *recorder) cheap(t testing.TB, s *Store, what, about string, most int, f func()) (seen int) {
	t.Helper()
	for _, q := range r.during(t, "SELECT", f) {
		if !strings.Contains(q.text, about) {
			continue
		}
		seen++
		p := explained(t, s.DB(), q)
		if p.sequential() || p.buffers() > most {
			t.Errorf("%s: %d buffers, %v: %s", what, p.buffers(), p.scans(), q.text)
		}
		t.Logf("%s: %d buffers, %v", what, p.buffers(), p.scans())
	}
	return seen
}

// migrated is a store on an empty database, whose statements are noted.
func migrated(t *testing.T) (*Store, *recorder) {
	t.Helper()
	return recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
}

// messagesOf loads n messages of a tenant that were sent, and behind them 500 that have
// failed and 500 on hold.
func messagesOf(t testing.TB, s *Store, n int) {
	t.Helper()
	fill(t, s, "outgoing_message", n+1000, columns{
		"scope": "'tenant'", "key": "g::text", "kind": "'email:out'", "message_id": "g::text", "recipient_hash": "repeat('a', 40)", "method": "'email'",
		"partition_key": "g::text", "is_on_support_hold": fmt.Sprint("g > ", n+500), "hold_reason": fmt.Sprintf("CASE WHEN g > %d THEN 'RetriesExhausted' ELSE '' END", n+500),
		"failed_on": fmt.Sprintf("CASE WHEN g > %d AND g <= %d THEN '2025-03-01'::timestamptz + g * interval '1 second' END", n, n+500),
	})
}

// peoplesMessages loads n messages, of which a person by reference (p2) and one by address
// (sam@example.com) have each.
func peoplesMessages(t testing.TB, s *Store, n, each int) {
	t.Helper()
	fill(t, s, "outgoing_message", n, columns{
		"scope": "'tenant'", "key": "'job-' || g", "message_id": "g::text", "kind": "'email:smtp'", "status": "'Delivered'", "partition_key": "'job-' || g",
		"job_partition_key": "'entity'", "notification_type": "'news'", "method": "'email'", "in_doubt": "'Hold'", "calls": "1",
		"recipient_ref":  fmt.Sprintf("CASE WHEN g %% 2 = 0 THEN 'p' || g %% %d END", n/each),
		"recipient_hash": fmt.Sprintf("CASE WHEN g %% %d = 1 THEN '%s' ELSE md5(g::text) END", n/each, keys.RecipientHash(nil, "", "email", "sam@example.com")),
	})
}

// linksOf loads n links that were sent.
func linksOf(t testing.TB, s *Store, n int, given columns) {
	t.Helper()
	all := columns{"key": "g::text", "public_id": "g::text", "link_hash": "md5(g::text)", "status": "'Sent'", "survey_id": "1", "survey_version": "1", "channel": "'sms'"}
	maps.Copy(all, given)
	fill(t, s, "survey_instance", n, all)
}

// responsesOf loads n responses to a survey, a minute apart from noon on, in an order
// that is not that of their moments.
func responsesOf(t testing.TB, s *Store, surveyID, n int) {
	t.Helper()
	at := fmt.Sprintf("'%s'::timestamptz + (g::bigint * 7919 %% %d) * interval '1 minute'", noon.Format(time.RFC3339), n)
	fill(t, s, "survey_response", n, columns{
		"key": fmt.Sprintf("'%d-' || g", surveyID), "survey_id": fmt.Sprint(surveyID), "survey_version": "1", "trigger_id": "'trigger'", "business_unit": "'unit'",
		"customer_ref": "g::text", "answers_hash": "md5(g::text)", "answers": `'{"rate":9}'`, "completed_on": at, "submitted_on": at, "score": "g % 101", "unhappy": "g % 3 > 0", "queue": "(g % 7)::text",
	})
}

// scheduled loads n rows of automation_scheduler whose due order is not that of
// the pages. The rest is SQL for due_on, lane, the hold and its reason.
func scheduled(t testing.TB, s *Store, n int, name, due, lane, held, reason string) {
	t.Helper()
	moment := "'" + noon.Format(time.RFC3339) + "'::timestamptz"
	fill(t, s, "automation_scheduler", n, columns{
		"lane": lane, "is_on_support_hold": held, "due_on": due, "scope": "'tenant-' || g % 20", "key": "'" + name + "-' || rpad(g::text, 100, 'x')",
		"source_type": "'employee'", "source": "g::text", "setting": "'setting'", "kind": "'" + name + "'", "status": "'Completed'", "automation_type": "'Reminder'",
		"trigger_type": "'ScheduledRun'", "trigger_key": "'default'", "input_hash": "md5(g::text) || md5(g::text)", "created_on": moment,
		"scheduled_on": moment, "ended_on": moment + " + g * interval '1 second'", "hold_reason": "'" + reason + "'",
	})
}
