package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func TestACapCountsOverAllProducersAndLetsTheRestWait(t *testing.T) {
	gated(t, with(gate.Options{Caps: []gate.Cap{{Limit: 2, Per: 24 * time.Hour}}}), func(t *testing.T, h *host) {
		survey := gate.New(h.store, &gate.Options{Caps: []gate.Cap{{Limit: 2, Per: 24 * time.Hour}}})
		h.same("a survey", []string{""}, h.answersOf(survey[len(survey)-1], attemptOf("of a survey", "sam", h.clk.Now())))
		h.clk.Add(time.Hour)
		h.ensure(letter("a", "sam"))
		h.drain()
		h.clk.Add(time.Hour)
		h.ensure(letter("b", "sam"), letter("c", "kim"), letter("d", "sam", func(m *notify.OutgoingMessage) { m.Scope = "another" }))
		h.drain()
		h.same("sent", map[string]int{"a": 1, "c": 1, "d": 1}, h.texts())
		m := h.row("b")
		if want := h.clk.Now().Add(22 * time.Hour); m.ReasonCode != reasons.FrequencyCap || !m.DueOn.Equal(want) {
			t.Fatalf("message waits until %v for %s, want %v", m.DueOn, m.ReasonCode, want)
		}
		h.clk.Set(m.DueOn)
		h.drain()
		h.same("sent", map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}, h.texts())
	})
}

func TestOnlyWhoIsAllowedGetsAnythingAndTheRestIsRedirectedOrSkipped(t *testing.T) {
	guard := &gate.Guard{Allow: []string{"@Example.COM", "ann@else.where", "+4915112345678"}, Redirect: map[string]string{"email": "qa@Inside.example"}}
	gated(t, with(gate.Options{Guard: guard}), func(t *testing.T, h *host) {
		to := func(address string) func(*notify.OutgoingMessage) {
			return func(m *notify.OutgoingMessage) { m.Address = address }
		}
		h.ensure(letter("domain", "sam"), letter("address", "ann", to("Ann@else.where")), letter("elsewhere", "eve", to("eve@else.where")),
			letter("subdomain", "kim", to("kim@a.example.com")), letter("lookalike", "kim", to("kim@notexample.com")))
		h.drain()
		got := map[string]string{}
		for _, m := range h.sent() {
			got[m.Text] = m.To
		}
		const qa = "qa@inside.example"
		h.same("went to", map[string]string{"domain": "sam@example.com", "address": "Ann@else.where", "elsewhere": qa, "subdomain": qa, "lookalike": qa}, got)
		h.same("stored", "eve@else.where", h.row("elsewhere").Address)

		guarding := func(g *gate.Guard) gate.Gate {
			return gate.New(h.store, &gate.Options{Guard: g})[0]
		}
		sms := attemptOf("id", "eve", h.clk.Now())
		sms.Method, sms.Address = "sms", "+4915187654321"
		allowed := sms
		allowed.Address = "+4915112345678"
		h.same("by another method", []string{"Skip " + reasons.NotAllowed, ""}, h.answersOf(guarding(guard), sms, allowed))
		h.same("nobody is allowed", []string{"Skip " + reasons.NotAllowed}, h.answersOf(guarding(&gate.Guard{}), sms))
	})
}

// Those that waited do not come all at once, each comes at the same moment however
// often it is asked about, and all of them when the window is open.
func TestWhatWaitedForTheWindowIsSpread(t *testing.T) {
	gated(t, with(gate.Options{Window: &gate.Window{From: "10:00", To: "10:20", Spread: time.Hour}}), func(t *testing.T, h *host) {
		for i := range 20 {
			h.ensure(letter(string(rune('a'+i)), "sam"))
		}
		h.drain()
		moments := map[time.Time]bool{}
		opens := h.clk.Now().Add(2 * time.Hour)
		for _, m := range all(h, notify.Messages) {
			moments[m.DueOn] = true
			if m.DueOn.Before(opens) || m.DueOn.After(opens.Add(20*time.Minute)) {
				t.Errorf("due %v", m.DueOn)
			}
		}
		if len(moments) < 15 {
			t.Errorf("%d moments", len(moments))
		}
		h.clk.Set(opens.Add(20*time.Minute - time.Microsecond))
		h.drain()
		h.same("sent", 20, len(h.texts()))
	})
}

// statementsOf are the statements that it takes to send n messages as one group.
func statementsOf(t *testing.T, n int, options func(storage.Store) *notify.Options) []string {
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store, calls := storetest.Counting(memory.New(&memory.Options{Clock: clk}))
	o := options(store)
	o.Concurrency = 200
	h := newGated(t, store, clk, o)
	poll := h.distributor()
	h.ensure(letter("first", "somebody")) // what is done once is done
	poll()
	for i := range n {
		h.ensure(letter(fmt.Sprint(i), fmt.Sprint("r", i)))
	}
	calls.Take()
	if got := poll(); got != n {
		t.Fatalf("claimed %d", got)
	}
	return calls.Verbs()
}

