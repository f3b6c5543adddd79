package automation_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// employeeKey is certificateKey of another employee.
func employeeKey(id string) string { return strings.Replace(certificateKey, ":7:", ":"+id+":", 1) }

// ofEmployees asks for the certificate of several employees, each a minute later.
func ofEmployees(ids string) (out []automation.Candidate) {
	for i, id := range ids {
		out = append(out, candidate(func(c *automation.Candidate) {
			c.Source.ID, c.SendAt = string(id), whenDue.Add(time.Duration(i)*time.Minute).Format("15:04")
		}))
	}
	return out
}

func (w *world) ran(part cutover.Part, on time.Time, keys ...string) cutover.OldReport {
	w.t.Helper()
	var runs []cutover.OldRun
	for _, key := range keys {
		runs = append(runs, cutover.OldRun{Key: key, RanOn: on})
	}
	got, err := w.s.Rollout().ReportOldRun(w.ctx, part, runs...)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// What only one side knows, and what it knows for another moment.
func TestAComparisonNamesWhatDiffers(t *testing.T) {
	eachWorld(t, func(w *world) {
		p := &triggers{}
		w.guardCertificates(func(t *automation.ReminderType) { t.Triggers = p })
		w.to(certificatesPart, cutover.StageShadow)
		w.ensure(ofEmployees("12345")...)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(1))
		p.set()
		w.handle(changed(2)) // the seventh employee's is not wanted any more
		w.clk.Set(whenDue.Add(24 * time.Hour))
		w.ran(certificatesPart, whenDue.Add(time.Minute), employeeKey("1"), employeeKey("7"), employeeKey("8"))
		w.ran(certificatesPart, whenDue.Add(2*time.Hour), employeeKey("2"))
		w.ran(certificatesPart, whenDue.Add(-time.Hour), employeeKey("3"))
		w.old(employeeKey("4"), "")
		if got := w.ran(certificatesPart, whenDue, employeeKey("1"), employeeKey("9")); got.Known != 1 || got.Recorded != 1 {
			w.t.Errorf("%+v", got)
		}
		got, err := w.s.Rollout().Compare(w.ctx, certificatesPart, cutover.Window{From: whenDue.Add(-6 * time.Hour)}, 0)
		if err != nil || got.Same() {
			w.t.Fatal(err)
		}
		on := func(minutes int) time.Time { return whenDue.Add(time.Duration(minutes) * time.Minute) }
		want := cutover.Comparison{
			Part: certificatesPart, Window: cutover.Window{From: on(-360), Until: on(1440)}, Both: 4, Late: 2, Early: 1, OnlyHere: 1, OnlyThere: 3,
			Runs: []cutover.ComparedRun{
				{Kind: cutover.OnlyHere, Key: employeeKey("5"), ScheduledOn: on(4)},
				{Kind: cutover.OnlyThere, Key: employeeKey("7"), OldRanOn: on(1)},
				{Kind: cutover.OnlyThere, Key: employeeKey("8"), OldRanOn: on(1)},
				{Kind: cutover.OnlyThere, Key: employeeKey("9"), OldRanOn: on(0)},
				{Kind: cutover.RanEarly, Key: employeeKey("3"), ScheduledOn: on(2), OldRanOn: on(-60)},
				{Kind: cutover.RanLate, Key: employeeKey("2"), ScheduledOn: on(1), OldRanOn: on(120)},
				{Kind: cutover.RanLate, Key: employeeKey("4"), ScheduledOn: on(3), OldRanOn: on(1440)},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
		if got, err = w.s.Rollout().Compare(w.ctx, cutover.Part{Type: "certificate", BusinessUnit: "other"}, cutover.Window{From: start}, 0); err != nil || !got.Same() || got.Both != 0 {
			w.t.Errorf("another unit: %+v %v", got, err)
		}
	})
}

// In shadow nothing moves a series on: each of its occurrences is compared all
// the same, and a cut-over goes on with the next one.
func TestASeriesInShadowIsComparedAndCutOver(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageShadow)
		for range 2 {
			if got := w.ensure(daily(nil)); got[0].Status != automation.StatusDeactivated {
				w.t.Errorf("%+v", got)
			}
			w.wantShort("03-01T09:00 Deactivated Shadow")
		}
		w.pollAt(day(2026, 3, 4, 12))
		w.wantShort("03-01T09:00 Deactivated Shadow")
		nine := func(d int) time.Time { return day(2026, 3, d, 9) }
		w.ran(certificatesPart, nine(1), on(nine(1)))
		w.ran(certificatesPart, nine(3), on(nine(3)))
		got, err := w.s.Rollout().Compare(w.ctx, cutover.Part{Type: "certificate", Source: "7"}, cutover.Window{From: start}, 0)
		want := []cutover.ComparedRun{{Kind: cutover.OnlyHere, Key: on(nine(2)), ScheduledOn: nine(2)}, {Kind: cutover.OnlyHere, Key: on(nine(4)), ScheduledOn: nine(4)}}
		if diff := cmp.Diff(want, got.Runs); diff != "" || got.Both != 2 || err != nil {
			w.t.Error(diff, got.Both, err)
		}
		if health, err := w.s.Health(w.ctx, storage.Everywhere()); err != nil || len(health.Lost) != 0 {
			w.t.Errorf("a series in shadow counts as stuck: %+v %v", health, err)
		}
		w.to(certificatesPart, cutover.StageScheduled)
		w.wantShort("03-01T09:00 Deactivated Shadow", "03-05T09:00 Pending")
		w.pollAt(nine(5))
		w.owned(on(nine(5)), cutover.AutomationScheduler, cutover.DeliveryCreated)
		w.owned(on(nine(6)), cutover.AutomationScheduler, cutover.Owned)
		w.to(certificatesPart, cutover.StageShadow)
		w.owned(on(nine(6)), cutover.OldScheduler, cutover.Owned)
		w.clk.Set(nine(6))
		if w.poll(); !w.old(on(nine(6)), "") || len(w.out.dispatched()) != 1 {
			w.t.Error(w.out.dispatched())
		}
	})
}

