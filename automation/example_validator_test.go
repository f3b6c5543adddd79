package automation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// The course was cancelled before its reminder was due: an outcome, no failure.
func ExampleNoLongerValid() {
	ctx := context.Background()
	store, clk := open()
	cancelled := map[string]bool{"7": true}
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Validator = automation.ValidatorFunc(func(_ context.Context, d automation.Due) (automation.Validity, error) {
		if cancelled[d.Source.ID] {
			return automation.NoLongerValid("CourseCancelled"), nil
		}
		return automation.StillValid(), nil
	})
	reminders.Register(t)
	got, err := reminders.Ensure(ctx, automation.Candidate{
		Type: "certificate", Source: automation.Source{Type: "course", ID: "7"},
		TargetDate: automation.Date{Year: 2026, Month: 5, Day: 1}, DaysBefore: 30,
	})
	if err != nil {
		panic(err)
	}
	clk.Set(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC))
	if err := belfry.NewPoller(store, nil, reminders).Drain(ctx); err != nil {
		panic(err)
	}
	story, err := reminders.Explain(ctx, "", got[0].Key)
	fmt.Println(story.Schedule.Status, story.Schedule.ReasonCode, story.Schedule.RetryCount, err)
	// Output: Deactivated CourseCancelled 0 <nil>
}
