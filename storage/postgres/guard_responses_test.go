package postgres

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/survey"
)

// responsesOf loads n responses to a survey, a minute apart from noon on, in an order
// that is not that of their moments.
func responsesOf(t testing.TB, s *Store, surveyID, n int) {
	t.Helper()
	exec(t, s.DB(), fmt.Sprintf(`INSERT INTO survey_response (scope, key, type, status, version, lane, claim_token, abandoned,
			survey_id, survey_version, trigger_id, business_unit, customer_ref, agent_id, answers_hash, idempotency_key, answers,
			completed_on, submitted_on)
		SELECT '', '%[1]d-' || g, '', '', 1, 0, '', false, %[1]d, 1, 'trigger', 'unit', g::text, '', md5(g::text), '', '{"rate":9}',
			m.at, m.at
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
