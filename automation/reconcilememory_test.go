package automation_test

import (
	"runtime"
	"testing"

	"github.com/belfry-go/belfry/automation"
)

// heapGrowth is how much more memory is in use at a later page than at the first
// one, in a run over n sources.
func heapGrowth(t *testing.T, n int) int64 {
	w := memoryWorld(t)
	var first, most uint64
	s := &staff{}
	w.serve(s, func(scan *automation.Scan) {
		scan.Batch = 100
		scan.Read = manyPeople(n, func(int) person { return person{version: 1} }, func() {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			if first == 0 {
				first = m.HeapAlloc
			}
			most = max(most, m.HeapAlloc)
		})
	})
	if r := w.reconcile(automation.ReconcileOptions{}); r.Unchanged != n {
		t.Errorf("%+v", r)
	}
	return int64(most) - int64(first)
}

// A run holds one page at a time. Not parallel: it measures the whole process.
//
//spec:a-108
func TestI21_TheMemoryOfARunDoesNotGrowWithItsSources(t *testing.T) {
	for _, n := range []int{1_000, 20_000} {
		if more := heapGrowth(t, n); more > 1<<20 {
			t.Errorf("%d sources: %d bytes more than at the first page", n, more)
		}
	}
}
