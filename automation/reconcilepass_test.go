package automation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// due waits for the moment of the next page or run.
func (w *world) due() {
	w.t.Helper()
	if on := w.state().NextOn; on.After(w.clk.Now()) {
		w.clk.Set(on)
	}
}

func TestI21_APollReadsOneBatchAndTheWatermarkWaitsForTheLast(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 5)
		if got := w.scan(); got.Claimed != 0 {
			w.t.Errorf("the rows of a new type come at once: %+v", got)
		}
		w.due()
		began := w.clk.Now()
		if wait := began.Sub(start); wait <= 0 || wait > 6*time.Minute {
			w.t.Errorf("the first run is after %v", wait)
		}
		for page := 1; page <= 3; page++ {
			state := w.state()
			if !state.Watermark.IsZero() || len(w.rows()) != 4*(page-1) {
				w.t.Errorf("before page %d: %+v, %d rows", page, state, len(w.rows()))
			}
			if got := w.scan(); got.Claimed != 1 || len(s.asks()) != page {
				w.t.Errorf("%+v, %d pages read", got, len(s.asks()))
			}
			w.clk.Add(time.Second)
		}
		for i, r := range s.asks() {
			want := automation.ScanRequest{
				ChangedSince: time.Time{}, From: date(2026, 2, 28), NewFrom: date(2026, 2, 28), To: date(2026, 6, 9),
				After: []string{"", "001", "003"}[i], Limit: 2,
			}
			if diff := cmp.Diff(want, r); diff != "" {
				w.t.Error(diff)
			}
		}
		state := w.state()
		if !state.Watermark.Equal(began.Add(-15*time.Minute)) || state.CoveredUntil != date(2026, 6, 9) || state.Current != nil || len(w.rows()) != 10 {
			w.t.Errorf("%+v", state)
		}
		if diff := cmp.Diff(map[string]int{"scanned": 5, "created": 10, "pages": 3}, counts(*state.Last)); diff != "" {
			w.t.Error(diff)
		}
		if next := state.NextOn.Sub(w.clk.Now()); next < time.Hour-time.Second || next > 66*time.Minute {
			w.t.Errorf("the next run is in %v", next)
		}
		if got := w.scan(); got.Claimed != 0 {
			w.t.Errorf("%+v", got)
		}
	})
}

// The second run looks at what changed, and at what is new in the window.
func TestARunLooksAtChangesAndAtWhatIsNewInTheWindow(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 2)
		s.set("far", person{expires: date(2026, 7, 10), version: 1, changed: w.clk.Now()}) // due on 10 June
		w.clk.Add(time.Hour)
		w.scanAll()
		watermark := w.state().Watermark
		w.clk.Add(23 * time.Hour)
		s.set("new", person{expires: date(2026, 5, 1), version: 1, changed: w.clk.Now()})
		w.scanAll()
		state := w.state()
		want := map[string]int{"scanned": 2, "created": 4, "pages": 1}
		if diff := cmp.Diff(want, counts(*state.Last)); diff != "" {
			w.t.Error(diff)
		}
		if last := state.Last; !last.ChangedSince.Equal(watermark) || last.NewFrom != date(2026, 6, 10) || last.To != date(2026, 6, 10) {
			w.t.Errorf("%+v", last)
		}
		w.row(keyOf("far", "2026-07-10", 30))
		w.row(keyOf("new", "2026-05-01", 30))
	})
}

func TestI21_AFailedPageMovesNothingAndAfterFourTriesTheNextRunBeginsAnew(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 5)
		w.scanAll()
		watermark := w.state().Watermark
		w.hire(s, 6)
		w.clk.Add(20 * time.Minute)
		w.hire(s, 6)
		s.read = func(r automation.ScanRequest) error {
			if r.After != "" {
				return errBoom
			}
			return nil
		}
		w.due()
		w.scan()
		for failures, wait := range []time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour} {
			w.scan()
			state := w.state()
			if !state.Watermark.Equal(watermark) || state.Current.Pages != 1 || state.Failures != failures+1 ||
				state.ReasonCode != reasons.HandlerFailed || !strings.Contains(state.Diagnostics, "boom") {
				w.t.Errorf("%+v", state)
			}
			if next := state.NextOn.Sub(w.clk.Now()); next < wait || next > wait+wait/10 {
				w.t.Errorf("failure %d: again in %v", failures+1, next)
			}
			w.due()
		}
		w.scan()
		state := w.state()
		if state.Current != nil || state.NextOn.Sub(w.clk.Now()) < time.Hour || !state.Watermark.Equal(watermark) {
			w.t.Errorf("given up: %+v", state)
		}
		s.read = nil
		w.scanAll()
		state = w.state()
		if state.Failures != 0 || state.ReasonCode != "" || !state.Watermark.After(watermark) || state.Last.Scanned != 6 {
			w.t.Errorf("%+v", state)
		}
	})
}

