package automation_test

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// bookings is what the host knows: how many places of each class are taken. It
// measures, and leaves it to the scheduler to compare.
type bookings map[string]string

func (b bookings) EventTypes() []string { return []string{"class-changed"} }

func (b bookings) Candidates(_ context.Context, e automation.Event) ([]automation.Candidate, error) {
	return []automation.Candidate{{Threshold: &automation.Threshold{
		Metric: "bookings", Value: "18", Reading: b[e.Source.ID], Policy: automation.FalseToTrue,
	}}}, nil
}

// A class fills up, a place is free again, and it fills up once more.
func ExampleThreshold() {
	ctx := context.Background()
	store, _ := open()
	out := notify.New(store, nil, notify.ChannelFunc("email:print", func(_ context.Context, m notify.Message) (notify.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return notify.Receipt{ID: "1"}, nil
	}))
	taken := bookings{}
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "nearly-full", Triggers: taken, Recipients: certificate.Recipients,
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
