package automationhttp_test

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/automationhttp"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// Support asks for a report that somebody misses, and looks at what became of it.
func ExampleReportRuns() {
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
	reports.Register(report.Type{
		Name: "sales", Template: notify.Template{Subject: "Sales until {{.Report.LocalDate}}"},
		Builder: report.BuilderFunc(func(context.Context, report.Run) (report.Report, error) { return report.Report{}, nil }),
	})
	_, err := reports.Create(ctx, report.Subscription{
		GUID: "8f14", Type: "sales", Zone: "Europe/Dublin", Cadence: automation.Recurrence{Cron: "0 9 * * MON"},
		Recipients: []notify.Recipient{{Ref: "kim", Channel: "email:print", Address: "kim@example.com"}},
	})
	if err != nil {
		panic(err)
	}

	site := http.NewServeMux()
	site.Handle("/support/", http.StripPrefix("/support", automationhttp.ReportRuns(reports, whoIs, nil)))
	ask := func(method, path, body string) string {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer sam's")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		text, err := io.ReadAll(w.Body)
		if err != nil {
			panic(err)
		}
		return fmt.Sprintln(w.Code, w.Header()["Location"]) + string(text)
	}

	const runs = "/support/report-subscriptions/8f14/automation-runs"
	fmt.Print(ask("POST", runs, `{"reason": "the mail is lost", "manualRunGuid": "again-1"}`))
	fmt.Print(ask("POST", runs, `{"reason": "a click too much", "manualRunGuid": "again-1"}`))
	if err := belfry.NewPoller(store, nil, work, out).Drain(ctx); err != nil {
		panic(err)
	}
	fmt.Println(strings.Contains(ask("GET", runs+"/manual:again-1/delivery", ""), `"recipientRef":"kim","channel":"email:print","status":"SentToProvider"`))
	// Output:
	// 201 [automation-runs/manual:again-1]
	// {"manualRunGuid":"again-1","run":"manual:again-1","schedulerKey":"report-subscription:8f14:manual:again-1","outcome":"Created","status":"Pending","scheduledOn":"2026-03-01T08:00:00Z","isOnSupportHold":false}
	// 200 [automation-runs/manual:again-1]
	// {"manualRunGuid":"again-1","run":"manual:again-1","schedulerKey":"report-subscription:8f14:manual:again-1","outcome":"Unchanged","status":"Pending","scheduledOn":"2026-03-01T08:00:00Z","isOnSupportHold":false}
	// kim@example.com - Sales until 2026-03-01
	// true
}

// whoIs is the host's: here a word that only Sam knows.
func whoIs(r *http.Request) (automationhttp.Caller, error) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer sam's")) == 0 {
		return automationhttp.Caller{}, errors.New("unknown caller")
	}
	return automationhttp.Caller{Read: true, Run: true, Actor: "sam@support"}, nil
}
