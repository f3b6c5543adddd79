package belfry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/outage"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// failsWith fails a test unless err has the text, or is nil where that is empty.
func failsWith(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil && text != "" || err != nil && (text == "" || !strings.Contains(err.Error(), text)) {
		t.Errorf("%s: %v, want %q", what, err, text)
	}
}

func TestAPollerIsReadyFromItsFirstPollsToItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWhole(nil)
		failsWith(t, "before Run", w.poller.Ready(t.Context()), "does not run")
		failsWith(t, "before Run, live", w.poller.Live(), "")
		stop := w.run(t)
		pass(2 * time.Second)
		failsWith(t, "in Run", w.poller.Ready(t.Context()), "")
		stop()
		failsWith(t, "after Run", w.poller.Ready(t.Context()), "does not run")
	})
}

// It begins while the database is away: not ready, and no reason to be restarted.
func TestAPollerIsNotReadyWithoutItsStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWhole(nil)
		w.down.Store(true)
		stop := w.run(t)
		pass(time.Hour)
		if err := w.poller.Ready(t.Context()); !errors.Is(err, storage.ErrUnavailable) {
			t.Error(err)
		}
		failsWith(t, "live", w.poller.Live(), "")
		w.down.Store(false)
		pass(3 * time.Second)
		failsWith(t, "it is back", w.poller.Ready(t.Context()), "")
		w.down.Store(true)
		if err := w.poller.Ready(t.Context()); !errors.Is(err, storage.ErrUnavailable) || !strings.Contains(err.Error(), "the store does not answer") {
			t.Error("at once:", err)
		}
		stop()
	})
}

// A pass that alone cannot poll is named, with the moment of its last answer.
func TestReadyNamesThePassThatCannotPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWhole(nil)
		stop := w.run(t)
		pass(1500 * time.Millisecond)
		w.store.SetHook(func(c storetest.Call) error {
			if c.Verb == storetest.Next && c.Table == "messaging_job" {
				return storage.ErrBusy
			}
			return nil
		})
		pass(5 * time.Second)
		failsWith(t, "a few polls", w.poller.Ready(t.Context()), "")
		pass(10 * time.Second)
		err := w.poller.Ready(t.Context())
		failsWith(t, "none", err, "notify.campaign has not polled since 2000-01-01T00:00:01Z (15s)")
		if !errors.Is(err, storage.ErrBusy) {
			t.Error(err)
		}
		stop()
	})
}

// A handler that hangs takes all the room of its pass. The loop waits, and no restart
// would mend the provider.
func TestHandlersThatHangLeaveAPollerLiveAndReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWhole(func(o *belfry.Options) { o.Batch, o.InFlight, o.Concurrency, o.Grace = 1, 1, 1, time.Second })
		hang := make(chan struct{})
		w.out.Register(notify.Type{Name: "visit", Renderer: notify.RendererFunc(func(context.Context, notify.Job, notify.Recipient) (notify.Content, error) {
			<-hang
			return notify.Content{}, errors.New("late")
		})})
		stop := w.run(t)
		_, err := w.out.Notify(t.Context(), notify.Job{
			Type: "visit", PartitionKey: "car-7", RowKey: "reminder:visit:7",
			Recipients: []notify.Recipient{{Ref: "sam", Channel: w.channel.Key(), Address: "sam@example.com"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		failsWith(t, "ready", w.poller.Ready(t.Context()), "")
		failsWith(t, "live", w.poller.Live(), "")
		close(hang)
		pass(time.Second)
		failsWith(t, "ready again", w.poller.Ready(t.Context()), "")
		stop()
	})
}

// A loop that does not come round is stuck, whatever holds it.
func TestLiveNamesThePassThatIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWhole(nil)
		stop := w.run(t)
		pass(1500 * time.Millisecond)
		hang := make(chan struct{})
		w.store.SetHook(func(c storetest.Call) error {
			if c.Verb == storetest.Next && c.Table == "survey_instance" {
				<-hang
			}
			return nil
		})
		pass(5 * time.Minute)
		failsWith(t, "after five minutes", w.poller.Live(), "")
		pass(2 * time.Second)
		failsWith(t, "later", w.poller.Live(), "survey.send is stuck since 2000-01-01T00:00:02Z (5m1s)")
		close(hang)
		pass(2 * time.Second)
		failsWith(t, "it goes on", w.poller.Live(), "")
		stop()
	})
}

// scraped is a meter whose gauges are collected when the test says so.
type scraped struct {
	metricnoop.MeterProvider
	collect []metric.Callback
	failed  int64
}

