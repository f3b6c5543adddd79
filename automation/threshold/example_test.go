package threshold_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/threshold"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// bookings is what the host knows: how many places of each class are taken. It
// measures, and leaves it to the scheduler to compare.
type bookings map[string]string

func (b bookings) EventTypes() []string { return []string{"class-changed"} }

func (b bookings) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	out := make([]automation.Answer, len(of))
	for i, r := range of {
		out[i].Candidates = []automation.Candidate{{Threshold: &threshold.Threshold{
			Metric: "bookings", Value: "18", Reading: b[r.Source.ID], Policy: threshold.FalseToTrue,
		}}}
	}
	return out, nil
}

// A class fills up, a place is free again, and it fills up once more.
func Example() {
	ctx := context.Background()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{ID: "1"}, nil
	}))
	taken := bookings{}
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "nearly-full", Triggers: taken,
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
		}),
		Template: notify.Template{Subject: "Class {{.Source.ID}}: {{.Reading}} of 20 places are taken ({{.Value}} was the line)"},
	})
	poller := belfry.NewPoller(store, nil, reminders, out)
	for version, n := range []string{"17", "18", "19", "17", "20"} {
		taken["yoga"] = n
		got, err := reminders.HandleEvent(ctx, automation.Event{
			Type: "class-changed", Source: automation.Source{Type: "class", ID: "yoga"}, Version: int64(version + 1),
		})
		fmt.Println(n, got.Ensured[0].Outcome, err)
		for range 2 { // the due row, and then its message
			if err := poller.Drain(ctx); err != nil {
				fmt.Println(err)
			}
		}
	}
	// Output:
	// 17 ThresholdNotMet <nil>
	// 18 Created <nil>
	// sam@example.com - Class yoga: 18 of 20 places are taken (18 was the line)
	// 19 Unchanged <nil>
	// 17 ThresholdNotMet <nil>
	// 20 Created <nil>
	// sam@example.com - Class yoga: 20 of 20 places are taken (18 was the line)
}
