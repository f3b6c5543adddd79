package survey_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// What results cost of 250,000 responses to four questions, a million answers, in two
// years: whole, by a trend of days, and by the values of a dimension.
func BenchmarkResults(b *testing.B) {
	for name, open := range map[string]func(testing.TB, clock.Clock) storage.Store{
		"memory": func(_ testing.TB, clk clock.Clock) storage.Store { return memory.New(&memory.Options{Clock: clk}) },
		"sqlite": storetest.SQLite, "postgres": storetest.Postgres,
	} {
		b.Run(name, func(b *testing.B) {
			clk := clock.NewMock()
			clk.Set(start)
			store := open(b, clk)
			survey.CountForBenchmark(b, store, 4523, 250_000, 730, 50)
			analyze(b, store)
			s := survey.New(store, nil)
			for _, q := range []survey.ResultQuery{
				{}, {Step: survey.Daily}, {Step: survey.Monthly}, {By: survey.ByTrigger}, {By: "candidate.dealer"},
				{By: "candidate.dealer", Step: survey.Monthly}, {Since: start.AddDate(0, 0, 10), Until: start.AddDate(1, 0, 20), By: "candidate.dealer"},
			} {
				q.SurveyID = 4523
				b.Run(fmt.Sprintf("by=%s/step=%s/bounded=%t", q.By, q.Step, !q.Since.IsZero()), func(b *testing.B) {
					n := 0
					for b.Loop() {
						got, err := s.Results().Get(b.Context(), "", q)
						if err != nil {
							b.Fatal(err)
						}
						if n = 0; q.Since.IsZero() {
							for _, g := range got.Groups {
								n += g.Responses
							}
							if n != 250_000 {
								b.Fatalf("%d responses", n)
							}
						}
					}
					b.ReportMetric(float64(b.Elapsed())/float64(time.Millisecond)/float64(b.N), "ms/query")
				})
			}
		})
	}
}
