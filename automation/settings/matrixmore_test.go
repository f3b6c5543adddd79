package settings_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/settings"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/keys"
)

const measured = "reminder:expiry:employee:7:default:threshold:taken:"

// seats is a setting with thresholds on "taken" and no offsets.
func seats(values ...string) settings.ReminderSetting {
	return expiry(func(r *settings.ReminderSetting) {
		r.Offsets, r.SendAt = nil, ""
		for _, v := range values {
			r.Thresholds = append(r.Thresholds, settings.Threshold{
				Metric: "taken", Comparison: threshold.AtLeast, Value: v, Policy: keys.OncePerThreshold,
			})
		}
	})
}

// Another threshold: the open row of the old one ends, the new one has its own,
// and what has gone out stays.
func TestMatrixAnotherThresholdDeactivatesAndRecreates(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.targets = []settings.Target{{Readings: []settings.Reading{{Metric: "taken", Value: "16"}, {Metric: "other", Value: "99"}}}}
		saved := w.save(seats("10"))
		w.changeReachesSources()
		if sent := w.pollAt(w.clk.Now()); len(sent) != 1 {
			w.Fatal(sent)
		}
		completed := w.row(measured + "10:OncePerThreshold:source")
		saved.Thresholds = seats("10", "12").Thresholds
		saved = w.save(saved)
		w.changeReachesSources()
		saved.Thresholds = seats("10", "14").Thresholds
		w.save(saved)
		w.changeReachesSources()
		w.mustBe(completed, map[string]string{
			measured + "12:OncePerThreshold:source": "Deactivated Superseded",
			measured + "14:OncePerThreshold:source": "Pending",
		})
	})
}

// Another cadence: the row of the next occurrence ends, and the new cadence has
// its own.
func TestMatrixAnotherCadenceDeactivatesAndRecreates(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.targets = []settings.Target{{}}
		saved := w.save(expiry(func(r *settings.ReminderSetting) {
			r.Offsets, r.SendAt, r.Cadence = nil, "", settings.Cadence{Cron: "0 9 * * 1"}
		}))
		w.changeReachesSources()
		saved.Cadence = settings.Cadence{RRule: "FREQ=WEEKLY;BYDAY=TU", Start: automation.Date{Year: 2026, Month: 3, Day: 1}}
		saved.SendAt = "10:30"
		w.save(saved)
		w.changeReachesSources()
		const series = "reminder:expiry:employee:7:default:recurring:"
		want := map[string]string{
			series + "2026-03-02T09:00:00Z": "Deactivated Superseded",
			series + "2026-03-03T10:30:00Z": "Pending",
		}
		if diff := cmp.Diff(want, w.statuses(series+"2026-03-02T09:00:00Z", series+"2026-03-03T10:30:00Z")); diff != "" {
			w.Error(diff)
		}
	})
}

func TestACadenceIsTriedOutWhenItIsSaved(t *testing.T) {
	t.Parallel()
	for _, c := range []settings.Cadence{
		{Cron: "0 9 30 2 *"}, {Cron: "every day"}, {RRule: "FREQ=SECONDLY", Start: firstOfMay},
	} {
		err := expiry(func(r *settings.ReminderSetting) { r.Cadence = c }).Validate()
		if err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
