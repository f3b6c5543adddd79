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

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

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
		work.Handle(automation.WorkType{Name: "short", Handler: automation.HandlerFunc(func(_ context.Context, due []automation.Due) ([]automation.Outcome, error) {
			short = store.Clock().Now().Sub(begun)
			return make([]automation.Outcome, len(due)), nil
		})})
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
