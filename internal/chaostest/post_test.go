package chaostest

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

// deaf is a provider that cannot be asked what became of a message, and does not
// filter repeats.
type deaf struct{ to *client }

func (deaf) Key() string { return channelKey }

func (d deaf) Send(ctx context.Context, m notify.Message) (notify.Receipt, error) {
	return d.to.Send(ctx, m)
}

// postGates are all gates that there are, and each has something to say.
func postGates(store storage.Store) []notify.Gate {
	return gate.New(store, &gate.Options{
		Guard:  &gate.Guard{Allow: []string{"@example.com"}},
		Caps:   []gate.Cap{{Limit: 1, Per: 10 * time.Minute}},
		Window: &gate.Window{From: "00:30", To: "23:30", Spread: time.Minute},
		Rates:  []gate.Rate{{Channel: channelKey, Limit: 1000, Per: time.Second, Burst: 400}},
	})
}

// post is the host's program with reminders, a campaign and gates, over a provider
// that is deaf. What is in doubt waits for a person.
func post(store storage.Store, provider string) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, &notify.Options{Gates: postGates(store)}, deaf{&client{url: provider}})
	out.Register(notify.Type{Name: "voucher", Renderer: notify.Template{Subject: "A voucher"}})
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name:     "visit",
		Template: notify.Template{Subject: "Your visit on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{person(d.Source.ID)}, nil
		}),
	})
	return reminders, out
}

func person(name string) notify.Recipient {
	return notify.Recipient{Ref: name, Channel: channelKey, Address: name + "@example.com"}
}

func (p *posting) visit(i int) automation.Candidate {
	return automation.Candidate{
		Type: "visit", Source: automation.Source{Type: "car", ID: fmt.Sprintf("p%05d", i)},
		TargetDate: p.today, SendAt: "00:00", Zone: "UTC",
	}
}
