package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// retainBuffers bounds the pages that one step of a walk over all rows touches:
// it looks at 5000 rows of the primary key's order, which lie side by side.
const retainBuffers = 6000

func TestGuardAStepOfRetentionIsCheapHoweverManyRowsThereAre(t *testing.T) {
	t.Parallel()
	s, r := busyTable(t)
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
	if worst > retainBuffers || len(statements) > 3+rows/1500 {
		t.Errorf("%d buffers, %d statements", worst, len(statements))
	}
	t.Logf("%d rows: %d statements, at most %d buffers (of %d looked at), %+v", rows, len(statements), worst, sum, report)
}