func (s *scraped) Meter(string, ...metric.MeterOption) metric.Meter { return meterOf{s: s} }

type meterOf struct {
	metricnoop.Meter
	s *scraped
}

type gauge struct {
	metricnoop.Int64ObservableGauge
	name string
}

type floatGauge struct {
	metricnoop.Float64ObservableGauge
	name string
}

type failures struct {
	metricnoop.Int64Counter
	s *scraped
}

func (f failures) Add(_ context.Context, n int64, _ ...metric.AddOption) { f.s.failed += n }

func (m meterOf) Int64ObservableGauge(name string, o ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return gauge{name: name}, nil
}

func (m meterOf) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return floatGauge{name: name}, nil
}

func (m meterOf) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if name == "belfry.gauges.failed" {
		return failures{s: m.s}, nil
	}
	return metricnoop.Int64Counter{}, nil
}

type registration struct {
	metricnoop.Registration
	end func()
}

func (r registration) Unregister() error { r.end(); return nil }

func (m meterOf) RegisterCallback(f metric.Callback, _ ...metric.Observable) (metric.Registration, error) {
	m.s.collect = append(m.s.collect, f)
	return registration{end: func() { m.s.collect = nil }}, nil
}

// observer notes what it is shown as "name attributes value".
type observer struct {
	metricnoop.Observer
	lines []string
}

func (o *observer) ObserveInt64(g metric.Int64Observable, v int64, opts ...metric.ObserveOption) {
	set := metric.NewObserveConfig(opts).Attributes()
	o.lines = append(o.lines, fmt.Sprint(g.(gauge).name, " ", set.Encoded(attribute.DefaultEncoder()), " ", v))
}

func (o *observer) ObserveFloat64(g metric.Float64Observable, v float64, opts ...metric.ObserveOption) {
	set := metric.NewObserveConfig(opts).Attributes()
	o.lines = append(o.lines, fmt.Sprint(g.(floatGauge).name, " ", set.Encoded(attribute.DefaultEncoder()), " ", v))
}

