package notify_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// own gives tenants accounts of their own; a tenant that is not there has the shared one.
type own map[notify.Scope]channel.Channel

func (own) Keys() []string { return []string{channelKey} }

func (o own) Channel(_ context.Context, scope notify.Scope, _ string) (channel.Channel, error) {
	return o[scope], nil
}

// tenants has the same message of tenants a and b sent, whose accounts are their own and
// count from 1, and one of c, who has the shared account.
func (h *host) tenants() own {
	h.t.Helper()
	accounts := own{}
	counting := func() *provider {
		n := 0
		return &provider{answer: func(context.Context, channel.Message) (channel.Receipt, error) {
			n++
			return channel.Receipt{ID: fmt.Sprint(n)}, nil
		}}
	}
	accounts["a"], accounts["b"] = counting(), counting()
	h.provider.answer = counting().answer
	h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: accounts}, h.provider)
	h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
	for _, scope := range []notify.Scope{"a", "b", "c"} {
		j := visit("7", person("sam"))
		j.Scope = scope
		h.dispatch(j)
	}
	h.drain()
	return accounts
}

// of is the message of a tenant.
func (h *host) of(scope notify.Scope) *notify.MessageRow {
	h.t.Helper()
	for _, m := range all(h, notify.Messages) {
		if m.Scope == scope {
			return m
		}
	}
	h.t.Fatalf("no message of %q", scope)
	return nil
}

// hears receives callbacks at the webhook of an account, and says which messages and
// suppressions each tenant has then.
func (h *host) hears(account notify.Scope, events ...channel.StatusEvent) (notify.TrackReport, map[notify.Scope]string) {
	h.t.Helper()
	rep, err := h.Receive(h.t.Context(), account, hook(func(channel.WebhookRequest) ([]channel.StatusEvent, error) { return events, nil }), channel.WebhookRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[notify.Scope]string{}
	for _, scope := range []notify.Scope{"a", "b", "c"} {
		if m, stopped := h.of(scope), h.suppressions(scope); m.Status != notify.StatusSentToProvider || len(stopped) > 0 {
			out[scope] = fmt.Sprint(m.Status, stopped)
		}
	}
	return rep, out
}

func (h *host) complains(account notify.Scope, m *notify.MessageRow, providers string) (notify.TrackReport, map[notify.Scope]string) {
	e := channel.StatusEvent{EventID: "complaint", Kind: channel.KindComplained, ProviderMessageID: providers}
	if m != nil {
		e.MessageID = m.MessageID
	}
	return h.hears(account, e)
}

// The key of a tenant's account proves nothing about the messages of others, whichever id
// a callback names.
func TestACallbackChangesOnlyWhatItsAccountHasSent(t *testing.T) {
	complained := "SentToProvider[Complaint test]"
	for name, c := range map[string]struct {
		account notify.Scope
		about   notify.Scope // whose MessageID it names; empty: none
		id      string
		want    map[notify.Scope]string
	}{
		"b's message, by a's key":               {"a", "b", "", nil},
		"b's message and receipt, by a's key":   {"a", "b", "1", nil},
		"b's message, by the shared key":        {"", "b", "", nil},
		"c's message, by a's key":               {"a", "c", "", nil},
		"b's message, by b's key":               {"b", "b", "", map[notify.Scope]string{"b": complained}},
		"the receipt that all have, by b's key": {"b", "", "1", map[notify.Scope]string{"b": complained}},
		"the same, by the shared key":           {"", "", "1", map[notify.Scope]string{"c": complained}},
		"c's message, by the shared key":        {"", "c", "", map[notify.Scope]string{"c": complained}},
		"c's message, by c's key":               {"c", "c", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			visits(t, func(t *testing.T, h *host) {
				h.tenants()
				var m *notify.MessageRow
				if c.about != "" {
					m = h.of(c.about)
				}
				rep, got := h.complains(c.account, m, c.id)
				if c.want == nil {
					c.want = map[notify.Scope]string{}
				}
				h.same("report", notify.TrackReport{Applied: len(c.want), Waiting: 1 - len(c.want)}, rep)
				h.same("changed", c.want, got)
				h.clk.Add(time.Minute)
				h.run("notify.tracker")
				_, got = h.hears(c.account)
				h.same("looked at again", c.want, got)
			})
		})
	}
}

// The same event id of two accounts is two events.
func TestEventsOfTwoAccountsDoNotCollide(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.tenants()
		for _, account := range []notify.Scope{"a", "b"} {
			if rep, _ := h.complains(account, nil, "1"); rep != (notify.TrackReport{Applied: 1}) {
				t.Errorf("of %s: %+v", account, rep)
			}
		}
	})
}

// A provider that gives one id to several messages says nothing about any of them.
func TestAnIdOfSeveralMessagesIsNoneOfThem(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.dispatch(visit("7", person("sam")), visit("8", person("sam")))
		h.drain() // both are "accepted"
		e := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindComplained, ProviderMessageID: "accepted"}
		h.same("report", notify.TrackReport{Waiting: 1}, h.track(e))
		h.same("suppressed", []string(nil), h.suppressions("tenant"))
	})
}

// A tenant that has moved: what went out before is the old account's still, and the new
// one is not asked about a doubt of the old.
func TestAMessageStaysWithTheAccountThatSentIt(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		accounts := h.tenants()
		doubtful := visit("8", person("kim"))
		doubtful.Scope = "b"
		accounts["b"].(*provider).answer = failing(channel.Unknown("cut off", nil))
		h.dispatch(doubtful)
		for _, pass := range []string{"notify.scheduler", "notify.generator", "notify.distributor"} {
			h.run(pass)
		}
		delete(accounts, "b")
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: accounts}, unaskable{h.provider, t})
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		h.run("notify.resolve")
		rep, got := h.complains("b", nil, "1")
		h.same("report", notify.TrackReport{Applied: 1}, rep)
		h.same("changed", map[notify.Scope]string{"b": "SentToProvider[Complaint test]"}, got)
	})
}

// unaskable is a channel that may not be asked.
type unaskable struct {
	*provider
	t *testing.T
}

func (unaskable) LookupWindow() time.Duration { return 0 }

func (a unaskable) Lookup(context.Context, channel.Message) (channel.LookupResult, error) {
	a.t.Error("another account was asked about a call that it knows nothing of")
	return channel.LookupResult{Status: channel.LookupAbsent}, nil
}

// ChannelConcurrency is that of each account.
func TestABoundOfCallsIsEachAccountsOwn(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		together := make(chan struct{}, 2)
		both := make(chan struct{})
		meets := func(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
			together <- struct{}{}
			if len(together) == 2 {
				close(both)
			}
			select {
			case <-both:
				return channel.Receipt{}, nil
			case <-ctx.Done():
				return channel.Receipt{}, ctx.Err()
			}
		}
		accounts := own{"a": &provider{answer: meets}, "b": &provider{answer: meets}}
		h.Notifier = notify.New(h.store, &notify.Options{
			Logger: quiet, Channels: accounts, ChannelConcurrency: map[string]int{channelKey: 1}, CallTimeout: 2 * time.Minute,
		})
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		for _, scope := range []notify.Scope{"a", "b"} {
			j := visit("7", person("sam"))
			j.Scope = scope
			h.dispatch(j)
		}
		h.drain() // the calls wait for one another
		for scope := range accounts {
			if m := h.of(scope); m.Status != notify.StatusSentToProvider {
				h.t.Errorf("%s: %s %s", scope, m.Status, m.ReasonCode)
			}
		}
	})
}
