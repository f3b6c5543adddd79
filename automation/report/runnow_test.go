package report_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation/report"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// The id of a run is there before its row, comes back, and finds the same run
// however often it is used.
func TestI1_ARunThatIsAskedForTwiceRunsOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		asked, err := w.reports.RunNow(w.ctx, "", "g-1", "", support)
		if err != nil || asked.Outcome != storage.Created || asked.Key != "report-subscription:g-1:manual:"+asked.Run {
			w.Fatalf("%+v %v", asked, err)
		}
		w.clk.Set(at(3, 1, 8, 5))
		again, err := w.reports.RunNow(w.ctx, "", "g-1", asked.Run, support)
		if err != nil || again.Outcome != storage.Unchanged || !again.ScheduledOn.Equal(at(3, 1, 8, 0)) {
			w.Errorf("%+v %v", again, err)
		}
		if got := subjects(w.pollAt(at(3, 1, 8, 6))); len(got) != 1 || got[0] != "sam@example.com: Sales of 2026-03-01" {
			w.Error(got)
		}
		done, err := w.reports.RunNow(w.ctx, "", "g-1", asked.Run, support)
		if err != nil || done.Status != "Completed" || done.Result.Notification.IsZero() {
			w.Errorf("%+v %v", done, err)
		}
		if got := w.pollAt(at(3, 1, 8, 7)); len(got) != 0 {
			w.Errorf("sent again: %v", subjects(got))
		}
		want := []string{"scheduled:2026-03-02T09:00:00Z Pending", "manual:" + asked.Run + " Completed"}
		if diff := cmp.Diff(want, w.runs("g-1")); diff != "" {
			w.Error(diff)
		}
		if r := w.built[0]; r.Manual != asked.Run || r.LocalTime != "08:00:00" || r.Zone != "Europe/Dublin" {
			w.Errorf("%+v", r)
		}
		story := w.run(asked.Key).Story.String()
		if !strings.Contains(story, "Created by sam@support: asked by the customer") {
			w.Error(story)
		}
	})
}

// Whatever goes wrong, the caller has the id to ask with again.
func TestTheIdOfARunComesWithItsError(t *testing.T) {
	eachWorld(t, func(w *world) {
		asked, err := w.reports.RunNow(w.ctx, "", "none", "", support)
		if !errors.Is(err, storage.ErrNotFound) || len(asked.Run) != 36 {
			w.Error(asked.Run, err)
		}
		if _, err := w.reports.RunNow(w.ctx, "", "g-1", "a:b", support); err == nil {
			w.Error("an id that no key can hold")
		}
		if asked, err := w.reports.RunNow(w.ctx, "", "g-1", "mine", report.By{}); err == nil || asked.Run != "mine" {
			w.Error("nobody asks for no reason", asked, err)
		}
		w.create(weekly(nil))
		w.must(w.reports.Deactivate(w.ctx, "", "g-1", support))
		if _, err := w.reports.RunNow(w.ctx, "", "g-1", "", support); !errors.Is(err, report.ErrActionRefused) {
			w.Error(err)
		}
	})
}

// A pause ends the runs that wait, those that people asked for too; a person may
// ask for one all the same.
func TestAPausedSubscriptionRunsForWhoeverAsks(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.create(weekly(nil))
		first, err := w.reports.RunNow(w.ctx, "", "g-1", "before", support)
		w.must(err)
		w.must(w.reports.Pause(w.ctx, "", "g-1", support))
		if got := w.pollAt(at(3, 1, 8, 1)); len(got) != 0 {
			w.Error(subjects(got))
		}
		if got := w.run(first.Key); got.Status != "Deactivated" || got.Reason != reasons.SubscriptionInactive {
			w.Errorf("%+v", got.RunState)
		}
		_, err = w.reports.RunNow(w.ctx, "", "g-1", "during", support)
		w.must(err)
		if got := w.pollAt(at(3, 1, 8, 2)); len(got) != 1 {
			w.Error(subjects(got))
		}
	})
}
