// Command weekly-report sends reports that people subscribe to: three branches in
// three zones get a CSV file each Monday at nine, and in March the clocks change in
// two of them. Somebody asks for one at once. In the end another report moves from an
// old cron job to Belfry, stage by stage.
//
//	go run ./examples/weekly-report
package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

var by = automation.By{Actor: "ann", Reason: "to show it"}

// branches are the business units, and where their clocks are.
var branches = map[string]string{
	"dublin":  "Europe/Dublin",    // the clocks change on 29 March
	"newyork": "America/New_York", // on 8 March
	"riyadh":  "Asia/Riyadh",
}

func zoneOf(_ context.Context, _ automation.Scope, unit string) (string, error) {
	return branches[unit], nil
}

// build makes a report when its run is due.
func build(_ context.Context, run report.Run) (report.Report, error) {
	sales := [][]string{{"shop", "sum"}, {run.Subscription.BusinessUnit, "7"}} // a query in earnest
	return report.Report{Parts: []report.Part{{Name: "sales.csv", MediaType: "text/csv", Write: func(_ context.Context, w io.Writer) error {
		return csv.NewWriter(w).WriteAll(sales)
	}}}}, nil
}

func main() {
	ctx, clk := context.Background(), clock.NewMock() // a real program leaves the clock out
	clk.Set(time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		unit, _, _ := strings.Cut(m.To, "@")
		zone := must(time.LoadLocation(branches[unit]))
		fmt.Printf("  %s  %-17s %s: %q\n", clk.Now().In(zone).Format("Mon _2 Jan 15:04 -0700"), m.To, m.Subject, m.Attachments[0].Data)
		return channel.Receipt{ID: m.ID}, nil
	}))
	work := automation.New(store, out, &automation.Options{Zone: zoneOf})
	reports := report.New(store, work, out, nil)
	t := report.Type{
		Name: "sales", Builder: report.BuilderFunc(build),
		Template: notify.Template{Subject: "{{.Report.Name}} of {{.Report.LocalDate}}{{if .Report.Manual}}, asked for{{end}}"},
	}
	reports.Register(t)
	t.Name, t.Guarded = "stock", true // nothing is due before a stage says so
	reports.Register(t)
	subscribe := func(unit, kind, cron string) {
		must(reports.Create(ctx, report.Subscription{
			GUID: unit + "-" + kind, Type: kind, Name: kind, BusinessUnit: unit, Cadence: automation.Recurrence{Cron: cron},
			Recipients: []notify.Recipient{{Ref: unit, Channel: "email:print", Address: unit + "@firm.example"}},
		}))
	}
	poller := belfry.NewPoller(store, nil, work, out)
	until := func(end time.Time) {
		for ; clk.Now().Before(end); clk.Add(time.Hour) {
			must(0, poller.Drain(ctx))
		}
	}

	for unit := range branches {
		subscribe(unit, "sales", "0 9 * * MON")
	}
	until(at(3, 10, 0))
	must(reports.RunNow(ctx, "", "dublin-sales", "no-17", by))
	until(at(3, 31, 0))
	runs, _, err := reports.Runs(ctx, "", "dublin-sales", storage.Page{})
	for _, r := range must(runs, err) {
		fmt.Println(r.Key, r.Status)
	}

	// A cron job sends the stock of Dublin until now. Both sides know the key of a run,
	// and whoever marks it in the guard may send it: see docs/migrating.md.
	subscribe("dublin", "stock", "0 17 * * THU")
	for week, stage := range []automation.Stage{automation.StageDesign, automation.StageShadow, automation.StageRunNow, automation.StageScheduled} {
		if stage > automation.StageDesign {
			must(work.Rollout().MoveRollout(ctx, automation.RolloutPart{Type: "stock"}, stage, by, nil))
		}
		on := at(4, 2+7*week, 16) // 17:00 in Dublin
		until(on)
		key := must(keys.ReportRun{Subscription: "dublin-stock", On: on}.Key())
		must(0, store.InTx(ctx, func(tx storage.Tx) error { // in the transaction that creates what the cron job sends
			answers, err := work.WithTx(tx).Rollout().DeliverForOldScheduler(ctx, "", automation.OldRun{Key: key})
			fmt.Printf("stage %s: the cron job may send the stock of %s: %t\n", stage, on.Format(time.DateOnly), answers[0].Granted)
			return err
		}))
		until(on.Add(2 * time.Hour))
	}
}

func at(month time.Month, day, hour int) time.Time {
	return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
}

func must[T any](got T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return got
}
