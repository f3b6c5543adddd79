package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
)

// nobody is a type's providers whose sources want nothing any more.
type nobody struct{}

func (nobody) EventTypes() []string { return []string{"certificate.saved"} }
func (nobody) Candidates(context.Context, automation.Event) ([]automation.Candidate, error) {
	return nil, nil
}

func (nobody) CandidatesOf(_ context.Context, of []automation.ScopedSource) ([]automation.SourceCandidates, error) {
	return make([]automation.SourceCandidates, len(of)), nil
}

func (nobody) Recipients(context.Context, automation.Due) ([]notify.Recipient, error) {
	return nil, nil
}

// A re-plan finds its first page, and each later one, by the index of open rows, however
// many rows of one setting and one source type lie in front: it reads none of those that
// are only equal.
func TestGuardAPageOfAReplanIsCheapHoweverManyRowsAreOpen(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	scheduled(t, s, sized(t, 40_000, 1_000_000), "certificate", "'2999-03-01'::timestamptz + g * interval '1 second'", "0", "false", "")
	exec(t, s.DB(), `UPDATE automation_scheduler SET scope = 'tenant', setting = CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END`, "VACUUM (ANALYZE) automation_scheduler")
	reminders := automation.New(s, notify.New(s, nil), nil)
	reminders.Register(automation.ReminderType{
		Name: "certificate", Template: notify.Template{Subject: "Due"}, Triggers: nobody{}, Recipients: nobody{}, SendAt: "09:00", Zone: "UTC",
	})
	const buffers = 250 // for fifty rows, each on a page of its own
	for _, what := range []automation.Replan{{Scope: "tenant"}, {Scope: "tenant", Setting: "odd", Type: "certificate"}} {
		if err := reminders.Upkeep().Replan(t.Context(), what); err != nil {
			t.Fatal(err)
		}
		looked := 0
		for _, p := range reminders.Passes() {
			if p.Name() != "automation.reconcile" {
				continue
			}
			for _, q := range r.during(t, "SELECT", func() {
				for range 2 { // the mark of all types, and a page of one
					if _, err := p.Runner(work.Options{}).Poll(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
				}
			}) {
				if !strings.Contains(q.text, `"automation_scheduler"`) {
					continue
				}
				plan := explained(t, s.DB(), q)
				if looked++; plan.sequential() || plan.buffers() > buffers {
					t.Errorf("%s: %d buffers, %v", q.text, plan.buffers(), plan.scans())
				}
				t.Logf("%d buffers, %v", plan.buffers(), plan.scans())
			}
		}
		if looked < 2 { // the first part, and its rows
			t.Errorf("%d statements about %v", looked, what)
		}
	}
}
