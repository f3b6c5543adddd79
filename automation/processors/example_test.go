package processors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/processors"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
)

// Two hear of the same event. The search index is down, which costs nobody a
// reminder.
func Example() {
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	reminders := automation.New(store, notify.New(store, nil), nil)
	reminders.Register(automation.ReminderType{
		Name: "certificate", SendAt: "09:00", Zone: "Europe/Dublin", Triggers: expiries{"7": {Year: 2026, Month: 5, Day: 1}},
		Template: notify.Template{Subject: "Your certificate expires on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}}, nil
		}),
	})

	listening := processors.New(&processors.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	listening.Register(
		processors.Processor{Name: "reminders", Order: 2, EventTypes: []string{"certificate-changed"}, Handler: reminders},
		processors.Processor{Name: "search", Order: 1, Handler: processors.EventHandlerFunc(
			func(context.Context, automation.Event) (automation.EventResult, error) {
				return automation.EventResult{}, errors.New("the index is down")
			})},
	)
	got, err := listening.Process(context.Background(), automation.Event{
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

// expiries are dates of employees' certificates.
type expiries map[string]automation.Date

func (m expiries) EventTypes() []string { return []string{"certificate-changed"} }

func (m expiries) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	return automation.Each(of, func(r automation.Request) (a automation.Answer, err error) {
		for _, days := range []int{30, 7} {
			a.Candidates = append(a.Candidates, automation.Candidate{TargetDate: m[r.Source.ID], DaysBefore: days})
		}
		return a, nil
	})
}
