package settings_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // the tests run on machines without zone data

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is a small host: people whose certificates expire, settings in our
// tables, and one process that reminds them.
type world struct {
	*testing.T
	ctx       context.Context
	store     storage.Store
	clk       *clock.Mock
	settings  *settings.Settings
	reminders *automation.Scheduler
	poller    *belfry.Poller

	targets []settings.Target // of employee 7, and of all if
	all     bool
	mu      sync.Mutex       // guards sent and due, which passes write
	sent    []string         // channel and subject
	due     []automation.Due // what recipients were asked about
	version int64            // of the last event; zero: the source has no versions
}

// eachWorld runs a story on every adapter. The clock begins on Sunday, 1 March
// 2026, 08:00 UTC.
func eachWorld(t *testing.T, story func(w *world)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		story(newWorld(t, store, clk))
	})
}

func newWorld(t *testing.T, store storage.Store, clk *clock.Mock) *world {
	w := &world{T: t, ctx: t.Context(), store: store, clk: clk, version: 1}
	w.settings = settings.New(store, nil)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	out := notify.New(store, &notify.Options{Logger: quiet}, w.channel("email:print"), w.channel("sms:print"))
	w.reminders = automation.New(store, out, &automation.Options{
		Settings: w.settings, Zone: w.settings.Zone, Logger: quiet,
	})
	w.reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "UTC",
		Template: notify.Template{Subject: "{{.TargetDate}}-{{.DaysBefore}}"},
		Triggers: w.settings.Triggers("certificate", w.load, "certificate-changed"),
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.due = append(w.due, d)
			return []notify.Recipient{
				{Ref: "sam", Channel: "email:print", Address: "sam@example.com"},
				{Ref: "sam", Channel: "sms:print", Address: "+353871234567"},
			}, nil
		}),
		Policy:      automation.DeliveryPolicyFunc(settings.KeepChannels),
		BusinessDay: w.settings.BusinessDay,
	})
	w.poller = belfry.NewPoller(store, &belfry.Options{Logger: quiet}, w.reminders, out)
	return w
}

func (w *world) channel(key string) channel.Channel {
	return channel.Func(key, func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent = append(w.sent, key+" "+m.Subject)
		return channel.Receipt{ID: fmt.Sprint(len(w.sent))}, nil
	})
}

func (w *world) load(_ context.Context, of []automation.Request) ([]settings.Targets, error) {
	return automation.Each(of, func(r automation.Request) (settings.Targets, error) {
		if r.Source.ID != "7" && !w.all {
			return settings.Targets{}, nil
		}
		return settings.Targets{Targets: w.targets}, nil
	})
}

// firstOfMay is a Friday.
var firstOfMay = automation.Date{Year: 2026, Month: 5, Day: 1}

// expiry is a setting with what a change function adds.
func expiry(change func(*settings.ReminderSetting)) settings.ReminderSetting {
	r := settings.ReminderSetting{
		ID: "expiry", Type: "certificate", Name: "Certificates that expire", Active: true,
		Offsets: []int{30, 7}, SendAt: "09:00", Channels: []string{"email:print"}, Template: "plain",
	}
	if change != nil {
		change(&r)
	}
	return r
}

func (w *world) save(r settings.ReminderSetting) settings.ReminderSetting {
	w.Helper()
	saved, err := w.settings.SaveReminder(w.ctx, r)
	if err != nil {
		w.Fatal(err)
	}
	return saved
}

func (w *world) saveUnit(u settings.BusinessUnit) settings.BusinessUnit {
	w.Helper()
	saved, err := w.settings.SaveBusinessUnit(w.ctx, u)
	if err != nil {
		w.Fatal(err)
	}
	return saved
}

func unit(id, zone string) settings.BusinessUnit {
	return settings.BusinessUnit{ID: id, Name: "Unit " + id, Zone: zone}
}

// changeReachesSources is how a change of settings reaches the rows: the events
// of the sources are told again.
func (w *world) changeReachesSources() automation.EventResult {
	w.Helper()
	if w.version != 0 {
		w.version++
	}
	got, err := w.reminders.HandleEvent(w.ctx, automation.Event{
		Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: w.version,
	})
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// key is that of a row of employee 7 and the setting "expiry".
func key(date string, days int) string {
	return fmt.Sprintf("reminder:expiry:employee:7:default:%s:%d", date, days)
}

// stored is a row, and by what a write or another row in its place is seen.
type stored struct {
	automation.Schedule
	ID, Version int64
}

func (w *world) row(key string) stored {
	w.Helper()
	e, err := w.reminders.Explain(w.ctx, "", key)
	if err != nil || e.Schedule == nil {
		w.Fatalf("%s: %v %v", key, e, err)
	}
	record := storetest.Record(w, w.store, automation.Schemas()[0], driver.ScopedKey{Key: key})
	return stored{*e.Schedule, record.ID, record.Version}
}

// statuses says what became of the rows.
func (w *world) statuses(keys ...string) map[string]string {
	w.Helper()
	out := map[string]string{}
	for _, k := range keys {
		row := w.row(k)
		out[k] = row.Status
		if row.ReasonCode != "" {
			out[k] += " " + row.ReasonCode
		}
	}
	return out
}

// pollAt moves the clock and does all that is due. It returns what was sent.
func (w *world) pollAt(on time.Time) []string {
	w.Helper()
	before := len(w.sent)
	w.clk.Set(on)
	if err := w.poller.Drain(w.ctx); err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := slices.Clone(w.sent[before:])
	slices.Sort(sent)
	return sent
}

func at(m time.Month, day, hour int) time.Time {
	return time.Date(2026, m, day, hour, 0, 0, 0, time.UTC)
}
