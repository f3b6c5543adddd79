package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// nothingSent checks that a run that went wrong left nothing to be delivered, and
// that what it had stored is collected in its time.
func (w *world) nothingSent(key string) {
	w.Helper()
	if len(w.sent) != 0 {
		w.Errorf("sent %v", subjects(w.sent))
	}
	d := w.run(key).Delivery
	if !d.Notification.IsZero() || d.MessagingJob != "" || len(d.Files) != 0 {
		w.Errorf("delivery of a run that failed: %+v", d)
	}
	now := w.clk.Now()
	w.clk.Add(25 * time.Hour)
	w.collect()
	if n := w.blobs(); n != 0 {
		w.Errorf("%d blobs stay for ever", n)
	}
	w.clk.Set(now)
}

// A report of 2 GB is stopped where it is too large, without being held in memory,
// and waits for a person, since the next try would make just this.
func TestAReportThatIsTooLargeIsStoppedAtItsLimit(t *testing.T) {
	eachWorld(t, func(w *world) {
		var gave int64
		var ended error
		w.build = func(context.Context, report.Run) (report.Report, error) {
			first := text("small.csv", "text/csv", strings.Repeat("x", 1000))
			return report.Report{Parts: []report.Part{first, {Name: "huge.csv", MediaType: "text/csv", Write: func(_ context.Context, out io.Writer) error {
				block := bytes.Repeat([]byte("y"), 64<<10)
				for gave = 0; gave < 2*notify.MaxAttachments && ended == nil; {
					var n int
					n, ended = out.Write(block)
					gave += int64(n)
				}
				return ended
			}}}}, nil
		}
		w.create(weekly(nil))
		w.pollAt(at(3, 2, 9, 0))
		if want := int64(notify.MaxAttachments); gave != want-1000+1 || !errors.Is(ended, channel.ErrContent) {
			w.Errorf("%d bytes were taken, then %v", gave, ended)
		}
		got := w.run(monday)
		if got.Status != "Failed" || got.HoldReason != reasons.PermanentFailure || !strings.Contains(got.Diagnostics, "part 2") || got.Failures != 1 {
			w.Errorf("%+v", got.RunState)
		}
		if runs := w.runs("g-1"); runs[0] != "scheduled:2026-03-09T09:00:00Z Pending" {
			w.Errorf("the series has ended: %v", runs)
		}
		w.nothingSent(monday)
	})
}

// A builder that fails half-way, or panics, leaves nothing half sent: it is tried
// again, and delivered once as a whole.
func TestABuilderThatFailsHalfWaySendsNothingOfIt(t *testing.T) {
	broken := errors.New("the warehouse is away")
	for name, fail := range map[string]func(io.Writer) error{
		"error": func(io.Writer) error { return broken },
		"panic": func(io.Writer) error { panic("at the disco") },
		"short": func(out io.Writer) error { _, err := io.WriteString(out, "half"); return errors.Join(err, broken) },
		"EOF":   func(out io.Writer) error { _, _ = io.WriteString(out, "half"); return io.EOF },
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.build = func(ctx context.Context, run report.Run) (report.Report, error) {
					whole, _ := salesReport(ctx, run)
					if run.Attempt > 2 {
						return whole, nil
					}
					whole.Parts = append(whole.Parts, report.Part{Name: "b.csv", MediaType: "text/csv", Write: func(_ context.Context, out io.Writer) error { return fail(out) }})
					return whole, nil
				}
				w.create(weekly(nil))
				w.pollAt(at(3, 2, 9, 0))
				got := w.run(monday)
				want := reasons.HandlerFailed
				if name == "panic" {
					want = reasons.HandlerPanicked
				}
				if got.Status != "Pending" || got.Reason != want || got.Failures != 1 || got.NextRetryOn.Sub(w.clk.Now()) < 5*time.Minute {
					w.Errorf("%+v", got.RunState)
				}
				w.nothingSent(monday)
				w.pollAt(got.NextRetryOn)
				w.nothingSent(monday)
				if sent := w.pollAt(w.run(monday).NextRetryOn); len(sent) != 1 || len(sent[0].Attachments) != 1 {
					w.Errorf("%v", subjects(sent))
				}
			})
		})
	}
}

// What no mail could hold, and what a small row could not name, waits for a person
// at once.
func TestAReportThatCannotBeDeliveredWaitsForAPerson(t *testing.T) {
	cases := map[string]report.Report{
		"a name":      {Parts: []report.Part{text("../x", "text/csv", "x")}},
		"a type":      {Parts: []report.Part{text("x", "csv", "x")}},
		"many":        {Parts: make([]report.Part, 9)},
		"no Write":    {Parts: []report.Part{{Name: "x", MediaType: "text/csv"}}},
		"much to say": {Data: strings.Repeat("x", 5000)},
	}
	for name, made := range cases {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.build = func(context.Context, report.Run) (report.Report, error) { return made, nil }
				w.create(weekly(nil))
				w.pollAt(at(3, 2, 9, 0))
				if got := w.run(monday); got.HoldReason != reasons.PermanentFailure {
					w.Errorf("%+v", got.RunState)
				}
				w.nothingSent(monday)
			})
		})
	}
}

// I-17: types that are LongRunning go on once a day after the usual steps, at most
// seven times; others wait for a person then. The series goes on either way.
func TestI17_LongReportsAreTriedAgainDaily(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		for _, long := range []bool{false, true} {
			scope := automation.Scope(fmt.Sprint("long-", long))
			w := newWorld(t, store, clk, func(sales *report.Type) { sales.Name, sales.LongRunning = string(scope), long })
			w.build = func(context.Context, report.Run) (report.Report, error) { return report.Report{}, errors.New("away") }
			clk.Set(storetest.Start)
			w.create(weekly(func(s *report.Subscription) {
				s.Scope, s.Type, s.Cadence = scope, string(scope), automation.Recurrence{Cron: "0 9 2 3 *"}
			}))
			w.pollAt(at(3, 2, 9, 0))
			var waits []string
			for range 20 {
				got, err := w.reports.Run(w.ctx, scope, monday)
				w.must(err)
				if got.IsOnSupportHold {
					break
				}
				waits = append(waits, got.NextRetryOn.Sub(w.clk.Now()).Truncate(4*time.Minute).String()) // but for the jitter
				w.pollAt(got.NextRetryOn)
			}
			want := []string{"4m0s", "12m0s", "1h0m0s"}
			if long {
				want = append(want, "24h0m0s", "24h0m0s", "24h0m0s", "24h0m0s", "24h0m0s", "24h0m0s", "24h0m0s")
			}
			if diff := cmp.Diff(want, waits); diff != "" {
				w.Error(diff)
			}
			all, _, err := w.reports.Runs(w.ctx, scope, "g-1", storage.Page{})
			if err != nil || len(all) != 2 || !all[0].ScheduledOn.Equal(time.Date(2027, 3, 2, 9, 0, 0, 0, time.UTC)) || all[1].HoldReason != reasons.RetriesExhausted {
				w.Errorf("%+v %v", all, err)
			}
		}
	})
}
