package report_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// pages lists keys page by page, two at a time.
func (w *world) pages(list func(p storage.Page) ([]report.RunState, string, error)) (out [][]string) {
	w.Helper()
	for p := (storage.Page{Limit: 2}); ; {
		runs, next, err := list(p)
		w.must(err)
		var keys []string
		for _, r := range runs {
			keys = append(keys, r.Key[len("report-subscription:"):])
		}
		out = append(out, keys)
		if next == "" {
			return out
		}
		p.After = next
	}
}

// What support lists: the runs of a subscription, what ran last, and what waits
// for a person; the latest first, page by page, and of one scope.
func TestRunsAreListedTheLatestFirst(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.build = func(ctx context.Context, run report.Run) (report.Report, error) {
			if run.Subscription.GUID == "bad" {
				return report.Report{}, automation.Permanent(errors.New("no such table"))
			}
			return salesReport(ctx, run)
		}
		for _, guid := range []string{"a", "bad"} {
			w.create(weekly(func(s *report.Subscription) { s.GUID, s.Cadence.Cron = guid, "0 9 * * *" }))
		}
		w.create(weekly(func(s *report.Subscription) { s.Scope, s.GUID = "other", "a" }))
		w.pollAt(at(3, 1, 9, 0))
		_, err := w.reports.RunNow(w.ctx, "", "a", "asked", support)
		w.must(err)
		w.pollAt(at(3, 2, 9, 0))

		ofA := w.pages(func(p storage.Page) ([]report.RunState, string, error) { return w.reports.Runs(w.ctx, "", "a", p) })
		want := [][]string{{"a:scheduled:2026-03-03T09:00:00Z", "a:scheduled:2026-03-02T09:00:00Z"}, {"a:manual:asked", "a:scheduled:2026-03-01T09:00:00Z"}}
		if diff := cmp.Diff(want, ofA); diff != "" {
			w.Error(diff)
		}
		recent := w.pages(func(p storage.Page) ([]report.RunState, string, error) { return w.reports.RecentRuns(w.ctx, "", p) })
		if len(recent) != 3 || len(recent[0])+len(recent[1])+len(recent[2]) != 5 || recent[1][0] != "a:manual:asked" {
			w.Error(recent)
		}
		failed := w.pages(func(p storage.Page) ([]report.RunState, string, error) { return w.reports.FailedRuns(w.ctx, "", p) })
		if diff := cmp.Diff([][]string{{"bad:scheduled:2026-03-02T09:00:00Z", "bad:scheduled:2026-03-01T09:00:00Z"}}, failed); diff != "" {
			w.Error(diff)
		}
		if _, _, err := w.reports.Runs(w.ctx, "", "a", storage.Page{After: "x"}); !errors.Is(err, storage.ErrPage) {
			w.Error("a page after what no page returned:", err)
		}
		w.repaired("report-subscription:bad:scheduled:2026-03-01T09:00:00Z")
	})
}

// repaired retries a run from the queue of those that failed.
func (w *world) repaired(key string) {
	w.Helper()
	d := w.run(key)
	if d.HoldReason != reasons.PermanentFailure || d.Diagnostics != "no such table" || d.Failures != 1 {
		w.Errorf("%+v", d.RunState)
	}
	w.build = salesReport
	w.must(w.work.Support().Retry(w.ctx, "", key, automation.By(support)))
	if _, err := w.work.Support().Rerun(w.ctx, "", "report-subscription:a:manual:asked", automation.By(support)); !errors.Is(err, automation.ErrActionRefused) {
		w.Error(err)
	}
	if sent := w.pollAt(at(3, 2, 9, 1)); len(sent) != 1 || w.run(key).Status != "Completed" {
		w.Errorf("%v %+v", subjects(sent), w.run(key).RunState)
	}
	failed, _, err := w.reports.FailedRuns(w.ctx, "", storage.Page{})
	if err != nil || len(failed) != 1 {
		w.Error(failed, err)
	}
}

// Subscriptions are listed by their guids, page by page.
func TestSubscriptionsAreListedByGUID(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, n := range []int{2, 0, 1} {
			w.create(weekly(func(s *report.Subscription) { s.GUID = fmt.Sprint("g-", n) }))
		}
		var got []string
		for p := (storage.Page{Limit: 2}); ; {
			all, next, err := w.reports.Subscriptions(w.ctx, "", p)
			w.must(err)
			for _, s := range all {
				got = append(got, s.GUID)
			}
			if p.After = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"g-0", "g-1", "g-2"}, got); diff != "" {
			w.Error(diff)
		}
	})
}

// A preview is what will run, and writes nothing.
func TestAPreviewIsWhatRuns(t *testing.T) {
	eachWorld(t, func(w *world) {
		sub := weekly(func(s *report.Subscription) { s.GUID, s.Zone, s.Cadence.Cron = "", "Europe/Berlin", "30 2 * * 0" })
		got, err := w.reports.Preview(w.ctx, sub, 5)
		w.must(err)
		var lines []string
		for _, o := range got {
			lines = append(lines, fmt.Sprint(o.LocalDate, " ", o.LocalTime, " ", o.On.Format("15:04"), " ", o.Resolution))
		}
		want := []string{
			"2026-03-08 02:30 01:30 exact", "2026-03-15 02:30 01:30 exact", "2026-03-22 02:30 01:30 exact",
			"2026-03-29 02:30 01:00 shifted-forward", "2026-04-05 02:30 00:30 exact",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			w.Error(diff)
		}
		sub.GUID = "g-1"
		w.create(sub)
		for i, o := range got {
			w.pollAt(o.On)
			if r := w.built[i]; !r.ScheduledOn.Equal(o.On) || r.LocalDate != o.LocalDate || r.LocalTime != o.LocalTime {
				w.Errorf("%+v", r)
			}
		}
	})
}
