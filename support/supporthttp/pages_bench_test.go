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

// BenchmarkPages asks for each page of the console, beside so many messages with their jobs,
// schedules and inbox rows, and as many reminders: ten thousand, a million of each at level
// nightly. Half of them are another tenant's, one in a hundred is on hold, one has failed,
// and one has ended without a message. A third tenant has ten of each, older than all others.
func BenchmarkPages(b *testing.B) {
	rows := 10_000
	if testlevel.Has(b, testlevel.Nightly) {
		rows = 1_000_000
	}
	for adapter, open := range map[string]func(testing.TB, clock.Clock) storage.Store{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(adapter, func(b *testing.B) {
			o := crowded(b, open, rows)
			for scope, who := range map[storage.Scope]string{"": "q7q00041", "west": "west00004"} {
				for name, ask := range o.pages(b, scope, who) {
					b.Run(strings.TrimSpace(string(scope)+" "+name), func(b *testing.B) { timed(b, ask) })
				}
			}
		})
	}
}

// timed reports the median, and the time that one in a hundred is over.
func timed(b *testing.B, ask func(testing.TB)) {
	b.Helper()
	wall := clock.New()
	var took []time.Duration
	for b.Loop() {
		began := wall.Now()
		ask(b)
		took = append(took, wall.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2])/1e6, "ms/median")
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "ms/p99")
}

// crowd is a console over many rows.
type crowd struct {
	out  *notify.Notifier
	site func(storage.Scope) http.Handler
}

// pages are requests of each page by a caller of a tenant, about one of its people.
func (o crowd) pages(b *testing.B, scope storage.Scope, who string) map[string]func(testing.TB) {
	b.Helper()
	messages, _, err := o.out.Support().MessagesOf(b.Context(), scope, notify.Recipient{Ref: who}, storage.Page{Limit: 1})
	must(b, err)
	site, out := o.site(scope), map[string]func(testing.TB){}
	send := func(t testing.TB, r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		if w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %.300s", r.URL, w.Code, w.Body)
		}
		return w
	}
	for name, path := range map[string]string{
		"home": "", "person": "story?person=" + who, "message": "message?id=" + messages[0].MessageID, "messages": "messages?from=2026-03-01&to=2026-03-02",
		"failed messages": "messages?from=2026-03-01&to=2026-03-02&state=Failed", "reminders": "list?of=reminders", "reminders that sent nothing": "reminders?from=2026-03-01&to=2026-03-31", "audit": "list?of=audit", "holds": "list?of=holds",
		"messages on hold": "needs?kind=Doubt&domain=notify&table=outgoing_message&reason=OutcomeUnknown", "entity": "story?type=employee&id=" + who, "what goes out": "calendar",
	} {
		out[name] = func(t testing.TB) { send(t, httptest.NewRequest(http.MethodGet, "/support/"+path, nil)) }
	}
	for name, text := range map[string]string{"search": who, "search for what is not there": "nothing", "search for an address": who + "@example.com"} {
		out[name] = func(t testing.TB) { // as a browser does
			r := httptest.NewRequest(http.MethodPost, "/support/search", strings.NewReader("q="+text))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			to := send(t, r).Header().Get("Location")
			send(t, httptest.NewRequest(http.MethodGet, "/support/"+to, nil))
		}
	}
	return out
}