func TestTheStatementsOfAGroupDoNotGrowWithItsMessages(t *testing.T) {
	t.Parallel()
	gates := with(gate.Options{
		Guard: &gate.Guard{Allow: []string{"@example.com"}}, Caps: []gate.Cap{{Limit: 2, Per: time.Hour}},
		Window: &gate.Window{From: "07:00", To: "20:00"}, Rates: []gate.Rate{{Channel: channelKey, Limit: 1000, Per: time.Second}},
	})
	none := func(storage.Store) *notify.Options { return &notify.Options{} }
	for name, c := range map[string]struct {
		options func(storage.Store) *notify.Options
		most    int
	}{
		// A look, what is paused, a claim, suppression, preferences, the write that a call
		// has started.
		"no gates": {none, 6},
		// And pauses; one to read and one to write the caps; two to read and two to write
		// the rate.
		"all gates": {gates, 6 + 1 + 2 + 4},
	} {
		few, many := statementsOf(t, 2, c.options), statementsOf(t, 150, c.options)
		few, many = beforeSettles(t, few, c.most), beforeSettles(t, many, c.most)
		if diff := cmp.Diff(few, many); diff != "" {
			t.Errorf("%s: statements for 2 messages and for 150 (-2 +150):\n%s", name, diff)
		}
	}
}

// beforeSettles are the first most statements. Behind them are only settles, whose number
// goes by when calls end.
func beforeSettles(t *testing.T, statements []string, most int) []string {
	t.Helper()
	head := statements[:min(most, len(statements))]
	for _, s := range statements[len(head):] {
		if s != "update outgoing_message" {
			t.Errorf("%s behind the first %d statements", s, most)
		}
	}
	return head
}

func TestProgrammersErrorsPanicWithAClearMessage(t *testing.T) {
	t.Parallel()
	send := func(context.Context, channel.Message) (channel.Receipt, error) { return channel.Receipt{}, nil }
	over := func(key string) channel.Channel { return channel.Func(key, send) }
	store := memory.New(nil)
	n := notify.New(store, nil)
	n.Register(notify.Type{Name: "visit"})
	for want, f := range map[string]func(){
		"New needs a store":                        func() { notify.New(nil, nil) },
		"channel 2 is nil":                         func() { notify.New(store, nil, over("email:a"), nil) },
		`two channels have the key "`:              func() { notify.New(store, nil, over("email:a"), over("email:a")) },
		`channel key "E-Mail"`:                     func() { notify.New(store, nil, over("E-Mail")) },
		"Func needs":                               func() { channel.Func("email", nil) },
		"Func needs a key":                         func() { channel.Func("", send) },
		"a type needs a name":                      func() { n.Register(notify.Type{}) },
		"is registered already":                    func() { n.Register(notify.Type{Name: "visit"}) },
		`unknown InDoubt policy "Pray"`:            func() { n.Register(notify.Type{Name: "a", InDoubt: "Pray"}) },
		"unclosed action":                          func() { n.Register(notify.Type{Name: "a", Renderer: notify.Template{Subject: "{{"}}) },
		"WithTx needs a transaction":               func() { n.WithTx(nil) },
		"HashKey has 1 bytes":                      func() { notify.New(store, &notify.Options{HashKey: []byte("x")}) },
		"channel 1 is nil (*notify_test.provider)": func() { notify.New(store, nil, (*provider)(nil)) },
		"gate 2 is nil":                            func() { notify.New(store, &notify.Options{Gates: []gate.Gate{silentGate{}, nil}}) },
		"not an https address": func() {
			notify.New(store, &notify.Options{Unsubscribe: &notify.UnsubscribeOptions{URL: "http://x.y", Key: make([]byte, 32)}})
		},
		"Key needs 32": func() {
			notify.New(store, &notify.Options{Unsubscribe: &notify.UnsubscribeOptions{URL: "https://x.y"}})
		},
		"gate: New needs a store": func() { gate.New(nil, nil) },
		"From is To": func() {
			gate.New(store, &gate.Options{Window: &gate.Window{From: "08:00", To: "08:00"}})
		},
		`"8:00" must be written`: func() {
			gate.New(store, &gate.Options{Window: &gate.Window{From: "8:00", To: "20:00"}})
		},
		"is not an IANA name": func() {
			gate.New(store, &gate.Options{Window: &gate.Window{From: "08:00", To: "20:00", Zone: "!"}})
		},
		"a cap of 0 messages": func() { gate.New(store, &gate.Options{Caps: []gate.Cap{{Per: time.Hour}}}) },
		"a rate of 0 calls": func() {
			gate.New(store, &gate.Options{Rates: []gate.Rate{{Channel: "sms", Per: time.Hour}}})
		},
		"two rates of channel": func() {
			gate.New(store, &gate.Options{Rates: []gate.Rate{{Channel: "sms", Limit: 1, Per: time.Hour}, {Channel: "sms", Limit: 1, Per: time.Hour}}})
		},
		"holds an empty entry": func() {
			gate.New(store, &gate.Options{Guard: &gate.Guard{Allow: []string{" "}}})
		},
		`Redirect of "email"`: func() {
			gate.New(store, &gate.Options{Guard: &gate.Guard{Redirect: map[string]string{"email": "nobody"}}})
		},
		"belongs to another store": func() {
			_ = memory.New(nil).InTx(t.Context(), func(tx storage.Tx) error { n.WithTx(tx); return nil })
		},
	} {
		if got := panicOf(f); !strings.Contains(got, want) {
			t.Errorf("want a panic with %q, got %q", want, got)
		}
	}
}

func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

func TestMethodIsWhatStandsBeforeTheColon(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"email:smtp": "email", "sms": "sms", "sms:a:b": "sms", "": ""} {
		if got := channel.Method(key); got != want {
			t.Errorf("%q: %q", key, got)
		}
	}
}
