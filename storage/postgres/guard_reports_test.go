package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// runsBuffers bounds the pages that a list of a hundred runs touches: each row on a
// page of its own, and the index.
const runsBuffers = 150

// reportTable is that of a tenant with many runs of reports that have ended, of which
// the two hundred oldest wait for a person, and with many reminders to come; others
// have reminders on hold.
func reportTable(t *testing.T) (*Store, *recorder) {
	t.Helper()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	scheduled(t, s, n, "run", "NULL", "0", "g <= 200", "RetriesExhausted")
	exec(t, s.DB(), `UPDATE automation_scheduler SET automation_type = 'ReportSubscription', scope = 'tenant',
		source = (id % 50)::text, scheduled_on = '2025-03-01'::timestamptz + id * interval '1 second'`)
	scheduled(t, s, n/10, "reminder", "NULL", "0", "true", "RetriesExhausted")
	scheduled(t, s, n/10, "later", "'2999-03-01'::timestamptz", "0", "false", "")
	exec(t, s.DB(), "UPDATE automation_scheduler SET scope = 'tenant' WHERE kind = 'later'")
	exec(t, s.DB(), "VACUUM (ANALYZE) automation_scheduler")
	return s, r
}

func TestGuardAListOfRunsIsCheapHoweverManyRunsThereAre(t *testing.T) {
	t.Parallel()
	s, r := reportTable(t)
	work := automation.New(s, notify.New(s, nil), nil)
	for name, of := range map[string]automation.ReportRuns{
		"failed": {Held: true}, "recent": {Begun: true}, "all": {}, "of one subscription": {Subscription: "7"},
	} {
		var rows []automation.Schedule
		var next string
		list := func() statement {
			return r.during(t, "SELECT", func() {
				var err error
				if rows, next, err = work.Support().ReportRuns(t.Context(), "tenant", of); err != nil {
					t.Fatal(err)
				}
			})[0]
		}
		for page := range 2 {
			p := explained(t, s.DB(), list())
			if len(rows) != 100 || p.buffers() > runsBuffers || p.sequential() {
				t.Errorf("%s, page %d: %d rows, %d buffers, %v", name, page, len(rows), p.buffers(), p.scans())
			}
			t.Logf("%s, page %d: %d buffers, %v", name, page, p.buffers(), p.scans())
			of.After = next
		}
	}
}