// A poisoned source keeps neither the others from their repair nor the watermark: it is
// named, and each run begins with it until it can be planned.
func TestI21_ASourceThatFailsIsNamedAndTriedAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 5)
		w.clk.Add(20 * time.Minute)
		s.asked = func(r automation.Request) error {
			if r.Source.ID == "002" {
				panic("poison")
			}
			return nil
		}
		w.scanAll()
		state := w.state()
		want := map[string]int{"scanned": 5, "failed": 1, "created": 8, "pages": 3}
		if diff := cmp.Diff(want, counts(*state.Last)); diff != "" {
			w.t.Error(diff)
		}
		since := w.clk.Now()
		poisoned := []automation.Source{{"employee", "002"}}
		for range 2 { // it stays on the list, once
			if state.Watermark.IsZero() || state.ReasonCode != reasons.HandlerFailed || state.Diagnostics != "panic: string" || state.Failures != 0 || !slices.Equal(state.Skipped, poisoned) {
				w.t.Errorf("%+v", state)
			}
			want := []health.Skipped{{Kind: "certificate", Sources: 1, Since: since}}
			if diff := cmp.Diff(want, w.health(storage.Everywhere()).Skipped); diff != "" {
				w.t.Error(diff)
			}
			w.clk.Add(2 * time.Hour)
			w.scanAll()
			if state = w.state(); state.Last.Scanned != 1 || state.Last.Failed != 1 {
				w.t.Errorf("nothing else is looked at again: %+v", state.Last)
			}
		}
		s.asked = nil
		w.clk.Add(2 * time.Hour)
		w.scanAll()
		if state = w.state(); state.Last.Created != 2 || state.Last.Scanned != 1 || state.ReasonCode != "" || len(state.Skipped) != 0 {
			w.t.Errorf("%+v", state)
		}
		if len(w.rows()) != 10 {
			w.t.Errorf("%d rows", len(w.rows()))
		}
	})
}

// More sources fail than are remembered: the watermark stays, and nothing is forgotten.
func TestI21_MoreSourcesFailThanAreNamed(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 130)
		s.asked = func(automation.Request) error { return errBoom }
		w.scanAll()
		if state := w.state(); !state.Watermark.IsZero() || len(state.Skipped) != 100 || state.Last.Unlisted != 30 || state.Last.Failed != 130 {
			w.t.Errorf("%+v", state.Last)
		}
		s.asked = nil
		w.clk.Add(2 * time.Hour)
		w.scanAll()
		if state := w.state(); state.Watermark.IsZero() || len(state.Skipped) != 0 || len(w.rows()) != 260 {
			w.t.Errorf("%d rows, %+v", len(w.rows()), state)
		}
	})
}

// A runner that died leaves its lease; its page is read again.
func TestALostRunnerIsReplaced(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 3)
		w.scan()
		w.due()
		w.scan()
		before := w.state()
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			_, err := automation.Reconciliations.Claim(w.ctx, tx, driver.Claim{
				Statuses: []string{automation.ReconcileReady}, Token: "dead", Lanes: []driver.LaneClaim{{Limit: 1}},
				Now: driver.Now(w.store), LeaseUntil: w.clk.Now().Add(time.Minute),
			})
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if got := w.scan(); got.Claimed != 0 {
			w.t.Errorf("%+v", got)
		}
		w.clk.Add(2 * time.Minute)
		if got := w.scan(); got.Abandoned != 1 || len(s.asks()) != 1 {
			w.t.Errorf("%+v", got)
		}
		if state := w.state(); state.ReasonCode != reasons.LeaseExpired || state.Failures != 1 || !cmp.Equal(before.Current, state.Current) {
			w.t.Errorf("%+v", state)
		}
		w.scanAll()
		if len(w.rows()) != 6 || w.state().Failures != 0 {
			w.t.Errorf("%+v", w.state())
		}
	})
}

