package report_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// beating tells of the transactions of a store: while a builder works they are the
// heartbeats of its pass.
func beating(inner storage.Store) (store *storetest.Spy, beats chan struct{}) {
	beats = make(chan struct{}, 1)
	return &storetest.Spy{Store: inner, Hook: func(c storetest.Call) error {
		if c.Verb == storetest.Committed {
			select {
			case beats <- struct{}{}:
			default:
			}
		}
		return nil
	}}, beats
}

// I-6: a builder keeps its run for as long as it works, many leases long: another
// process finds nothing to take over, and the report goes out once.
func TestI6_ABuilderKeepsItsRunThroughManyLeases(t *testing.T) {
	t.Parallel()
	const lease = 400 * time.Millisecond
	storetest.Each(t, func(t *testing.T, inner storage.Store, clk *clock.Mock) {
		store, beats := beating(inner)
		w := newWorld(t, store, clk, nil)
		other := newWorld(t, inner, clk, nil)
		w.poller = w.newPoller(lease)
		w.build = func(ctx context.Context, run report.Run) (report.Report, error) {
			for range 20 {
				clk.Add(lease / 4) // less than the lease, which the next beat renews
				for len(beats) > 0 {
					<-beats
				}
				<-beats
				if ctx.Err() != nil {
					return report.Report{}, ctx.Err()
				}
			}
			if rep, err := other.newPoller(lease).PollOnce(ctx, 10); err != nil || rep.Claimed != 0 {
				w.Errorf("another process: %+v, %v", rep, err)
			}
			return salesReport(ctx, run)
		}
		w.create(weekly(nil))
		w.pollAt(at(3, 2, 8, 59)) // the scan of subscriptions is not due with the run
		sent := w.pollAt(at(3, 2, 9, 0))
		if got := other.run(monday); len(sent) != 1 || len(w.built) != 1 || got.Status != "Completed" || got.Failures != 0 {
			w.Errorf("sent %d, built %d, %+v", len(sent), len(w.built), got.RunState)
		}
	})
}

// A report that takes an hour keeps neither a reminder nor another report waiting.
// The clock of the bubble is the store's and the heartbeats', so the hour passes
// at once.
func TestAnHourOfBuildingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(nil)
		var sent, tries atomic.Int32
		out := notify.New(store, &notify.Options{Logger: quiet}, channel.Func("email:print", func(context.Context, channel.Message) (channel.Receipt, error) {
			sent.Add(1)
			return channel.Receipt{}, nil
		}))
		work := automation.New(store, out, &automation.Options{Logger: quiet})
		var short time.Duration // after which the handler of another type ran
		begun := store.Clock().Now()
		work.Handle("short", automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			short = store.Clock().Now().Sub(begun)
			return make([]automation.Outcome, len(due)), nil
		}))
		reports := report.New(store, work, out, nil)
		reports.Register(report.Type{Name: "sales", Builder: report.BuilderFunc(func(ctx context.Context, run report.Run) (report.Report, error) {
			tries.Add(1)
			part := text("sales.csv", "text/csv", "7")
			part.Write = func(ctx context.Context, w io.Writer) error {
				hour := store.Clock().After(time.Hour)
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-hour:
				}
				_, err := io.WriteString(w, "7")
				return err
			}
			return report.Report{Parts: []report.Part{part}}, nil
		})})
		for i := range 12 { // more than are built at once
			_, err := reports.Create(t.Context(), weekly(func(s *report.Subscription) { s.GUID, s.Zone = fmt.Sprint(i), "UTC" }))
			if err == nil {
				_, err = reports.RunNow(t.Context(), "", fmt.Sprint(i), "", support)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := work.Ensure(t.Context(), automation.Candidate{
			AutomationType: "short", Source: automation.Source{Type: "x", ID: "1"}, ScheduledOn: begun.Add(time.Minute),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		poller := belfry.NewPoller(store, &belfry.Options{Logger: quiet}, work, out)
		go func() { ended <- poller.Run(ctx) }()
		pass := store.Clock().After(2*time.Hour + 10*time.Minute)
		<-pass
		synctest.Wait()
		if sent.Load() != 12 || tries.Load() != 12 || short > 2*time.Minute {
			t.Errorf("sent %d, built %d times, the other type after %v", sent.Load(), tries.Load(), short)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// I-7: a builder whose lease was lost is cancelled, and nothing of it is delivered;
// the one that took over delivers.
func TestI7_ABuilderThatLostItsLeaseIsCancelledAndDeliversNothing(t *testing.T) {
	t.Parallel()
	const lease = 300 * time.Millisecond
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w, other := newWorld(t, store, clk, nil), newWorld(t, store, clk, nil)
		w.poller = w.newPoller(lease)
		stopped := make(chan error, 1)
		w.build = func(ctx context.Context, run report.Run) (report.Report, error) {
			if run.Attempt > 1 {
				return salesReport(ctx, run)
			}
			for taken := 0; taken == 0; { // unless a heartbeat was faster
				clk.Add(2 * lease)
				// Not with ctx: under load it may have ended by now, as it should.
				rep, err := other.newPoller(lease).PollOnce(t.Context(), 10)
				if err != nil {
					w.Error(err)
					return report.Report{}, err
				}
				taken = rep.Abandoned
			}
			part := text("late.csv", "text/csv", "x")
			part.Write = func(ctx context.Context, _ io.Writer) error {
				<-ctx.Done()
				stopped <- ctx.Err()
				return ctx.Err()
			}
			return report.Report{Parts: []report.Part{part}}, nil
		}
		w.create(weekly(nil))
		w.pollAt(at(3, 2, 9, 0))
		if err := <-stopped; err == nil {
			w.Error("the builder was not cancelled")
		}
		if got := w.run(monday); got.Status != "Pending" || got.Reason != automation.LeaseExpired || len(w.sent) != 0 {
			w.Errorf("%+v", got.RunState)
		}
		other.pollAt(w.run(monday).NextRetryOn)
		if n := len(w.sent) + len(other.sent); n != 1 || len(other.built) != 1 || w.run(monday).Status != "Completed" {
			w.Errorf("sent %d, built there %d, %+v", n, len(other.built), w.run(monday).RunState)
		}
	})
}