// A series whose occurrence lies ahead at the cut-over: an event reactivates it,
// and so does the move itself.
func TestAnEnsureAfterTheCutOverReactivates(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.ensure(daily(nil), candidate(nil))
		w.setStage(certificatesPart, cutover.StageCutOver)
		got := w.ensure(daily(nil), candidate(nil))
		if got[0].Outcome != "Reactivated" || got[1].Outcome != "Reactivated" {
			w.t.Errorf("%+v", got)
		}
		w.owned(certificateKey, cutover.AutomationScheduler, cutover.Owned)
		w.is(certificateKey, "Pending Shadow")
	})
}

// The old scheduler does what is not its own: what is delivered counts as
// delivered, and what was delivered twice is told.
func TestAReportTellsWhereTheOldSchedulerTrespassed(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.guardCertificates(nil)
		w.to(certificatesPart, cutover.StageScheduled)
		w.ensure(ofEmployees("12")...)
		w.pollAt(whenDue)
		got := w.ran(certificatesPart, whenDue, employeeKey("1"), employeeKey("2"))
		want := cutover.OldReport{Trespassed: []string{employeeKey("2")}, Doubled: []string{employeeKey("1")}}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Error(diff)
		}
		w.pollAt(whenDue.Add(time.Hour))
		w.is(employeeKey("2"), "Failed OwnershipConflict held OwnershipConflict")
		w.owned(employeeKey("1"), cutover.AutomationScheduler, cutover.DeliveryCreated)
		conflicts, _, err := w.s.Rollout().OwnershipConflicts(w.ctx, "", storage.Page{})
		if err != nil || len(conflicts) != 1 || conflicts[0].Key != employeeKey("2") {
			w.t.Error(conflicts, err)
		}
	})
}

func TestAWindowHasToHoldSomething(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	w := newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, nil)
	for _, window := range []cutover.Window{{}, {From: start}, {From: start.Add(-time.Hour), Until: start.Add(-2 * time.Hour)}} {
		_, err := w.s.Rollout().Compare(w.ctx, certificatesPart, window, 0)
		if window != (cutover.Window{}) && (err == nil || !strings.Contains(err.Error(), "Window is empty")) {
			t.Errorf("%v: %v", window, err)
		}
	}
	if _, err := w.s.Rollout().Compare(w.ctx, cutover.Part{}, cutover.Window{From: start.Add(-time.Hour)}, 0); err == nil {
		t.Error("a part without a type")
	}
}

