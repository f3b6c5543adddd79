package report_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
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

// host is what the examples have in common: a store at Sunday, 1 March 2026, and a
// type of report whose CSV is written line by line.
func host(settings *report.Options) (clk *clock.Mock, store storage.Store, reports *report.Service, poller *belfry.Poller) {
	clk = clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store = memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		for _, a := range m.Attachments {
			fmt.Printf("  %s: %q\n", a.Name, a.Data)
		}
		return channel.Receipt{}, nil
	}))
	work := automation.New(store, out, nil)
	reports = report.New(store, work, out, settings)
	reports.Register(report.Type{
		Name:     "sales",
		Template: notify.Template{Subject: "Sales until {{.Report.LocalDate}}: {{.Report.Data.Total}}"},
		Builder: report.BuilderFunc(func(_ context.Context, run report.Run) (report.Report, error) {
			lines := [][]string{{"shop", "sum"}, {"Dublin", "7"}, {"Cork", "5"}}
			return report.Report{Data: map[string]int{"Total": 12}, Parts: []report.Part{{
				Name: "sales.csv", MediaType: "text/csv",
				Write: func(_ context.Context, w io.Writer) error { return csv.NewWriter(w).WriteAll(lines) },
			}}}, nil
		}),
	})
	return clk, store, reports, belfry.NewPoller(store, nil, work, out)
}

var mondays = report.Subscription{
	GUID: "8f14", Type: "sales", Name: "Weekly sales", Zone: "Europe/Dublin",
	Cadence:    automation.Recurrence{Cron: "0 9 * * MON"},
	Recipients: []notify.Recipient{{Ref: "kim", Channel: "email:print", Address: "kim@example.com"}},
}

// Somebody subscribes to the sales of each week.
func Example() {
	ctx := context.Background()
	clk, _, reports, poller := host(nil)
	next, err := reports.Preview(ctx, mondays, 2)
	for _, o := range next {
		fmt.Println(o.LocalDate, o.LocalTime, o.Key)
	}
	if err != nil {
		panic(err)
	}
	if _, err := reports.Create(ctx, mondays); err != nil {
		panic(err)
	}
	for range 2 {
		clk.Add(7 * 24 * time.Hour)
		if err := poller.Drain(ctx); err != nil {
			panic(err)
		}
	}
	runs, _, err := reports.Runs(ctx, "", "8f14", storage.Page{})
	for _, r := range runs {
		fmt.Printf("%s %s %q\n", r.LocalDate, r.Status, r.Delivery.Summary)
	}
	fmt.Println(err)
	// Output:
	// 2026-03-02 09:00 report-subscription:8f14:scheduled:2026-03-02T09:00:00Z
	// 2026-03-09 09:00 report-subscription:8f14:scheduled:2026-03-09T09:00:00Z
	// kim@example.com - Sales until 2026-03-02: 12
	//   sales.csv: "shop,sum\nDublin,7\nCork,5\n"
	// kim@example.com - Sales until 2026-03-09: 12
	//   sales.csv: "shop,sum\nDublin,7\nCork,5\n"
	// 2026-03-16 Pending ""
	// 2026-03-09 Completed "recipients: 1, files: 1"
	// 2026-03-02 Completed "recipients: 1, files: 1"
	// <nil>
}

// A person does not want to wait for Monday. The id of the run comes back before
// anything is written, so that a click that is repeated runs nothing twice.
func ExampleService_RunNow() {
	ctx := context.Background()
	_, _, reports, poller := host(nil)
	if _, err := reports.Create(ctx, mondays); err != nil {
		panic(err)
	}
	by := report.By{Actor: "kim", Reason: "the board meets today"}
	asked, err := reports.RunNow(ctx, "", "8f14", "click-1", by)
	fmt.Println(asked.Outcome, asked.Key, err)
	again, err := reports.RunNow(ctx, "", "8f14", asked.Run, by)
	fmt.Println(again.Outcome, err)
	fmt.Println(poller.Drain(ctx))
	// Output:
	// Created report-subscription:8f14:manual:click-1 <nil>
	// Unchanged <nil>
	// kim@example.com - Sales until 2026-03-01: 12
	//   sales.csv: "shop,sum\nDublin,7\nCork,5\n"
	// <nil>
}

// A subscription is refused with all that is wrong with it.
func ExampleService_Validate() {
	_, _, reports, _ := host(nil)
	bad := mondays
	bad.Cadence.RRule, bad.Recipients = "FREQ=DAILY", nil
	fmt.Println(reports.Validate(context.Background(), bad))
	// Output: report: subscription "8f14": Recipients: is empty, and sales resolves none; Cadence: has both Cron and RRule
}

// The host serves the file behind a link, to whom it has let in.
func ExampleService_OpenFile() {
	ctx := context.Background()
	clk, _, reports, poller := host(&report.Options{Keep: 30 * 24 * time.Hour})
	if _, err := reports.Create(ctx, mondays); err != nil {
		panic(err)
	}
	clk.Add(7 * 24 * time.Hour)
	if err := poller.Drain(ctx); err != nil {
		panic(err)
	}
	in, file, err := reports.OpenFile(ctx, "", "report-subscription:8f14:scheduled:2026-03-02T09:00:00Z", "sales.csv")
	if err != nil {
		panic(err)
	}
	defer in.Close()
	content, err := io.ReadAll(in)
	fmt.Printf("%s %d bytes %q %v\n", file.MediaType, file.Blob.Size, content, err)
	// Output:
	// kim@example.com - Sales until 2026-03-02: 12
	//   sales.csv: "shop,sum\nDublin,7\nCork,5\n"
	// text/csv 25 bytes "shop,sum\nDublin,7\nCork,5\n" <nil>
}
