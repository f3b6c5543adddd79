package notify_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
)

// Messages of many tenants take as many statements as those of one, from Ensure to
// what providers say afterwards, under every gate.
func TestManyTenantsTakeNoMoreStatementsThanOne(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		const messages = 60
		one, many := h.stages(t, messages, 1), h.stages(t, messages, messages)
		for stage, statements := range one {
			// An Ensure reads first, or inserts first, as the last one of its table found it.
			if more := len(many[stage]) - len(statements); more > messages/10 {
				t.Errorf("%s: %d statements more for %d tenants: %v", stage, more, messages, many[stage])
			}
		}
	})
}

// stages sends messages of so many tenants and counts the statements of each stage.
func (h *host) stages(t *testing.T, messages, tenants int) map[string][]string {
	spy, calls := storetest.Counting(h.store)
	key := []byte("0123456789abcdef0123456789abcdef")
	p := &provider{}
	n := notify.New(spy, &notify.Options{Logger: quiet, HashKey: key, Gates: gate.New(spy, &gate.Options{
		Caps: []gate.Cap{{Limit: 100, Per: time.Hour}}, Window: &gate.Window{From: "00:00", To: "23:59"},
		Rates: []gate.Rate{{Channel: channelKey, Limit: 10_000, Per: time.Second, PerScope: true}},
	})}, p)
	n.Register(notify.Type{Name: "visit", Renderer: visitTemplate, Revalidator: notify.RevalidatorFunc(
		func(context.Context, notify.Job) (gate.Verdict, error) { return gate.Proceed(), nil })})
	n.Subscribe(notify.StatusFunc("crm", func(context.Context, notify.StatusChange) error { return nil }))
	of := &host{Notifier: n, store: spy, t: t, clk: h.clk, provider: p}
	of.drain() // hash key, subscription, sweep
	calls.Take()

	out := map[string][]string{}
	var jobs []notify.Job
	for i := range messages {
		j := visit(fmt.Sprint(tenants, "-", i), person(fmt.Sprint("p", i)))
		j.Scope, j.Recipients[0].Inbox = notify.Scope(fmt.Sprint("tenant ", tenants, " ", i%tenants)), fmt.Sprint("user:", i)
		jobs = append(jobs, j)
	}
	of.dispatch(jobs...)
	out["Ensure"] = calls.Verbs()
	of.drain()
	out["sending"] = calls.Verbs()
	of.dispatch(jobs...)
	out["Ensure again"] = calls.Verbs()
	var events []channel.StatusEvent
	for _, m := range p.sent() {
		events = append(events, channel.StatusEvent{Provider: "test", EventID: m.ID, Kind: channel.KindComplained, MessageID: m.ID})
		events = append(events, channel.StatusEvent{Provider: "test", EventID: "d" + m.ID, Kind: channel.KindDelivered, MessageID: m.ID})
	}
	if _, err := n.Track(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
	out["Track"] = calls.Verbs()
	of.drain()
	out["telling"] = calls.Verbs()
	h.same("sent", messages, len(p.sent()))
	return out
}
