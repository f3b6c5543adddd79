package postgres

import (
	"testing"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
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
	exec(t, s.DB(), "UPDATE automation_scheduler SET scope = 'tenant' WHERE type = 'later'")
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
