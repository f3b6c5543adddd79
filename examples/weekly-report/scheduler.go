package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/file"
)

// reportType is the type of all subscriptions.
const reportType = "branch-report"

// scheduler is the new side.
type scheduler struct {
	work    *automation.Scheduler
	reports *report.Service
	poller  *belfry.Poller
	down    bool
}

func newScheduler(store database, mails string) *scheduler {
	mail := file.New(mails, &file.Options{From: "New reports <new@firm.example>"})
	out := notify.New(store, nil, mail)
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	work := automation.New(store, out, &automation.Options{Zone: zoneOf, Logger: quiet})
	s := &scheduler{work: work, reports: report.New(store, work, out, nil), poller: belfry.NewPoller(store, nil, work, out)}
	s.reports.Register(report.Type{
		Name:     reportType,
		Guarded:  true, // nothing is due before a stage says so
		Builder:  report.BuilderFunc(build),
		Template: notify.Template{Subject: "{{.Report.Name}} of {{.Report.LocalDate}}{{if .Report.Manual}}, asked for{{end}}"},
	})
	return s
}

func zoneOf(_ context.Context, _ automation.Scope, unit string) (string, error) {
	for _, b := range branches {
		if b.name == unit {
			return b.zone, nil
		}
	}
	return "", fmt.Errorf("no branch %q", unit)
}

// build makes a CSV file, or the mail itself.
func build(_ context.Context, run report.Run) (report.Report, error) {
	part := report.Part{Name: "report.csv", MediaType: "text/csv", Write: func(_ context.Context, w io.Writer) error { return writeCSV(w) }}
	if string(run.Subscription.Parameters) == `"html"` {
		part = report.Part{Name: "stock.html", MediaType: "text/html", Body: true, Write: func(_ context.Context, w io.Writer) error { return writeHTML(w) }}
	}
	return report.Report{Parts: []report.Part{part}}, nil
}

// subscribe makes the subscriptions. Their ids are those of the old scheduler's
// jobs, which build the same keys from them.
func (s *scheduler) subscribe(ctx context.Context) error {
	for _, b := range branches {
		for _, r := range reports {
			format := `"csv"`
			if r.html {
				format = `"html"`
			}
			guid := b.name + "-" + r.name
			_, err := s.reports.Create(ctx, report.Subscription{
				GUID: guid, Type: reportType, Name: guid, BusinessUnit: b.name, Parameters: []byte(format),
				Cadence:    automation.Recurrence{Cron: fmt.Sprintf("0 %d * * %d", r.hour, r.weekday)},
				Recipients: []notify.Recipient{{Ref: b.name, Channel: "email:file", Address: b.name + "@firm.example"}},
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
