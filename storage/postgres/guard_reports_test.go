package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

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
		work.Handle(automation.WorkType{Name: name, Handler: done, Retention: automation.Retention{After: 24 * time.Hour}})
	}
	var report automation.RetentionReport
	statements := r.during(t, "SELECT", func() {
		var err error
		if report, err = work.Maintenance().Retain(t.Context()); err != nil {
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
	if worst > retainBuffers || len(statements) > 5+2*rows/5000+3*report.Tombstones/450 {
		t.Errorf("%d buffers, %d statements", worst, len(statements))
	}
	t.Logf("%d rows: %d statements, at most %d buffers (of %d looked at), %+v", rows, len(statements), worst, sum, report)
}

// healthBuffers bounds the pages that all statements of one Health touch. They
// look at no more than ten thousand rows of each of three lanes and two holds,
// each on a page of its own at worst.
const healthBuffers = 51_000

// busyTable is a table as it is after a year: most rows have ended, many wait
// for their moment, n are due and n on hold for each of two reasons.
func busyTable(t *testing.T, ended, n int) (*Store, *recorder) {
	t.Helper()
	s, r := migrated(t)
	const past = "'2025-03-01'::timestamptz + (g::bigint * 7919 % 100003) * interval '1 second'"
	scheduled(t, s, ended, "ended", "NULL", "0", "false", "")
	scheduled(t, s, n, "due", past, "g % 3 - 1", "false", "")
	scheduled(t, s, n, "later", "'2999-03-01'::timestamptz + g * interval '1 second'", "g % 2 * 7", "false", "")
	scheduled(t, s, n, "held", "NULL", "0", "true", "RetriesExhausted")
	scheduled(t, s, n, "cancelled", "NULL", "0", "true", "CancelledBySupport")
	series(t, s, n)
	reconciliations(t, s, n)
	return s, r
}

// reconciliations loads the scans of n tenants, which skip nothing and come later.
func reconciliations(t testing.TB, s *Store, n int) {
	t.Helper()
	fill(t, s, "automation_reconciliation", n, columns{
		"scope": "'tenant-' || g", "key": "'digest'", "kind": "'digest'", "status": "'Ready'", "due_on": "'2999-03-01'::timestamptz + g * interval '1 second'",
		"covered_until": "'2026-03-01'", "reminder_type": "''",
	})
}

// series loads n active series whose occurrences are still to come.
func series(t testing.TB, s *Store, n int) {
	t.Helper()
	fill(t, s, "automation_series", n, columns{
		"scope": "'tenant-' || g % 20", "key": "'series-' || g", "kind": "'digest'", "automation_type": "'Reminder'", "setting": "'digest'", "source_type": "'team'",
		"source": "g::text", "trigger_key": "'default'", "input_hash": "md5(g::text)", "cron": "'0 9 * * 1'", "time_zone": "'UTC'", "gap_policy": "'forward'",
		"overlap_policy": "'first'", "active": "true", "next_on": "'2999-03-01'::timestamptz + g * interval '1 second'", "next_local_date": "'2999-03-01'",
		"next_local_time": "'09:00'", "next_period": "'2999-03-01'",
	})
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
