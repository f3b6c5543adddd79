package automation_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
)

// manyPeople is a scan over n sources that exist while their page is read only.
func manyPeople(n int, of func(i int) person, before func()) func(context.Context, automation.ScanRequest) (automation.ScanPage, error) {
	return func(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
		before()
		from, _ := strconv.Atoi(r.After) // empty: zero
		to := min(from+r.Limit, n)
		page := automation.ScanPage{Next: strconv.Itoa(to), Done: to == n}
		for i := from; i < to; i++ {
			source := automation.Source{"employee", fmt.Sprintf("%08d", i)}
			page.Sources = append(page.Sources, automation.ScannedSource{Source: source, Version: 1, Data: of(i)})
		}
		return page, nil
	}
}

// A whole run over many sources, of which one in a thousand has drifted: 20
// thousand, and with BELFRY_TEST=nightly a million on PostgreSQL and a hundred thousand
// in memory, where each page looks at all rows. It reports what one source costs,
// and the most memory that was in use when a page was read.
func BenchmarkReconcile(b *testing.B) {
	full := testlevel.Has(b, testlevel.Nightly)
	for _, adapter := range []struct {
		name string
		most int
		open func(testing.TB, clock.Clock) storage.Store
	}{
		{"memory", 100_000, func(_ testing.TB, clk clock.Clock) storage.Store { return memory.New(&memory.Options{Clock: clk}) }},
		{"postgres", 1_000_000, storetest.Postgres},
	} {
		n := 20_000
		if full {
			n = adapter.most
		}
		b.Run(fmt.Sprintf("%s/%dk", adapter.name, n/1000), func(b *testing.B) {
			clk := clock.NewMock()
			clk.Set(start)
			benchmarkReconcile(b, adapter.open(b, clk), n)
		})
	}
}

func benchmarkReconcile(b *testing.B, store storage.Store, n int) {
	var peak uint64
	lap := 0
	expires := date(2026, 5, 1)
	s := automation.New(store, notify.New(store, nil), &automation.Options{Logger: slog.New(slog.DiscardHandler)})
	crowd := candidatesFunc(func(e automation.Event) []automation.Candidate {
		c := automation.Candidate{TargetDate: expires, DaysBefore: 7}
		if e.Data.(person).gone { // drifted: it moves to and fro
			c.SendAt = [2]string{"10:00", "11:00"}[lap%2]
		}
		return []automation.Candidate{c}
	})
	drifted := func(i int) person { return person{gone: i%1000 == 0} }
	read := manyPeople(n, drifted, func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
	})
	s.Register(certificates(func(t *automation.ReminderType) {
		t.Triggers, t.Scan = crowd, &automation.Scan{Read: read, SourceType: "employee", Window: 100, Scopes: []automation.Scope{""}, Batch: 1000}
	}))
	run := func() automation.ReconcileReport {
		r, err := s.Upkeep().Reconcile(b.Context(), "", "certificate", &automation.ReconcileOptions{FromStart: true})
		if err != nil {
			b.Fatal(err)
		}
		r.Differences = nil
		return r
	}
	if r := run(); r.Created != n {
		b.Fatalf("%+v", r)
	}
	vacuum(b, store)
	runtime.GC()
	peak = 0
	b.ReportAllocs()
	for b.Loop() {
		lap++
		if r := run(); r.Updated != n/1000 || r.Unchanged != n-n/1000 {
			b.Fatalf("%+v", r)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/source")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

// vacuum does what autovacuum would have done by the time of a run.
func vacuum(t testing.TB, store storage.Store) {
	t.Helper()
	if sql, ok := store.(*postgres.Store); ok {
		if _, err := sql.DB().ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
}

type candidatesFunc func(automation.Event) []automation.Candidate

func (candidatesFunc) EventTypes() []string { return nil }

func (f candidatesFunc) Candidates(_ context.Context, e automation.Event) ([]automation.Candidate, error) {
	return f(e), nil
}
