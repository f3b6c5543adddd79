package report_test

import (
	"errors"
	"testing"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/storage"
)

// I-22: a guarded report is the old scheduler's until its part has moved: its runs
// are shadows, runs that people ask for come first, and scheduled ones last.
func TestI22_AGuardedReportIsDeliveredByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := newWorld(t, store, clk, func(sales *report.Type) { sales.Guarded = true })
		part := cutover.Part{Type: "sales", Source: "g-1"}
		move := func(to cutover.Stage) {
			t.Helper()
			if _, err := w.work.Rollout().MoveRollout(w.ctx, part, to, automation.By(support), nil); err != nil {
				t.Fatal(to, err)
			}
		}
		w.create(weekly(nil))
		if sent := w.pollAt(at(3, 2, 9, 0)); len(sent) != 0 {
			t.Errorf("a shadow sent %v", subjects(sent))
		}
		for range 2 { // it is refused however often it is asked for
			asked, err := w.reports.RunNow(w.ctx, "", "g-1", "early", support)
			if sent := w.pollAt(at(3, 2, 9, 5)); !errors.Is(err, report.ErrActionRefused) || asked.Run != "early" || asked.Outcome != "" || len(sent) != 0 {
				t.Errorf("%+v %v, sent %v", asked, err, subjects(sent))
			}
		}
		move(cutover.StageShadow)
		move(cutover.StageRunNow)
		w.must(second(w.reports.RunNow(w.ctx, "", "g-1", "early", support)))
		if sent := w.pollAt(at(3, 3, 9, 0)); len(sent) == 0 {
			t.Error("a run that was asked for was not delivered")
		}
		if sent := w.pollAt(at(3, 9, 9, 0)); len(sent) != 0 {
			t.Errorf("a scheduled run of the old scheduler: %v", subjects(sent))
		}
		move(cutover.StageScheduled)
		if diff := cmp.Diff([]string{"sam@example.com: Sales of 2026-03-16"}, subjects(w.pollAt(at(3, 16, 9, 0)))); diff != "" {
			t.Error(diff)
		}
		move(cutover.StageRunNow)
		if sent := w.pollAt(at(3, 23, 9, 0)); len(sent) != 0 {
			t.Errorf("after the way back: %v", subjects(sent))
		}
	})
}