// scrape collects once.
func (s *scraped) scrape(t *testing.T) []string {
	t.Helper()
	o := &observer{}
	for _, f := range s.collect {
		if err := f(t.Context(), o); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(o.lines)
	return o.lines
}

// idleStatements is what a collection costs when nothing is due. Each lane of a table
// with rows to come costs two more.
const idleStatements = 48

// The gauges tell what Health tells. No tenant and nobody's name is among them, several
// readers ask once, and nobody takes a lock.
func TestI29_GaugesShowHealthByNamesFromCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scraped{}
		w := newWhole(func(o *belfry.Options) { o.MeterProvider = s })
		stop := w.run(t)
		pass(time.Second)
		if lines := s.scrape(t); len(lines) != 0 {
			t.Error("of nothing:", lines)
		}
		if err := w.out.Support().Pause(t.Context(), notify.Extent{Scope: "canary", Type: "visit"}, time.Time{}, notify.By{Actor: "canary", Reason: "canary"}); err != nil {
			t.Fatal(err)
		}
		_, err := w.out.Notify(t.Context(), notify.Job{Scope: "canary", Type: "visit", PartitionKey: "canary", RowKey: "reminder:visit:canary", Lane: 1})
		if err != nil {
			t.Fatal(err)
		}
		err = w.store.InTx(t.Context(), func(tx storage.Tx) error {
			for _, tenant := range []storage.Scope{"canary", "other"} {
				row := &outage.Row{Record: storage.Record{Scope: tenant, Key: "channel:sms", Kind: "sms", Status: outage.StatusOut}, Code: "canary"}
				if _, err := outage.Table.Insert(t.Context(), tx, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if lines := s.scrape(t); len(lines) != 0 {
			t.Error("asked again within ten seconds:", lines)
		}
		pass(20 * time.Second)
		synctest.Wait() // no poll of this moment is among the calls
		var calls []string
		w.store.SetHook(func(c storetest.Call) error {
			if c.Verb != storetest.Begin && c.Verb != storetest.Next {
				calls = append(calls, c.Verb)
			}
			return nil
		})
		lines := s.scrape(t)
		w.store.SetHook(nil)
		want := []string{
			"belfry.channels.out kind=sms,table=channel_outage 2",
			"belfry.due.age kind=visit,lane=1,table=notification_scheduler 20",
			"belfry.due.rows kind=visit,lane=1,table=notification_scheduler 1",
			"belfry.paused kind=visit,table=notification_pause 1",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
		if len(calls) > idleStatements+2 || slices.Contains(calls, storetest.Commit) {
			t.Errorf("%d statements: %s", len(calls), calls)
		}
		t.Logf("%d statements", len(calls))
		stop()
		if len(s.collect) != 0 {
			t.Error("gauges outlive Run")
		}
	})
}

// With the same attributes, of two stores that share a MeterProvider only one is seen.
func TestGaugesOfSeveralStoresAreToldApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scraped{}
		holding := func(rows int, name string) {
			m := memory.New(nil)
			poller := belfry.NewPoller(m, &belfry.Options{MeterProvider: s, Store: name},
				saying{notify.New(m, nil), health.Summary{Holds: []health.Count{{Table: "t", Kind: "k", Rows: rows}}}})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- poller.Run(ctx) }()
			synctest.Wait()
			t.Cleanup(func() {
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		holding(6, "")
		holding(12, "")
		holding(3, "north")
		want := []string{"belfry.holds kind=k,store=2,table=t 12", "belfry.holds kind=k,store=north,table=t 3", "belfry.holds kind=k,table=t 6"}
		if diff := cmp.Diff(want, s.scrape(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// Of several stores in one process health, logs and counters say which one it is.
func TestHealthAndLogsNameTheStore(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	store := memory.New(nil)
	poller := belfry.NewPoller(store, &belfry.Options{Store: "north", Logger: slog.New(slog.NewTextHandler(&logged, nil))}, notify.New(store, nil))
	got, err := poller.Health(t.Context(), storage.Everywhere())
	if err != nil || got.Store != "north" || !strings.Contains(got.String(), `in the store "north"`) {
		t.Error(got, err)
	}
	store.Losses().Note(driver.Loss{From: time.Unix(1, 0), Until: time.Unix(2, 0), NoticedOn: time.Unix(3, 0)})
	if _, err := poller.PollOnce(t.Context(), 1); err != nil || !strings.Contains(logged.String(), "store=north") {
		t.Error(logged.String(), err)
	}
}

// saying is a service that says so of its work.
type saying struct {
	belfry.Service
	says health.Summary
}

func (s saying) Passes() []work.Pass       { return nil }
func (s saying) SweepRules() []sweep.Rules { return nil }

func (s saying) Health(context.Context, storage.ScopeFilter) (health.Summary, error) {
	return s.says, nil
}

// What any service says is in the Health of the poller, whichever field it is in.
func TestHealthIsWhatAllServicesSay(t *testing.T) {
	t.Parallel()
	of := func(tenant storage.Scope) belfry.Service {
		var says health.Summary
		for _, field := range reflect.ValueOf(&says).Elem().Fields() {
			if field.Kind() != reflect.Slice {
				continue
			}
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			if scope := field.Index(0).FieldByName("Scope"); scope.IsValid() {
				scope.SetString(string(tenant))
			}
		}
		says.DueCapped, says.LeaseLosses = tenant == "second", 2
		return saying{says: says}
	}
	got, err := belfry.NewPoller(memory.New(nil), nil, of("first"), of("second")).Health(t.Context(), storage.Everywhere())
	if err != nil || !got.DueCapped || got.LeaseLosses != 4 {
		t.Error(got, err)
	}
	for field, value := range reflect.ValueOf(got).Fields() {
		own := field.Name == "Stuck" || field.Name == "Retention" // of the poller
		if value.Kind() == reflect.Slice && !own && value.Len() != 2 {
			t.Errorf("%s: %v", field.Name, value)
		}
	}
}

// hanging is a service whose Health waits for the end of its context.
type hanging struct {
	belfry.Service
}

func (hanging) Health(ctx context.Context, _ storage.ScopeFilter) (health.Summary, error) {
	<-ctx.Done()
	return health.Summary{}, ctx.Err()
}

func TestACollectionWaitsForNoDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scraped{}
		w := newWhole(nil)
		w.poller = belfry.NewPoller(w.store, &belfry.Options{MeterProvider: s}, hanging{w.out})
		stop := w.run(t)
		synctest.Wait()
		begun := w.store.Clock().Now()
		go func() { _ = s.collect[0](context.Background(), &observer{}) }()
		synctest.Wait()
		s.scrape(t) // does not queue behind the other
		if w.store.Clock().Now() != begun {
			t.Error("a second reader waits for the first")
		}
		pass(5 * time.Second)
		s.scrape(t)
		if took := w.store.Clock().Now().Sub(begun); took != 8*time.Second || s.failed != 2 {
			t.Errorf("%s, %d failed", took, s.failed)
		}
		stop()
	})
}
