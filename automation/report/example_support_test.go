package report_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// A run whose builder fails waits for a person, and the next one of its series runs
// all the same. Mended, it is tried again.
func ExampleService_FailedRuns() {
	ctx := context.Background()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{}, nil
	}))
	work := automation.New(store, out, nil)
	reports := report.New(store, work, out, nil)
	mended := false
	reports.Register(report.Type{
		Name: "sales", Template: notify.Template{Subject: "Sales until {{.Report.LocalDate}}"},
		Builder: report.BuilderFunc(func(context.Context, report.Run) (report.Report, error) {
			if !mended {
				return report.Report{}, automation.Permanent(errors.New("no such table: sales"))
			}
			return report.Report{}, nil
		}),
	})
	if _, err := reports.Create(ctx, mondays); err != nil {
		panic(err)
	}
	poller := belfry.NewPoller(store, nil, work, out)
	clk.Add(7 * 24 * time.Hour)
	if err := poller.Drain(ctx); err != nil {
		panic(err)
	}
	mended = true
	by := automation.By{Actor: "sam@support", Reason: "the table is back"}
	failed, next, err := reports.FailedRuns(ctx, "", storage.Page{Limit: 20})
	for _, run := range failed {
		fmt.Println(run.Key, run.HoldReason, run.Diagnostics)
		err = errors.Join(err, work.Support().Retry(ctx, "", run.Key, by))
	}
	fmt.Printf("%q %v %v\n", next, err, poller.Drain(ctx))
	// Output:
	// report-subscription:8f14:scheduled:2026-03-02T09:00:00Z PermanentFailure no such table: sales
	// kim@example.com - Sales until 2026-03-02
	// "" <nil> <nil>
}

// A subscription is read, changed and written back; its status is changed on its
// own, by somebody and for a reason.
func ExampleService_Update() {
	ctx := context.Background()
	clk, _, reports, poller := host(nil)
	if _, err := reports.Create(ctx, mondays); err != nil {
		panic(err)
	}
	by := report.By{Actor: "kim", Reason: "on leave"}
	sub, err := reports.Subscription(ctx, "", "8f14")
	if err != nil {
		panic(err)
	}
	sub.Recipients = []notify.Recipient{{Ref: "lee", Channel: "email:print", Address: "lee@example.com"}}
	sub, err = reports.Update(ctx, sub) // reaches the run that waits
	fmt.Println(sub.Status, err)
	clk.Add(26 * time.Hour)
	fmt.Println(poller.Drain(ctx))
	fmt.Println(reports.Pause(ctx, "", "8f14", by)) // ends the run that waits
	runs, _, err := reports.Runs(ctx, "", "8f14", storage.Page{})
	for _, r := range runs {
		fmt.Printf("%s %s %q\n", r.LocalDate, r.Status, r.Reason)
	}
	fmt.Println(err)
	// Output:
	// Active <nil>
	// lee@example.com - Sales until 2026-03-02: 12
	//   sales.csv: "shop,sum\nDublin,7\nCork,5\n"
	// <nil>
	// <nil>
	// 2026-03-09 Deactivated "SubscriptionInactive"
	// 2026-03-02 Completed ""
	// <nil>
}
