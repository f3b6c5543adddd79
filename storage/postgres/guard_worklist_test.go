package postgres

import (
	"strings"
	"testing"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

// The unhappiest are read in the order of their index, however many responses there are
// and were handled.
func TestGuardAPageOfTheWorklistIsCheapHoweverManyResponsesThereAre(t *testing.T) {
	t.Parallel()
	s, r := recorded(t, emptyDSN(t), 1, &Options{Clock: realTime, Migrate: MigrateAuto})
	const page = 100
	n := sized(t, 40_000, 1_000_000)
	responsesOf(t, s, 1, n)
	responsesOf(t, s, 2, n/10)
	exec(t, s.DB(), "UPDATE survey_response SET handled_on = now() WHERE score < 30", "VACUUM (ANALYZE) survey_response")
	desk := survey.New(s, nil).Support()
	q := survey.WorklistQuery{SurveyID: 1, Page: storage.Page{Limit: page}}
	for range 2 {
		statements := r.during(t, "SELECT", func() {
			rows, next, err := desk.Worklist(t.Context(), "", q)
			if err != nil || len(rows) != page || rows[0].Score < 30 {
				t.Fatal(len(rows), err)
			}
			q.After = next
		})
		for _, statement := range statements {
			if !strings.Contains(statement.text, `"score"`) {
				continue
			}
			p := explained(t, s.DB(), statement)
			if p.sequential() || p.buffers() > 2*page {
				t.Errorf("%d buffers, %v: %s", p.buffers(), p.scans(), statement.text)
			}
			t.Logf("%d buffers, %v", p.buffers(), p.scans())
		}
	}
}
