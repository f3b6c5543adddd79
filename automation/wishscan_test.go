package automation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/storage"
)

// Who hears of each change by an event, and who hears of none and is reconciled, have the
// same rows: keys, hashes, moments, states and owners.
func TestEventsAndReconciliationLeadToTheSame(t *testing.T) {
	t.Parallel()
	histories := map[testlevel.Level]int{testlevel.Quick: 40, testlevel.Check: 40, testlevel.Nightly: 10_000}[testlevel.Of(t)]
	for shard := range 4 {
		t.Run(fmt.Sprint("memory/", shard), func(t *testing.T) {
			t.Parallel()
			compared := 0
			for n := shard; n < histories; n += 4 {
				compared += sameByEventAndScan(t, n, openMemory(t, newHandClock()), openMemory(t, newHandClock()))
			}
			if compared == 0 {
				t.Error("no row was compared")
			}
			t.Logf("%d rows compared", compared)
		})
	}
	for name, open := range map[string]func(testing.TB) (storage.Store, storage.Store){
		"sqlite": func(t testing.TB) (storage.Store, storage.Store) {
			return storetest.SQLite(t, newHandClock()), storetest.SQLite(t, newHandClock())
		},
		"postgres": func(t testing.TB) (storage.Store, storage.Store) {
			return storetest.Postgres(t, newHandClock()), storetest.Postgres(t, newHandClock())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testlevel.Need(t, testlevel.Nightly)
			a, b := open(t)
			for n := range 20 {
				sameByEventAndScan(t, n, a, b)
			}
		})
	}
}

// sameByEventAndScan plays history n in two worlds and counts the rows that it compared.
func sameByEventAndScan(t *testing.T, n int, byEvent, byScan storage.Store) (rows int) {
	t.Helper()
	worlds := [2]*wishWorld{}
	for i, store := range []storage.Store{byEvent, byScan} {
		clk := store.Clock().(*handClock)
		clk.set(start)
		worlds[i] = newWishWorld(t.Context(), store, clk, n)
	}
	told, scanned := worlds[0], worlds[1]
	scanned.scanned = true
	for range 30 {
		told.step()
		scanned.step()
		told.tellAll(told.buses)
		_, err := scanned.s.Maintenance().Reconcile(t.Context(), scanned.scope, scanned.buses, &automation.ReconcileOptions{FromStart: true})
		scanned.must(err)
		want, got := told.busRows(), scanned.busRows()
		if diff := cmp.Diff(want, got); diff != "" || len(told.wrong)+len(scanned.wrong) > 0 {
			t.Fatalf("history %d:\n%s\nby event and by scan: %s%v%v", n, strings.Join(told.said, "\n"), diff, told.wrong, scanned.wrong)
		}
		rows += len(want)
	}
	return rows
}

// busRows are the rows about buses in words.
func (w *wishWorld) busRows() []string {
	var out []string
	rows, guard := w.rowsOf(), w.guardOf()
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if r := rows[key]; r.Kind == w.buses {
			out = append(out, fmt.Sprint(key, " ", r.Status, " ", r.ScheduledOn, " ", r.InputHash, " ", r.BusinessUnit, " ", r.IsOnSupportHold, " ", guard[key]))
		}
	}
	return out
}