// responsesOf loads n responses to a survey, a minute apart from noon on, in an order
// that is not that of their moments.
func responsesOf(t testing.TB, s *Store, surveyID, n int) {
	t.Helper()
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO survey_response (scope, key, kind, status, version, lane, claim_token, abandoned,
			survey_id, survey_version, trigger_id, business_unit, customer_ref, agent_id, answers_hash, idempotency_key, locale, answers,
			completed_on, submitted_on, score, handled_by, note, fact)
		SELECT '', '%[1]d-' || g, '', '', 1, 0, '', false, %[1]d, 1, 'trigger', 'unit', g::text, '', md5(g::text), '', '', '{"rate":9}',
			m.at, m.at, g %% 101, '', '', 'null'
		FROM generate_series(0, %[2]d - 1) AS g, LATERAL (SELECT '%[3]s'::timestamptz + (g * 7919 %% %[2]d) * interval '1 minute' AS at) AS m`,
		surveyID, n, noon.Format(time.RFC3339)))
}

// A page of responses costs what it holds, wherever in the time of a survey it lies.
func TestGuardAPageOfResponsesIsCheapHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	const page = 100
	n := sized(t, 40_000, 1_000_000)
	responsesOf(t, s, 1, n)
	responsesOf(t, s, 2, n/10)
	exec(t, s.DB(), "VACUUM (ANALYZE) survey_response")
	surveys := survey.New(s, nil)
	middle, end := noon.Add(time.Duration(n/2)*time.Minute), noon.Add(time.Duration(n)*time.Minute)
	for name, q := range map[string]survey.ResponseQuery{
		"the first":           {},
		"in the middle":       {Since: middle, Until: middle.Add(24 * time.Hour)},
		"the last hours":      {Since: end.Add(-10 * time.Hour)},
		"until the middle":    {Until: middle},
		"all from the middle": {Since: middle},
	} {
		q.SurveyID, q.Limit = 1, page
		for number := range 2 {
			var got []survey.StoredResponse
			var next string
			seen := r.during(t, "SELECT", func() {
				var err error
				if got, next, err = surveys.Responses().List(t.Context(), "", q); err != nil || len(got) != page {
					t.Fatal(len(got), err)
				}
			})
			q.After = next
			for _, statement := range seen {
				if !strings.Contains(statement.text, "survey_response") {
					continue
				}
				p := explained(t, s.DB(), statement)
				if p.sequential() || p.buffers() > 3*page {
					t.Errorf("%s, page %d: %d buffers, %v", name, number+1, p.buffers(), p.scans())
				}
				t.Logf("%s, page %d: %d buffers, %v", name, number+1, p.buffers(), p.scans())
			}
		}
	}
}

// retainBuffers bounds the pages that one step of a walk over all rows touches:
// it looks at 5000 rows of the primary key's order, which lie side by side.
const retainBuffers = 6000

func TestGuardAStepOfRetentionIsCheapHoweverManyRowsThereAre(t *testing.T) {
	t.Parallel()
	n := sized(t, 4_000, 100_000)
	s, r := busyTable(t, 6*n, n)
	work := automation.New(s, notify.New(s, nil), nil)
	done := automation.HandlerFunc(func(context.Context, []automation.Due) ([]automation.Outcome, error) { return nil, nil })
	for _, name := range []string{"held", "due"} { // nothing of theirs may go, so the walk sees every row
		work.Handle(name, automation.Retained(done, automation.Retention{After: 24 * time.Hour}))
	}
	var report automation.RetentionReport
	statements := r.during(t, "SELECT", func() {
		var err error
		if report, err = work.Upkeep().Retain(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	rows := scan[int](t, s.DB(), "SELECT count(*) FROM automation_scheduler")
	worst, sum := 0, 0
	for i, statement := range statements {
		if !strings.Contains(statement.text, "automation_scheduler") || i > 100 && i < len(statements)-20 {
			continue
		}
		p := explained(t, s.DB(), statement)
		if p.sequential() {
			t.Errorf("scans %v: %s", p.scans(), statement.text)
		}
		worst, sum = max(worst, p.buffers()), sum+1
	}
	// A step asks twice about 5,000 rows, or, with what they own, three times about the 450 of
	// them that go.
	if worst > retainBuffers || len(statements) > 5+2*rows/5000+3*report.Stubs/450 {
		t.Errorf("%d buffers, %d statements", worst, len(statements))
	}
	t.Logf("%d rows: %d statements, at most %d buffers (of %d looked at), %+v", rows, len(statements), worst, sum, report)
}

// healthBuffers bounds the pages that all statements of one Health touch. They
// look at no more than ten thousand rows of each of three lanes and two holds,
// each on a page of its own at worst.
const healthBuffers = 51_000

// scheduled loads n rows of automation_scheduler whose due order is not that of
// the pages. set is SQL for due_on, lane, type and the hold.
func scheduled(t testing.TB, s *Store, n int, name, due, lane, held, reason string) {
	t.Helper()
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO automation_scheduler (version, lane, abandoned, is_on_support_hold, due_on, scope, key,
			source_type, source, setting, kind, status, claim_token, automation_type, trigger_type, business_unit, trigger_key,
			target_date, days_before, input_hash, created_on, scheduled_on, scheduled_local_date, send_at, time_zone, gap_policy,
			overlap_policy, retry_count, lease_loss_count, ended_on, reason_code, diagnostics, hold_reason, hold_detail,
			event_type, event_id, trace_blob_name)
		SELECT 1, %[4]s, false, %[5]s, %[3]s, 'tenant-' || g %% 20, '%[2]s-' || rpad(g::text, 100, 'x'), 'employee', g::text, 'setting',
			'%[2]s', 'Completed', '', 'Reminder', 'ScheduledRun', '', 'default', '', 0, md5(g::text) || md5(g::text), '%[7]s', '%[7]s',
			'', '', '', '', '', 0, 0, '%[7]s'::timestamptz + g * interval '1 second', '', '', '%[6]s', '', '', '', ''
		FROM generate_series(1, %[1]d) AS g`, n, name, due, lane, held, reason, noon.Format(time.RFC3339)))
}

// busyTable is a table as it is after a year: most rows have ended, many wait
// for their moment, n are due and n on hold for each of two reasons.
func busyTable(t *testing.T, ended, n int) (*Store, *recorder) {
	t.Helper()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	const past = "'2025-03-01'::timestamptz + (g * 7919 % 100003) * interval '1 second'"
	scheduled(t, s, ended, "ended", "NULL", "0", "false", "")
	scheduled(t, s, n, "due", past, "g % 3 - 1", "false", "")
	scheduled(t, s, n, "later", "'2999-03-01'::timestamptz + g * interval '1 second'", "g % 2 * 7", "false", "")
	scheduled(t, s, n, "held", "NULL", "0", "true", "RetriesExhausted")
	scheduled(t, s, n, "cancelled", "NULL", "0", "true", "CancelledBySupport")
	series(t, s, n)
	reconciliations(t, s, n)
	exec(t, s.DB(), "VACUUM (ANALYZE) automation_scheduler, automation_series, automation_reconciliation")
	return s, r
}

