package survey

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/postgres"
)

// folded is the definition of the million responses of BenchmarkFoldOfAMillion.
const folded = `{"questions": [{"id": "rate", "type": "rating", "min": 0, "max": 10}, {"id": "again", "type": "yesNo"},
	{"id": "by", "type": "choice", "options": [{"value": "car"}, {"value": "bus"}, {"value": "bicycle"}]}, {"id": "spent", "type": "number"}, {"id": "more", "type": "longText"}]}`

// A million responses on PostgreSQL, of which one in four is of the dealer that is asked for: how long
// a count of them takes that reads them, in Go and in the database, beside one that reads counts. See
// docs/decisions/surveys.md.
func BenchmarkFoldOfAMillion(b *testing.B) {
	clk := clock.NewMock()
	store := storetest.Postgres(b, clk)
	ctx, db := b.Context(), store.(*postgres.Store).DB()
	s := New(store, nil, nil)
	if _, err := s.Publish(ctx, Version{SurveyID: 1, Definition: json.RawMessage(folded)}); err != nil {
		b.Fatal(err)
	}
	do := func(statement string, args ...any) {
		if _, err := db.ExecContext(ctx, statement, args...); err != nil {
			b.Fatal(err)
		}
	}
	const all, some = 1_000_000, 50_000
	for first := 0; first < all; first += some {
		do(`INSERT INTO survey_response (scope, key, kind, status, version, survey_id, survey_version, trigger_id, business_unit, customer_ref, agent_id, locale, answers_hash, idempotency_key,
			answers, completed_on, submitted_on, score, unhappy, queue, assignee, handled_by, note, dimensions)
		SELECT '', md5(n::text)::uuid::text, '', '', 1, 1, 1, 'visit', '', 'customer-' || n, '', 'en', md5(n::text), '',
			json_build_object('rate', n % 11, 'again', CASE n % 3 WHEN 0 THEN 'no' ELSE 'yes' END, 'by', CASE n % 2 WHEN 0 THEN 'car' ELSE 'bus' END, 'spent', n % 1000, 'more', 'I had to wait for an hour, and was not told why. ' || n),
			t, t, n % 101, n % 11 < 3, '', '', '', '', json_build_object('trigger', 'visit', 'locale', 'en', 'candidate.dealer', 'dealer ' || n % 4)
		FROM (SELECT n, timestamptz '2026-01-01' + n * interval '30 s' AS t FROM generate_series($1::bigint + 1, $1 + $2::bigint) n) AS made`, first, some)
		do(`INSERT INTO survey_answer (scope, key, kind, status, version, public_id, survey_id, question_id, value, submitted_on)
		SELECT '', r.key || E'\x1f' || a.key, '', '', 1, r.key, 1, a.key, a.value, r.submitted_on FROM survey_response r, json_each(r.answers) a
		WHERE r.scope = '' AND r.survey_id = 1 AND r.submitted_on > timestamptz '2026-01-01' + $1::bigint * interval '30 s'`, first)
	}
	do("ANALYZE survey_response")
	do("ANALYZE survey_answer")
	b.Run("in Go", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(foldInGo(b, s, "dealer 1").Responses), "responses")
		}
	})
	for name, query := range map[string]string{
		"in SQL": `SELECT a.question_id, a.value::text, count(*) FROM survey_answer a JOIN survey_response r ON r.scope = a.scope AND r.key = a.public_id
			WHERE a.scope = '' AND a.survey_id = 1 AND a.question_id <> 'more' AND r.dimensions->>'candidate.dealer' = 'dealer 1' GROUP BY 1, 2`,
		"in SQL without a filter": `SELECT question_id, value::text, count(*) FROM survey_answer WHERE scope = '' AND survey_id = 1 AND question_id <> 'more' GROUP BY 1, 2`,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var n int
				if err := db.QueryRowContext(ctx, "SELECT count(*) FROM ("+query+") AS folded").Scan(&n); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// foldInGo counts the responses of a dealer as an export reads them, in larger pages.
func foldInGo(b *testing.B, s *Service, dealer string) *counted {
	sum := &counted{}
	q := ResponseQuery{SurveyID: 1, Page: storage.Page{Limit: 10_000}}
	for first := true; first || q.After != ""; first = false {
		err := s.read(b.Context(), func(from driver.Reader) error {
			v, err := s.versionOf(b.Context(), from, "", 1, 1)
			if err != nil {
				return err
			}
			page, next, err := q.find(b.Context(), from, "", "answers", "dimensions")
			q.After = next
			for _, r := range page {
				if r.Dimensions["candidate.dealer"] != dealer {
					continue
				}
				a, err := v.Accept(r.Answers)
				if err != nil {
					return fmt.Errorf("%s: %w", r.Answers, err)
				}
				sum.add(countAnswers(&v.Definition, a))
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return sum
}