// A tenant that is taken off the list is not scanned any more, until it is back.
func TestAScopeThatIsNotAllowedAnyMoreIsLeftAlone(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(func(c *automation.Scan) { c.Scopes = []automation.Scope{"", "east"} })
		w.scanAll()
		later := newWorld(w.t, w.store, w.clk, nil)
		later.serve(s, func(c *automation.Scan) { c.Scopes = []automation.Scope{"east"} })
		s.requests = nil
		w.clk.Add(2 * time.Hour)
		for later.scan().Claimed > 0 {
		}
		for _, r := range s.asks() {
			if r.Scope != "east" {
				w.t.Errorf("%+v", r)
			}
		}
		if state := w.state(); !state.Off || !state.NextOn.IsZero() || state.Watermark.IsZero() {
			w.t.Errorf("%+v", state)
		}
		again := newWorld(w.t, w.store, w.clk, nil)
		again.serve(s, nil)
		again.scanAll()
		if state := w.state(); state.Off || state.Last.ChangedSince.IsZero() {
			w.t.Errorf("it goes on from its watermark: %+v", state)
		}
	})
}

// A process that ends gives its page back, uncounted.
func TestAPageWhoseContextEndsIsGivenBack(t *testing.T) {
	eachWorld(t, func(w *world) {
		s := w.withStaff(nil)
		w.hire(s, 2)
		w.scan()
		w.due()
		ctx, cancel := context.WithCancel(w.ctx)
		s.read = func(automation.ScanRequest) error { cancel(); return ctx.Err() }
		_, _ = w.scanner().Poll(ctx, 100)
		if state := w.state(); state.Failures != 0 || state.ReasonCode != "" {
			w.t.Errorf("%+v", state)
		}
		s.read = nil
		if got := w.scan(); got.Settled != 1 || len(w.rows()) != 4 {
			w.t.Errorf("%+v", got)
		}
	})
}

// What a finished run says in the log: numbers, and nothing about anybody.
func TestTheReportOfABackgroundRunIsLoggedWithoutData(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	clk := clock.NewMock()
	clk.Set(start)
	w := newWorld(t, memory.New(&memory.Options{Clock: clk}), clk, &automation.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	s := w.withStaff(nil)
	w.hire(s, 3)
	s.asked = func(r automation.Request) error { return fmt.Errorf("sam@example.com of %s", r.Source.ID) }
	w.scanAll()
	s.asked = nil
	s.read = func(automation.ScanRequest) error { return errors.New("sam@example.com") }
	w.due()
	w.scan() // those that failed
	w.scan()
	text := log.String()
	for _, want := range []string{"belfry: reconciled", "type=certificate", "pages=2", "scanned=3", "failed=3", "belfry: reconciliation failed", "reason=HandlerFailed"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(text, "sam") || strings.Contains(text, "employee") {
		t.Error(text)
	}
}

// Run rests until a type with a scan is registered, and then makes its row, at
// the latest when the database is back.
func TestRunWaitsForAScan(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(start)
	var tried atomic.Bool
	faulty := &storetest.Spy{Store: memory.New(&memory.Options{Clock: storetest.Awake(clk)}), Hook: func(c storetest.Call) error {
		if c.Verb == storetest.Insert && c.Table == automation.Reconciliations.Name && !tried.Swap(true) {
			return storage.ErrUnavailable
		}
		return nil
	}}
	w := newWorld(t, faulty, clk, nil)
	made := w.store.Waker().Listen(automation.Reconciliations.Name)
	defer made.Close()
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error)
	go func() { ended <- w.scanner().Run(ctx) }()
	w.s.Register(certificates(func(t *automation.ReminderType) { t.Name = "other" }))
	s := w.withStaff(nil)
	<-made.C()
	w.s.Register(certificates(func(t *automation.ReminderType) {
		t.Name, t.Triggers = "later", s
		t.Scan = &automation.Scan{Read: s.Read, SourceType: "employee", Window: 1, Scopes: []automation.Scope{""}}
	}))
	<-made.C()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if states, err := w.s.Maintenance().Reconciliations(w.ctx, ""); len(states) != 2 {
		t.Error(states, err)
	}
}

// A type without a Scan has no row of its own that could wake the pass: whoever waits for
// the first type sees it all the same, and does the re-plans that it finds.
func TestRunDoesTheReplansOfATypeWithoutAScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, memory.New(nil), nil, nil)
		ctx, cancel := context.WithTimeout(w.ctx, time.Hour)
		defer cancel()
		ended := make(chan error)
		go func() { ended <- w.scanner().Run(ctx) }()
		synctest.Wait() // it rests, since nothing is registered
		w.s.Register(certificates(nil))
		if err := w.s.Maintenance().Replan(ctx, certificatesAgain); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if state := w.replanState(); !state.Done {
			t.Errorf("after an hour: %+v", state)
		}
	})
}
