package automation_test

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// scan is what a host's query would give: one page holds all of them here.
func (m expiries) scan(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
	page := automation.ScanPage{Done: true}
	for _, id := range []string{"7", "8"} {
		if first := m[id].AddDays(-30); !first.Before(r.From) && !first.After(r.To) {
			page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{Type: "employee", ID: id}, Version: 1})
		}
	}
	return page, nil
}

// An event was lost. A dry run tells what is missing, a run mends it, and a
// second run finds nothing. In production a Poller does this once an hour.
func ExampleUpkeep_Reconcile() {
	ctx := context.Background()
	store, _ := open()
	known := expiries{"7": {Year: 2026, Month: 5, Day: 1}, "8": {Year: 2026, Month: 6, Day: 1}}
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Triggers = known
	t.Scan = &automation.Scan{Read: known.scan, SourceType: "employee", Window: 90, Scopes: []automation.Scope{""}}
	reminders.Register(t)

	seen := automation.Event{ID: "e1", Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: 1}
	if _, err := reminders.HandleEvent(ctx, seen); err != nil {
		fmt.Println(err)
	}
	for _, opts := range []*automation.ReconcileOptions{{DryRun: true}, nil, nil} {
		report, err := reminders.Upkeep().Reconcile(ctx, "", "certificate", opts)
		fmt.Println("scanned", report.Scanned, "unchanged", report.Unchanged, "created", report.Created, err)
		for _, d := range report.Differences {
			fmt.Println(d.Kind, d.Key)
		}
	}
	// Output:
	// scanned 2 unchanged 1 created 2 <nil>
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:30
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:7
	// scanned 2 unchanged 1 created 2 <nil>
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:30
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:7
	// scanned 2 unchanged 2 created 0 <nil>
}
