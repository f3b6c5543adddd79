package report_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/report"
)

// A run that is due asks what the subscription is now. A change of status ends the
// runs that wait, so it is those that support retries that find another one: a
// scheduled run is for an active subscription only, one that somebody asked for is
// for a paused one too, and none is for one that is gone.
func TestARunThatIsDueLooksAtTheStatusOfItsSubscription(t *testing.T) {
	eachWorld(t, func(w *world) {
		turns := map[string]func(context.Context, automation.Scope, string, report.By) error{
			"active": nil, "paused": w.reports.Pause, "deactivated": w.reports.Deactivate, "deleted": w.reports.Delete,
		}
		runs := []string{"scheduled:2026-03-02T09:00:00Z", "manual:asked"}
		key := func(guid, run string) string { return "report-subscription:" + guid + ":" + run }
		for guid, turn := range turns {
			w.create(weekly(func(s *report.Subscription) { s.GUID = guid }))
			_, err := w.reports.RunNow(w.ctx, "", guid, "asked", support)
			w.must(err)
			if turn == nil {
				continue
			}
			w.must(turn(w.ctx, "", guid, support))
			for _, run := range runs {
				w.must(w.work.Support().Retry(w.ctx, "", key(guid, run), support))
			}
		}
		w.pollAt(at(3, 2, 9, 0))
		got := map[string][]string{}
		for guid := range turns {
			for _, run := range runs {
				story, err := w.work.Explain(w.ctx, "", key(guid, run))
				w.must(err)
				got[guid] = append(got[guid], strings.TrimSpace(story.Schedule.Status+" "+story.Schedule.ReasonCode))
			}
		}
		want := map[string][]string{
			"active":      {"Completed", "Completed"},
			"paused":      {"Deactivated SubscriptionInactive", "Completed"},
			"deactivated": {"Deactivated SubscriptionInactive", "Deactivated SubscriptionInactive"},
			"deleted":     {"Deactivated SourceNoLongerValid", "Deactivated SourceNoLongerValid"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Error(diff)
		}
	})
}
