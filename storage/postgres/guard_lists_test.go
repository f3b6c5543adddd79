package postgres

import (
	"fmt"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
)

// A page of what a tenant has is read by an index, whichever page it is and however much
// others have: messages by their keys, and what was done by a window of ids.
func TestGuardAListOfSupportIsCheapHoweverMuchThereIs(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	n := sized(t, 40_000, 1_000_000)
	messagesOf(t, s, n)
	exec(t, s.DB(), "UPDATE outgoing_message SET scope = 'tenant'", "VACUUM (ANALYZE) outgoing_message")
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO audit_entry (scope, key, kind, status, version, lane, claim_token, abandoned, subject, subject_version,
			action, program, code, from_status, to_status, done_on)
		SELECT CASE WHEN g %% 100 = 0 THEN 'tenant' ELSE 'other' END, md5(g::text), '', '', 1, 0, '', false, 'outgoing_message', g,
			'Release', 'a program', 'C', 'A', 'B', '2025-03-01'::timestamptz + g * interval '1 second'
		FROM generate_series(1, %d) AS g`, n), "VACUUM (ANALYZE) audit_entry")
	desk := support.New(support.Options{Store: s, Notify: notify.New(s, nil)})
	for _, list := range []support.List{support.Messages, support.Audit, support.Campaigns, support.Conflicts, support.Erasures} {
		p, rows := storage.Page{Limit: 20}, 0
		for page := range 3 {
			seen := r.during(t, "SELECT", func() {
				all, next, err := desk.List(t.Context(), "tenant", list, p)
				if err != nil {
					t.Fatal(list, err)
				}
				rows, p.After = rows+len(all), next
			})
			for _, statement := range seen {
				plan := explained(t, s.DB(), statement)
				if plan.buffers() > runsBuffers || plan.sequential() {
					t.Errorf("%s, page %d: %d buffers, %v", list, page+1, plan.buffers(), plan.scans())
				}
				t.Logf("%s, page %d: %d buffers, %v", list, page+1, plan.buffers(), plan.scans())
			}
			if p.After == "" {
				break
			}
		}
		if want := map[support.List]int{support.Messages: 60, support.Audit: 60}[list]; rows != want {
			t.Errorf("%s: %d rows, not %d", list, rows, want)
		}
	}
}
