package supporthttp_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// BenchmarkPages asks for each page of the console, beside ten thousand messages with their
// jobs, schedules and inbox rows, and as many reminders; a million of each at level nightly.
func BenchmarkPages(b *testing.B) {
	rows, wall := 10_000, clock.New()
	if testlevel.Has(b, testlevel.Nightly) {
		rows = 1_000_000
	}
	pages := map[string]string{
		"home": "", "person": "story?person=q7q00041", "search": "search?q=q7q00041", "search for nobody": "search?q=nobody", "address": "search?q=q7q00041@example.com",
		"messages": "messages", "failed messages": "messages?state=Failed", "reminders": "list?of=reminders", "audit": "list?of=audit", "holds": "list?of=holds", "entity": "story?type=employee&id=q7q00041",
		"what goes out": "calendar",
	}
	for adapter, open := range map[string]func(testing.TB, clock.Clock) storage.Store{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(adapter, func(b *testing.B) {
			site := crowded(b, open, rows)
			for name, path := range pages {
				b.Run(name, func(b *testing.B) {
					var took []time.Duration
					for b.Loop() {
						w := httptest.NewRecorder()
						began := wall.Now()
						site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/support/"+path, nil))
						took = append(took, wall.Since(began))
						if w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
							b.Fatalf("%s: %d %.300s", path, w.Code, w.Body)
						}
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2])/1e6, "ms/median")
					b.ReportMetric(float64(took[len(took)*99/100])/1e6, "ms/p99")
				})
			}
		})
	}
}

// crowded is a console over so many rows of each kind: ten thousand that were made as always,
// and the server's own copies of them.
func crowded(b *testing.B, open func(testing.TB, clock.Clock) storage.Store, rows int) http.Handler {
	b.Helper()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := open(b, clk)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	out := notify.New(store, &notify.Options{Logger: quiet}, channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		return channel.Receipt{ID: m.ID}, nil
	}))
	out.Register(notify.Type{Name: "news", Renderer: notify.Template{Subject: "News, {{.Recipient.Name}}", Text: "All is well."}})
	reminders := automation.New(store, out, &automation.Options{Logger: quiet})
	reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
	})
	const made = 10_000
	for first := 0; first < made; first += 1000 {
		var jobs []notify.Job
		var schedules []notify.Schedule
		var wishes []automation.Candidate
		for i := first; i < first+1000; i++ {
			who := fmt.Sprintf("q7q%05d", i)
			j := notify.Job{
				Type: "news", PartitionKey: "person:" + who, RowKey: "news:" + who, EventData: []byte(`{}`),
				Recipients: []notify.Recipient{{Ref: who, Name: "Sam", Channel: "email:test", Address: who + "@example.com", Inbox: "user:" + who}},
			}
			jobs, schedules = append(jobs, j), append(schedules, notify.ScheduleFor(j, time.Time{}))
			wishes = append(wishes, automation.Candidate{
				Type: "certificate", Source: automation.Source{Type: "employee", ID: who}, Person: who, TargetDate: automation.Date{Year: 2026, Month: 4, Day: 1 + i%28}, DaysBefore: 7,
			})
		}
		_, err := out.EnsureNotificationJob(b.Context(), nil, jobs...)
		must(b, err)
		_, err = out.EnsureNotificationScheduler(b.Context(), nil, schedules...)
		must(b, err)
		_, err = reminders.Ensure(b.Context(), wishes...)
		must(b, err)
	}
	must(b, belfry.NewPoller(store, &belfry.Options{Logger: quiet}, out, reminders).Drain(b.Context()))
	multiply(b, store.(interface{ DB() *sql.DB }).DB(), made, rows)
	clk.Add(time.Hour)
	desk := support.New(support.Options{Store: store, Automation: reminders, Notify: out})
	return supporthttp.New(desk, supporthttp.Options{Logger: quiet, Authorise: func(*http.Request) (supporthttp.Caller, error) { return everyTenantless, nil }})
}

// everyTenantless sees and does all in the empty scope.
var everyTenantless = supporthttp.Caller{Actor: "kim", Read: true, Act: support.Actions(), Personal: true}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func columnsOf(b *testing.B, db *sql.DB, table string) []*sql.ColumnType {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), "SELECT * FROM "+table+" LIMIT 1")
	must(b, err)
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	must(b, err)
	must(b, rows.Err())
	return columns
}

// multiply writes the rows of the tables that messages and reminders are in, of which there
// are so many of each, until there are rows of each, under other names.
func multiply(b *testing.B, db *sql.DB, made, rows int) {
	b.Helper()
	for _, table := range []string{"notification_job", "notification_scheduler", "outgoing_message", "user_message", "automation_scheduler"} {
		columns := columnsOf(b, db, table)
		_, err := db.ExecContext(b.Context(), "CREATE TABLE pattern_"+table+" AS SELECT * FROM "+table)
		must(b, err)
		for n := 1; n < rows/made; n++ {
			var names, values []string
			for _, c := range columns {
				name, kind := `"`+c.Name()+`"`, strings.ToUpper(c.DatabaseTypeName())
				if c.Name() == "id" {
					continue
				}
				names = append(names, name)
				if kind == "TEXT" || kind == "JSONB" || kind == "JSON" {
					name = fmt.Sprintf("replace(CAST(%s AS text), 'q7q', 'q%dqq')", name, n)
					if kind != "TEXT" {
						name = "CAST(" + name + " AS " + kind + ")"
					}
				}
				values = append(values, name)
			}
			_, err = db.ExecContext(b.Context(), "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") SELECT "+strings.Join(values, ", ")+" FROM pattern_"+table)
			must(b, err)
		}
		_, err = db.ExecContext(b.Context(), "DROP TABLE pattern_"+table)
		must(b, err)
		var there int
		must(b, db.QueryRowContext(b.Context(), "SELECT count(*) FROM "+table).Scan(&there))
		if there != rows {
			b.Fatalf("%d rows of %s, want %d", there, table, rows)
		}
	}
	_, err := db.ExecContext(b.Context(), "ANALYZE")
	must(b, err)
}
