package surveyhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

// Events through HTTP in batches of 100, by eight clients for each processor: told
// for the first time, and told again.
func BenchmarkIngestOverHTTP(b *testing.B) {
	for _, adapter := range []struct {
		name string
		open func(testing.TB, clock.Clock) storage.Store
	}{
		{"memory", func(_ testing.TB, clk clock.Clock) storage.Store { return memory.New(&memory.Options{Clock: clk}) }},
		{"sqlite", storetest.SQLite},
		{"postgres", storetest.Postgres},
	} {
		b.Run(adapter.name, func(b *testing.B) {
			clk := clock.NewMock()
			clk.Set(start)
			s := survey.New(adapter.open(b, clk), nil, nil)
			publishTo(b, s, csiGR)
			server := httptest.NewServer(surveyhttp.API(s, letIn, nil))
			defer server.Close()
			var batches atomic.Int64
			b.Run("new", func(b *testing.B) { tellAll(b, server.URL, `{"created":100,`, func() int64 { return batches.Add(1) }) })
			tell(b, server.URL, `{"created":100,`, hundred(0))
			b.Run("again", func(b *testing.B) { tellAll(b, server.URL, `{"created":0,"skipped":100,`, func() int64 { return 0 }) })
		})
	}
}

// tellAll posts batches until the benchmark ends.
func tellAll(b *testing.B, url, want string, next func() int64) {
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			tell(b, url, want, hundred(next()))
		}
	})
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "events/s")
}

func tell(b *testing.B, url, want, body string) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+ingestPath, strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer both")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	var text strings.Builder
	if err := resp.Write(&text); err != nil || !strings.Contains(text.String(), want) {
		b.Errorf("%v: %.300s", err, text.String())
	}
}

// hundred are the events of one batch.
func hundred(batch int64) string {
	items := make([]string, 100)
	for i := range items {
		items[i] = fmt.Sprintf(`{"payload":{"wip":"%d-%d","dealerId":"1","jobType":"GR","VIN":"JTMABBBJ2N4024400","CustomerName":"planted-name"},
			"recipient":{"address":"+964 770 000 0001","locale":"ar","customerRef":"cust-123"}}`, batch, i)
	}
	return `{"eventKind":"service-visit-closed","items":[` + strings.Join(items, ",") + `]}`
}
