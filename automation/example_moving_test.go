package automation_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// oldTable is what a host with a cron job has: a date for each employee, and a
// sent_at column for each offset.
type oldTable struct {
	expires map[string]automation.Date
	sentAt  map[string]bool // "employee/days"
}

var daysBefore = []int{30, 7}

func (o oldTable) EventTypes() []string { return []string{"certificate-changed"} }

func (o oldTable) Candidates(_ context.Context, e automation.Event) (out []automation.Candidate, err error) {
	for _, days := range daysBefore {
		out = append(out, automation.Candidate{TargetDate: o.expires[e.Source.ID], DaysBefore: days})
	}
	return out, nil
}

// read is a query in earnest; here one page holds all.
func (o oldTable) read(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
	page := automation.ScanPage{Done: true}
	for _, id := range []string{"7", "8", "9"} {
		for _, days := range daysBefore {
			if due := o.expires[id].AddDays(-days); !due.Before(r.From) && !due.After(r.To) {
				page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{Type: "employee", ID: id}, Version: 1})
				break
			}
		}
	}
	return page, nil
}

// Validate is the guard: what the old job has sent is not sent again.
func (o oldTable) Validate(_ context.Context, d automation.Due) (automation.Validity, error) {
	if o.sentAt[fmt.Sprintf("%s/%d", d.Source.ID, d.DaysBefore)] {
		return automation.NoLongerValid("SentByOldJob"), nil
	}
	return automation.StillValid(), nil
}

// From a cron job and a sent_at column to Belfry: look, import, cut over.
func Example_movingOver() {
	ctx := context.Background()
	store, clk := open()
	old := oldTable{
		expires: map[string]automation.Date{
			"7": {Year: 2026, Month: 3, Day: 31}, // 30 days before: today
			"8": {Year: 2026, Month: 6, Day: 1},
			"9": {Year: 2026, Month: 3, Day: 8}, // 7 days before: today
		},
		sentAt: map[string]bool{"9/30": true},
	}
	out := notify.New(store, nil, notify.ChannelFunc("email:print", func(_ context.Context, m notify.Message) (notify.Receipt, error) {
		fmt.Println("sent:", m.Subject)
		return notify.Receipt{ID: "1"}, nil
	}))
	reminders := automation.New(store, out, &automation.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	t := certificate
	t.Template.Subject = "Your certificate, {{.Source.ID}}, expires on {{.TargetDate}}"
	t.Triggers, t.Validator = old, old
	t.Scan = &automation.Scan{Read: old.read, SourceType: "employee", Window: 90, Scopes: []automation.Scope{""}}
	reminders.Register(t)
	poller := belfry.NewPoller(store, nil, reminders, out)
	by := automation.By{Actor: "sam", Reason: "the cron job still sends"}
	all := automation.Extent{Everywhere: true, Type: "certificate"}

	// Nothing begins before this pause is over, whichever process has it.
	err := reminders.Support().Pause(ctx, all, time.Time{}, by)
	fmt.Println(err)

	// What would there be? Nothing is written.
	report, err := reminders.Upkeep().Reconcile(ctx, "", "certificate", &automation.ReconcileOptions{DryRun: true, FromStart: true})
	for _, d := range report.Differences {
		fmt.Println(d.Kind, d.Key)
	}
	fmt.Println("passed:", report.OffsetPassed, err)

	// The import.
	report, err = reminders.Upkeep().Reconcile(ctx, "", "certificate", &automation.ReconcileOptions{FromStart: true})
	fmt.Println("created:", report.Created, err)

	// 1 March, 09:30: the cron job has sent one of today's two, and is stopped.
	clk.Set(time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC))
	fmt.Println("paused:", poller.Drain(ctx))
	old.sentAt["9/7"] = true

	by.Reason = "the cron job is stopped"
	err = reminders.Support().Resume(ctx, all, by)
	fmt.Println(err)
	for range 2 {
		fmt.Println("drained:", poller.Drain(ctx))
	}
	story, err := reminders.Explain(ctx, "", "reminder:certificate:employee:9:default:2026-03-08:7")
	fmt.Println(story.Schedule.Status, story.Schedule.ReasonCode, err)
	// Output:
	// <nil>
	// WouldCreate reminder:certificate:employee:7:default:2026-03-31:30
	// WouldCreate reminder:certificate:employee:7:default:2026-03-31:7
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:30
	// WouldCreate reminder:certificate:employee:8:default:2026-06-01:7
	// WouldCreate reminder:certificate:employee:9:default:2026-03-08:7
	// passed: 1 <nil>
	// created: 5 <nil>
	// paused: <nil>
	// <nil>
	// sent: Your certificate, 7, expires on 2026-03-31
	// drained: <nil>
	// drained: <nil>
	// Deactivated SentByOldJob <nil>
}