// reconciliations loads the scans of n tenants, which skip nothing and come later.
func reconciliations(t testing.TB, s *Store, n int) {
	t.Helper()
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO automation_reconciliation (scope, key, kind, status, version, lane, due_on, claim_token, abandoned,
			covered_until, scan_cursor, failure_count, reason_code, diagnostics, reminder_type, setting, business_unit)
		SELECT 'tenant-' || g, 'digest', 'digest', 'Ready', 1, 0, '2999-03-01'::timestamptz + g * interval '1 second', '', false,
			'2026-03-01', '', 0, '', '', '', '', ''
		FROM generate_series(1, %d) AS g`, n))
}

// series loads n active series whose occurrences are still to come.
func series(t testing.TB, s *Store, n int) {
	t.Helper()
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO automation_series (scope, key, kind, status, version, lane, claim_token, abandoned,
			automation_type, setting, source_type, source, trigger_key, business_unit, input_hash, cron, rrule, start_date, end_date,
			start_time, time_zone, gap_policy, overlap_policy, active, next_on, next_local_date, next_local_time,
			next_period, past_period, event_type, event_id)
		SELECT 'tenant-' || g %% 20, 'series-' || g, 'digest', '', 1, 0, '', false, 'Reminder', 'digest', 'team', g::text, 'default', '',
			md5(g::text), '0 9 * * 1', '', '', '', '', 'UTC', 'forward', 'first', true,
			'2999-03-01'::timestamptz + g * interval '1 second', '2999-03-01', '09:00', '2999-03-01', '', '', ''
		FROM generate_series(1, %d) AS g`, n))
}

func TestGuardHealthIsCheapHoweverManyRowsThereAre(t *testing.T) {
	t.Parallel()
	s, r := busyTable(t, sized(t, 24_000, 600_000), sized(t, 33_000, 100_000)) // more than are counted
	work := automation.New(s, notify.New(s, nil), nil)
	var h health.Summary
	statements := r.during(t, "SELECT", func() {
		var err error
		if h, err = work.Health(t.Context(), storage.Everywhere()); err != nil {
			t.Fatal(err)
		}
	})
	if !h.DueCapped || len(h.Holds) != 2 || !h.Holds[1].Capped || len(h.Unserved()) != 3 {
		t.Fatalf("this guard guards nothing: %s", h)
	}
	sum := 0
	for _, statement := range statements {
		p := explained(t, s.DB(), statement)
		if p.sequential() && !ofFewRows(statement.text) {
			t.Errorf("scans %v: %s", p.scans(), statement.text)
		}
		sum += p.buffers()
	}
	if sum > healthBuffers {
		t.Errorf("%d buffers", sum)
	}
	t.Logf("%d statements, %d buffers, %s", len(statements), sum, h)
}

// Links and deliveries stay when they are done; what waits for a person among them is
// found by an index.
func TestGuardHealthOfLinksFindsTheFewThatWait(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO survey_instance (version, lane, abandoned, scope, key, public_id, link_hash, customer_ref, kind, status,
			claim_token, link_key, survey_id, survey_version, business_unit, trigger_id, triggered_by, metadata, channel, recipient_address,
			recipient_locale, recipient_zone, unique_hash, contact_group, reminders_remaining, send_ordinal, calls, tries, doubts, chosen, in_doubt, reason_code, is_on_support_hold)
		SELECT 1, 0, false, '', g::text, g::text, md5(g::text), '', '', 'Sent', '', '', 1, 1, '', '', '', '{}', 'sms', '', '', '', '', '', 0, 0, 0, 0, 0, 'null', true,
			'InDoubt', g %% 1000 = 0
		FROM generate_series(1, %d) AS g`, n))
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO outbox_delivery (version, lane, abandoned, dead_on, scope, key, kind, status, claim_token, event_key, topic, attempts, diagnostics, calls)
		SELECT 1, 0, false, CASE WHEN g %% 1000 = 0 THEN now() END, 'tenant-' || g %% 20, g::text, 'survey/crm', 'Dispatched', '', '', 'survey/response-completed', 0, '', '[]'
		FROM generate_series(1, %d) AS g`, n))
	exec(t, s.DB(), "VACUUM (ANALYZE) survey_instance, outbox_delivery")
	surveys := survey.New(s, nil)
	var h health.Summary
	statements := r.during(t, "SELECT", func() {
		var err error
		if h, err = surveys.Health(t.Context(), storage.Everywhere()); err != nil {
			t.Fatal(err)
		}
	})
	if len(h.Holds) != 1 || h.Holds[0].Rows != n/1000 || len(h.DeadLetters) != 1 || h.DeadLetters[0].Rows != n/1000 {
		t.Fatalf("this guard guards nothing: %s", h)
	}
	for _, statement := range statements {
		if p := explained(t, s.DB(), statement); p.sequential() && !ofFewRows(statement.text) || p.buffers() > n/1000+20 {
			t.Errorf("%d buffers, %v: %s", p.buffers(), p.scans(), statement.text)
		}
	}
}

// ofFewRows knows the tables of which a scan costs nothing.
func ofFewRows(statement string) bool {
	return strings.Contains(statement, "automation_pause") || strings.Contains(statement, "channel_outage")
}
