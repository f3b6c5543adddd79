package automation_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// Two hear of the same event. The search index is down, which costs nobody a
// reminder.
func ExampleProcessors() {
	ctx := context.Background()
	store, _ := open()
	reminders := automation.New(store, notify.New(store, nil), nil)
	t := certificate
	t.Triggers = expiries{"7": {Year: 2026, Month: 5, Day: 1}}
	reminders.Register(t)

	processors := automation.NewProcessors(&automation.ProcessorsOptions{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	processors.Register(
		automation.Processor{Name: "reminders", Order: 2, EventTypes: []string{"certificate-changed"}, Handler: reminders},
		automation.Processor{Name: "search", Order: 1, Handler: automation.EventHandlerFunc(
			func(context.Context, automation.Event) (automation.EventResult, error) {
				return automation.EventResult{}, errors.New("the index is down")
			})},
	)
	got, err := processors.Process(ctx, automation.Event{
		Type: "certificate-changed", Source: automation.Source{Type: "employee", ID: "7"}, Version: 1,
	})
	for _, p := range got {
		fmt.Println(p.Name, p.Result.Outcome, len(p.Result.Ensured), p.Err)
	}
	fmt.Println(err)
	// Output:
	// search  0 the index is down
	// reminders Applied 2 <nil>
	// automation: processor search: the index is down
}
