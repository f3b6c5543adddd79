package tenant_test

import (
	"context"
	"fmt"
	"log"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/tenant"
)

// server is a database with a poller of its own. One process has many.
type server struct {
	store  storage.Store
	out    *notify.Notifier
	poller *belfry.Poller
}

func newServer(name string, store storage.Store, mail channel.Channel) *server {
	s := &server{store: store, out: notify.New(store, nil, mail)}
	s.out.Register(notify.Type{Name: "receipt", Renderer: notify.Template{Subject: "Your order"}})
	s.poller = belfry.NewPoller(store, &belfry.Options{Store: name}, s.out)
	return s
}

// A tenant moves from one server to another one. The host has a table of its own that says
// which tenant is where.
func ExampleMove_Run() {
	ctx := context.Background()
	mail := channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject)
		return channel.Receipt{ID: m.ID}, nil
	})
	one, two := newServer("one", memory.New(nil), mail), newServer("two", memory.New(nil), mail)
	home := map[storage.Scope]*server{"north": one, "south": one}
	order := func(scope storage.Scope, id string) {
		to := notify.Recipient{Ref: "sam", Channel: "email:print", Address: id + "@example.com"}
		if _, err := home[scope].out.Notify(ctx, notify.Job{Scope: scope, Type: "receipt", RowKey: id, Recipients: []notify.Recipient{to}}); err != nil {
			log.Fatal(err)
		}
	}
	order("north", "sam")
	order("south", "eve")

	report, err := tenant.Move{
		From: one.store, To: two.store, Scope: "north", By: tenant.By{Actor: "ann", Reason: "server one is full"},
		Hold:   func(context.Context) error { return nil }, // stop writing for north, in all processes
		Switch: func(context.Context) error { home["north"] = two; return nil },
	}.Run(ctx)
	fmt.Println(report.Phase, err)
	order("north", "sam") // the order of before: it is not sent again
	for _, s := range []*server{one, two} {
		if err := s.poller.Drain(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// Moved <nil>
	// eve@example.com - Your order
	// sam@example.com - Your order
}

func ExamplePhaseOf() {
	ctx, store := context.Background(), memory.New(nil)
	phase, err := tenant.PhaseOf(ctx, store, "north")
	switch phase {
	case tenant.Held:
		fmt.Println("try again in a moment")
	case tenant.Switched, tenant.Moved:
		fmt.Println("the tenant is in the new store")
	default:
		fmt.Println("the tenant is here", err)
	}
	// Output: the tenant is here <nil>
}

func ExampleMove_Preview() {
	ctx := context.Background()
	mail := channel.Func("email:print", func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil })
	one, two := newServer("one", memory.New(nil), mail), newServer("two", memory.New(nil), mail)
	to := notify.Recipient{Ref: "sam", Channel: "email:print", Address: "sam@example.com"}
	_, err := one.out.Notify(ctx, notify.Job{Scope: "north", Type: "receipt", RowKey: "1", Recipients: []notify.Recipient{to}})
	if err != nil {
		log.Fatal(err)
	}
	move := tenant.Move{From: one.store, To: two.store, Scope: "north", By: tenant.By{Actor: "ann", Reason: "how large is north?"}}
	report, err := move.Preview(ctx)
	fmt.Println(report.Tables, err)
	fmt.Println(move.Undo(ctx)) // nothing has begun
	// Output:
	// [{notification_job 1} {notification_scheduler 1}] <nil>
	// tenant: Undo: tenant: move refused: the tenant is not being moved
}
