package survey_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/survey"
)

// What one event costs, told alone and 500 in a batch, and told again, beside a
// number of published surveys that want other kinds of event, and of stored
// instances: neither makes it dearer. BELFRY_TEST=nightly has 10,000 surveys and a million
// instances (a hundred thousand in memory).
//
//spec:t-081
func BenchmarkIngest(b *testing.B) {
	full := testlevel.Has(b, testlevel.Nightly)
	for _, adapter := range []struct {
		name string
		most int
		open func(testing.TB, clock.Clock) storage.Store
	}{
		{"memory", 100_000, func(_ testing.TB, clk clock.Clock) storage.Store { return memory.New(&memory.Options{Clock: clk}) }},
		{"sqlite", 1_000_000, storetest.SQLite},
		{"postgres", 1_000_000, storetest.Postgres},
	} {
		sizes := [][2]int{{1, 0}, {100, 0}, {1, 10_000}}
		if full {
			sizes = [][2]int{{1, 0}, {100, 0}, {10_000, 0}, {1, 10_000}, {1, adapter.most}, {10_000, adapter.most}}
		}
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/surveys=%d/instances=%d", adapter.name, size[0], size[1]), func(b *testing.B) {
				clk := clock.NewMock()
				clk.Set(start)
				benchmarkIngest(b, adapter.open(b, clk), size[0], size[1])
			})
		}
	}
}

func benchmarkIngest(b *testing.B, store storage.Store, surveys, stored int) {
	s := survey.New(store, nil)
	for i := range surveys {
		definition := csiGR
		if i > 0 {
			definition = strings.Replace(csiGR, "service-visit-closed", fmt.Sprintf("kind-%d", i), 1)
		}
		v := survey.Version{SurveyID: int64(4523 + i), Name: "CSI-GR", IntegrationID: "csi-gr", Definition: json.RawMessage(definition)}
		if _, err := s.Publish(b.Context(), v); err != nil {
			b.Fatal(err)
		}
	}
	ingest := func(batch survey.Batch, want survey.Outcome) {
		report, err := s.Ingest(b.Context(), batch)
		if err != nil || report.Items[0].Outcome != want {
			b.Fatalf("%v, the first is %+v", err, report.Items[:1])
		}
	}
	for i := 0; i < stored; i += 10_000 {
		ingest(visits(i, min(10_000, stored-i)), survey.Created)
	}
	analyze(b, store)
	next := 1 << 30
	for _, n := range []int{1, 500} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ingest(visits(next, n), survey.Created)
				next += n
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
		})
	}
	b.Run("again=500", func(b *testing.B) {
		again := visits(next, 500)
		ingest(again, survey.Created)
		b.ReportAllocs()
		for b.Loop() {
			ingest(again, survey.Skipped)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*500), "ns/event")
	})
}

// analyze does what autovacuum would have done by then.
func analyze(b *testing.B, store storage.Store) {
	b.Helper()
	if sql, ok := store.(*postgres.Store); ok {
		if _, err := sql.DB().ExecContext(b.Context(), "VACUUM ANALYZE"); err != nil {
			b.Fatal(err)
		}
	}
}
