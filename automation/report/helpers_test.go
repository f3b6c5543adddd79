package report_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var support = report.By{Actor: "sam@support", Reason: "asked by the customer"}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// world is a small host with one type of report, and one process that runs it.
type world struct {
	*testing.T
	ctx     context.Context
	store   storage.Store
	clk     *clock.Mock
	work    *automation.Scheduler
	out     *notify.Notifier
	reports *report.Service
	poller  *belfry.Poller

	mu     sync.Mutex // guards what follows, which passes write
	build  func(ctx context.Context, run report.Run) (report.Report, error)
	built  []report.Run
	sent   []channel.Message
	refuse error  // what channels answer; nil: they accept
	unit   string // the zone of the business unit "north"
}

// eachWorld runs a story on every adapter. The clock begins on Sunday, 1 March
// 2026, 08:00 UTC.
func eachWorld(t *testing.T, story func(w *world)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		story(newWorld(t, store, clk, nil))
	})
}

func newWorld(t *testing.T, store storage.Store, clk *clock.Mock, change func(*report.Type)) *world {
	w := &world{T: t, ctx: t.Context(), store: store, clk: clk, build: salesReport, unit: "Europe/Dublin"}
	w.out = notify.New(store, &notify.Options{Logger: quiet}, channel.Func("email:print", w.send), channel.Func("sms:print", w.send))
	w.work = automation.New(store, w.out, &automation.Options{Logger: quiet, Zone: func(_ context.Context, _ automation.Scope, unit string) (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return map[string]string{"north": w.unit}[unit], nil
	}})
	w.reports = report.New(store, w.work, w.out, nil)
	sales := report.Type{
		Name: "sales", Builder: report.BuilderFunc(w.builds),
		Template:  notify.Template{Subject: "{{.Report.Name}} of {{.Report.LocalDate}}", Text: "plain for {{.Recipient.Name}}"},
		Templates: map[string]notify.Renderer{"loud": notify.Template{Subject: "LOUD {{.Report.Name}}", Text: "{{range .Report.Files}}{{.URL}}{{end}}"}},
		Link: func(_ context.Context, run report.Run, f notify.AttachmentRef) (string, error) {
			return "https://reports.example/" + run.Subscription.GUID + "/" + f.Name, nil
		},
	}
	if change != nil {
		change(&sales)
	}
	w.reports.Register(sales)
	w.poller = w.newPoller(0)
	return w
}

func (w *world) newPoller(lease time.Duration) *belfry.Poller {
	return belfry.NewPoller(w.store, &belfry.Options{Logger: quiet, Lease: lease}, w.work, w.out)
}

func (w *world) builds(ctx context.Context, run report.Run) (report.Report, error) {
	w.mu.Lock()
	w.built = append(w.built, run)
	build := w.build
	w.mu.Unlock()
	return build(ctx, run)
}

func (w *world) send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return channel.Receipt{}, w.refuse
	}
	w.sent = append(w.sent, m)
	return channel.Receipt{ID: fmt.Sprint(len(w.sent))}, nil
}

// salesReport is a CSV of one line.
func salesReport(_ context.Context, run report.Run) (report.Report, error) {
	return report.Report{Summary: "1 line", Data: map[string]int{"Lines": 1}, Parts: []report.Part{text("sales.csv", "text/csv", "day,sum\n"+run.LocalDate.String()+",7\n")}}, nil
}

func text(name, mediaType, content string) report.Part {
	return report.Part{Name: name, MediaType: mediaType, Write: func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(content))
		return err
	}}
}

// weekly is a subscription for Mondays at nine with what a change function adds.
func weekly(change func(*report.Subscription)) report.Subscription {
	sub := report.Subscription{
		GUID: "g-1", Type: "sales", Name: "Sales", BusinessUnit: "north",
		Cadence:    automation.Recurrence{Cron: "0 9 * * 1"},
		Recipients: []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com", Name: "Sam"}},
	}
	if change != nil {
		change(&sub)
	}
	return sub
}

func (w *world) create(sub report.Subscription) report.Subscription {
	w.Helper()
	saved, err := w.reports.Create(w.ctx, sub)
	if err != nil {
		w.Fatal(err)
	}
	return saved
}

func (w *world) update(sub report.Subscription) report.Subscription {
	w.Helper()
	saved, err := w.reports.Update(w.ctx, sub)
	if err != nil {
		w.Fatal(err)
	}
	return saved
}

func (w *world) get(guid string) report.Subscription {
	w.Helper()
	sub, err := w.reports.Subscription(w.ctx, "", guid)
	if err != nil {
		w.Fatal(err)
	}
	return sub
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// pollAt moves the clock and does all that is due. It returns what was sent.
func (w *world) pollAt(on time.Time) []channel.Message {
	w.Helper()
	w.mu.Lock()
	before := len(w.sent)
	w.mu.Unlock()
	if !on.IsZero() {
		w.clk.Set(on)
	}
	w.must(w.poller.Drain(w.ctx))
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent[before:])
}

// runs tells of each run of a subscription how it stands, the latest first.
func (w *world) runs(guid string) []string {
	w.Helper()
	all, next, err := w.reports.Runs(w.ctx, "", guid, storage.Page{})
	if err != nil || next != "" {
		w.Fatal(err, next)
	}
	var out []string
	for _, r := range all {
		_, short, _ := strings.Cut(r.Key, guid+":")
		line := short + " " + r.Status
		if r.Reason != "" {
			line += " " + string(r.Reason)
		}
		if r.IsOnSupportHold {
			line += " held " + r.HoldReason
		}
		out = append(out, line)
	}
	return out
}

func (w *world) run(key string) report.RunDetail {
	w.Helper()
	d, err := w.reports.Run(w.ctx, "", key)
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func subjects(messages []channel.Message) []string {
	var out []string
	for _, m := range messages {
		out = append(out, m.To+": "+m.Subject)
	}
	slices.Sort(out)
	return out
}

func at(m time.Month, day, hour, minute int) time.Time {
	return time.Date(2026, m, day, hour, minute, 0, 0, time.UTC)
}

// paths lists the fields that were refused.
func paths(err error) []string {
	var invalid *report.InvalidError
	if !errors.As(err, &invalid) {
		return []string{fmt.Sprint(err)}
	}
	var out []string
	for _, f := range invalid.Faults {
		out = append(out, f.Path)
	}
	return out
}

// blobs counts those that are stored.
func (w *world) blobs() int {
	w.Helper()
	n := 0
	w.must(w.store.InTx(w.ctx, func(tx storage.Tx) (err error) {
		n, err = tx.Count(w.ctx, driver.Schemas()[0], driver.Within(""), nil, 1000)
		return err
	}))
	return n
}
