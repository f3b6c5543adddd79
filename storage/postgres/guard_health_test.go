package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// healthBuffers bounds the pages that all statements of one Health touch. They
// look at no more than a thousand rows of each of three lanes and three holds,
// each on a page of its own at worst.
const healthBuffers = 10_000

// scheduled loads n rows of automation_scheduler whose due order is not that of
// the pages. set is SQL for due_on, lane, type and the hold.
func scheduled(t testing.TB, s *Store, n int, name, due, lane, held, reason string) {
	t.Helper()
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO automation_scheduler (version, lane, abandoned, is_on_support_hold, due_on, scope, key,
			source_type, source, setting, type, status, claim_token, automation_type, trigger_type, business_unit, trigger_key,
			target_date, days_before, input_hash, created_on, scheduled_on, scheduled_local_date, send_at, time_zone, gap_policy,
			overlap_policy, retry_count, lease_loss_count, ended_on, reason_code, diagnostics, hold_reason, hold_detail,
			event_type, event_id, trace_blob_name)
		SELECT 1, %[4]s, false, %[5]s, %[3]s, 'tenant-' || g %% 20, '%[2]s-' || rpad(g::text, 100, 'x'), 'employee', g::text, 'setting',
			'%[2]s', 'Completed', '', 'Reminder', 'ScheduledRun', '', 'default', '', 0, md5(g::text) || md5(g::text), '%[7]s', '%[7]s',
			'', '', '', '', '', 0, 0, '%[7]s'::timestamptz + g * interval '1 second', '', '', '%[6]s', '', '', '', ''
		FROM generate_series(1, %[1]d) AS g`, n, name, due, lane, held, reason, noon.Format(time.RFC3339)))
}

// busyTable is a table as it is after a year: most rows have ended, many wait
// for their moment, and of every lane and hold there are more than are counted.
func busyTable(t *testing.T) (*Store, *recorder) {
	t.Helper()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000) / 10
	const past = "'2025-03-01'::timestamptz + (g * 7919 % 100003) * interval '1 second'"
	scheduled(t, s, 6*n, "ended", "NULL", "0", "false", "")
	scheduled(t, s, n, "due", past, "g % 3 - 1", "false", "")
	scheduled(t, s, n, "later", "'2999-03-01'::timestamptz + g * interval '1 second'", "g % 2 * 7", "false", "")
	scheduled(t, s, n, "held", "NULL", "0", "true", "RetriesExhausted")
	scheduled(t, s, n, "cancelled", "NULL", "0", "true", "CancelledBySupport")
	series(t, s, n)
	exec(t, s.DB(), "VACUUM (ANALYZE) automation_scheduler, automation_series")
	return s, r
}

// series loads n active series whose occurrences are still to come.
func series(t testing.TB, s *Store, n int) {
	t.Helper()
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO automation_series (scope, key, type, status, version, lane, claim_token, abandoned,
			automation_type, setting, source_type, source, trigger_key, business_unit, input_hash, cron, rrule, start_date, end_date,
			start_time, time_zone, gap_policy, overlap_policy, active, next_on, next_local_date, next_local_time, event_type, event_id)
		SELECT 'tenant-' || g %% 20, 'series-' || g, 'digest', '', 1, 0, '', false, 'Reminder', 'digest', 'team', g::text, 'default', '',
			md5(g::text), '0 9 * * 1', '', '', '', '', 'UTC', 'forward', 'first', true,
			'2999-03-01'::timestamptz + g * interval '1 second', '2999-03-01', '09:00', '', ''
		FROM generate_series(1, %d) AS g`, n))
}

func TestGuardHealthIsCheapHoweverManyRowsThereAre(t *testing.T) {
	t.Parallel()
	s, r := busyTable(t)
	work := automation.New(s, notify.New(s, nil), nil)
	var h automation.Health
	statements := r.during(t, "SELECT", func() {
		var err error
		if h, err = work.Health(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if !h.DueCapped || len(h.Holds) != 2 || len(h.Unserved()) != 1 {
		t.Fatalf("this guard guards nothing: %s", h)
	}
	sum := 0
	for _, statement := range statements {
		p := explained(t, s.DB(), statement)
		if p.sequential() {
			t.Errorf("scans %v: %s", p.scans(), statement.text)
		}
		sum += p.buffers()
	}
	if sum > healthBuffers {
		t.Errorf("%d buffers", sum)
	}
	t.Logf("%d statements, %d buffers, %s", len(statements), sum, h)
}