// crowded is a console over so many rows of each kind: ten thousand that were made as always,
// and the server's own copies of them, of which each second is another tenant's.
func crowded(b *testing.B, open func(testing.TB, clock.Clock) storage.Store, rows int) crowd {
	b.Helper()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := open(b, clk)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	out := notify.New(store, &notify.Options{Logger: quiet}, channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		switch {
		case strings.HasSuffix(m.To, "00@example.com"):
			return channel.Receipt{}, channel.Permanent("550", nil)
		case strings.HasSuffix(m.To, "01@example.com"):
			return channel.Receipt{}, channel.Unknown("timeout", nil)
		}
		return channel.Receipt{ID: m.ID}, nil
	}))
	out.Register(notify.Type{Name: "news", InDoubt: notify.Hold, Renderer: notify.Template{Subject: "News, {{.Recipient.Name}}", Text: "All is well."}})
	reminders := automation.New(store, out, &automation.Options{Logger: quiet})
	reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC", Template: notify.Template{Subject: "It expires"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }),
	})
	poller := belfry.NewPoller(store, &belfry.Options{Logger: quiet}, out, reminders)
	fill := func(scope storage.Scope, name string, first, n int) {
		b.Helper()
		var jobs []notify.Job
		var schedules []notify.Schedule
		var wishes []automation.Candidate
		for i := first; i < first+n; i++ {
			who := fmt.Sprintf("%s%05d", name, i)
			j := notify.Job{
				Scope: scope, Type: "news", PartitionKey: "person:" + who, RowKey: "news:" + who, EventData: []byte(`{}`),
				Recipients: []notify.Recipient{{Ref: who, Name: "Sam", Channel: "email:test", Address: who + "@example.com", Inbox: "user:" + who}},
			}
			jobs, schedules = append(jobs, j), append(schedules, notify.ScheduleFor(j, time.Time{}))
			wishes = append(wishes, automation.Candidate{
				Scope: scope, Type: "certificate", Source: automation.Source{Type: "employee", ID: who}, Person: who, TargetDate: automation.Date{Year: 2026, Month: 3, Day: 9 + i%20}, DaysBefore: 7,
			})
		}
		_, err := out.EnsureNotificationJob(b.Context(), nil, jobs...)
		must(b, err)
		_, err = out.EnsureNotificationScheduler(b.Context(), nil, schedules...)
		must(b, err)
		got, err := reminders.Ensure(b.Context(), wishes...)
		must(b, err)
		for i := 0; i < len(got); i += 100 {
			must(b, reminders.Support().Hold(b.Context(), scope, got[i].Key, automation.By{Actor: "kim", Reason: "a call"}))
			_, err := reminders.Type("certificate").For(scope).Clear(b.Context(), automation.About{ID: wishes[(i+1)%len(wishes)].Source.ID, SourceType: "employee"})
			must(b, err)
		}
	}
	fill("west", "west", 0, 10)
	must(b, poller.Drain(b.Context()))
	const made = 10_000
	for first := 0; first < made; first += 1000 {
		fill("", "q7q", first, 1000)
	}
	for range 2 { // what is in doubt is looked for once
		must(b, poller.Drain(b.Context()))
		clk.Add(time.Hour)
	}
	multiply(b, store.(interface{ DB() *sql.DB }).DB(), made, rows)
	desk := support.New(support.Options{Store: store, Automation: reminders, Notify: out})
	return crowd{out, func(scope storage.Scope) http.Handler {
		caller := supporthttp.Caller{Actor: "kim", Scope: scope, Read: true, Act: support.Actions(), Personal: true}
		return supporthttp.New(desk, supporthttp.Options{Logger: quiet, Authorise: func(*http.Request) (supporthttp.Caller, error) { return caller, nil }})
	}}
}

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

// multiply writes the rows of the tables that messages and reminders are in, of which the
// empty scope has so many of each, until there are rows of each, under other names: by turns
// as another tenant's and as its own.
func multiply(b *testing.B, db *sql.DB, made, rows int) {
	b.Helper()
	for _, table := range []string{"notification_job", "notification_scheduler", "outgoing_message", "user_message", "automation_scheduler"} {
		columns := columnsOf(b, db, table)
		_, err := db.ExecContext(b.Context(), "CREATE TABLE pattern_"+table+" AS SELECT * FROM "+table+" WHERE scope = ''")
		must(b, err)
		for n := 1; n < rows/made; n++ {
			var names, values []string
			for _, c := range columns {
				name, kind := `"`+c.Name()+`"`, strings.ToUpper(c.DatabaseTypeName())
				if c.Name() == "id" {
					continue
				}
				names = append(names, name)
				if c.Name() == "scope" {
					values = append(values, []string{"''", "'south'"}[n%2])
					continue
				}
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
		must(b, db.QueryRowContext(b.Context(), "SELECT count(*) FROM "+table+" WHERE scope <> 'west'").Scan(&there))
		if there != rows {
			b.Fatalf("%d rows of %s, want %d", there, table, rows)
		}
	}
	_, err := db.ExecContext(b.Context(), "ANALYZE")
	must(b, err)
}