// Reconciliation keeps rows in shadow as the sources want them, finds nothing to
// do where they are, and says so in a dry run.
func TestReconciliationKeepsRowsInShadow(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := &staff{people: map[string]person{}, offsets: []int{30, 7}, sendAt: "09:00"}
		scan := &automation.Scan{Read: s.Read, SourceType: "employee", Window: 100, Batch: 2, Scopes: []automation.Scope{""}}
		w.guardCertificates(func(t *automation.ReminderType) { t.Triggers, t.Scan = s, scan })
		w.hire(s, 3)
		all := automation.ReconcileOptions{FromStart: true}
		if got := w.reconcile(all); got.Created != 6 {
			w.t.Errorf("%+v", got)
		}
		w.is(keyOf("001", "2026-05-01", 30), "Deactivated Shadow")
		for _, dry := range []bool{true, false} {
			if got := w.reconcile(automation.ReconcileOptions{FromStart: true, DryRun: dry}); got.Unchanged != 3 || got.Updated+got.Reactivated+got.Deactivated != 0 {
				w.t.Errorf("dry run %v: %+v", dry, got)
			}
		}
		s.set("001", person{expires: date(2026, 6, 1), version: 2, changed: w.clk.Now()})
		if got := w.reconcile(all); got.Created != 2 || got.Deactivated != 2 {
			w.t.Errorf("%+v", got)
		}
		w.is(keyOf("001", "2026-05-01", 30), "Deactivated Superseded")
		w.to(certificatesPart, cutover.StageScheduled)
		w.is(keyOf("001", "2026-05-01", 30), "Deactivated Superseded")
		w.is(keyOf("001", "2026-06-01", 30), "Pending Shadow")
		if got := w.reconcile(all); got.Unchanged != 3 {
			w.t.Errorf("%+v", got)
		}
	})
}

// stageMeters counts what a scheduler measures, by instrument and attributes.
type stageMeters struct {
	noop.MeterProvider
	mu     sync.Mutex
	counts map[string]int64
	values map[string][]float64
}

func (m *stageMeters) Meter(string, ...metric.MeterOption) metric.Meter { return stageMeter{m: m} }

type stageMeter struct {
	noop.Meter
	m *stageMeters
}

func (m stageMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return counting{m: m.m, name: name}, nil
}

func (m stageMeter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return measuring{m: m.m, name: name}, nil
}

type counting struct {
	noop.Int64Counter
	m    *stageMeters
	name string
}

func (c counting) Add(_ context.Context, n int64, opts ...metric.AddOption) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.counts[labelled(c.name, metric.NewAddConfig(opts).Attributes())] += n
}

type measuring struct {
	noop.Float64Histogram
	m    *stageMeters
	name string
}

func (h measuring) Record(_ context.Context, value float64, opts ...metric.RecordOption) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	name := labelled(h.name, metric.NewRecordConfig(opts).Attributes())
	h.m.values[name] = append(h.m.values[name], value)
}

// Conflicts, deliveries and latency are measured by stage, and nothing of what
// they are about is.
func TestRunsUnderTheGuardAreMeasuredByStage(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	m := &stageMeters{counts: map[string]int64{}, values: map[string][]float64{}}
	w := newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, &automation.Options{MeterProvider: m})
	w.guardCertificates(nil)
	w.to(certificatesPart, cutover.StageScheduled)
	w.ensure(ofEmployees("123")...)
	w.setOwnership(employeeKey("2"), func(o *automation.OwnershipRow) { automation.GiveOwner(o, cutover.OldScheduler) })
	w.setOwnership(employeeKey("3"), func(o *automation.OwnershipRow) { automation.MoveOwner(o, start, cutover.DeliveryCreated) })
	w.pollAt(whenDue.Add(time.Minute))
	w.to(certificatesPart, cutover.StageShadow)
	if err := w.s.Support().Release(w.ctx, "", employeeKey("2"), ann); err != nil {
		t.Fatal(err)
	}
	w.poll()
	want := map[string]int64{"3 DeliveryCreated": 1, "3 Conflict": 1, "1 Shadow": 1}
	got := map[string]int64{}
	for name, n := range m.counts {
		if of, ok := strings.CutPrefix(name, "belfry.automation.rollout.runs: "); ok {
			got[of] = n
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]float64{"belfry.automation.rollout.latency: 3": {60}}, m.values); diff != "" {
		t.Error(diff)
	}
}

// labelled is an instrument with the values of its attributes for a stage.
func labelled(name string, of attribute.Set) string {
	name += ": "
	if stage, ok := of.Value("stage"); ok {
		name += fmt.Sprint(stage.AsInt64())
	}
	if outcome, ok := of.Value("outcome"); ok {
		name += " " + outcome.AsString()
	}
	return name
}
