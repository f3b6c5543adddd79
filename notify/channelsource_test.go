package notify_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// senders is a source with a channel of its own for some scopes.
type senders struct {
	mu      sync.Mutex
	asked   int
	keys    []string
	channel map[notify.Scope]notify.Channel
	broken  map[notify.Scope]error
}

func (s *senders) Keys() []string { return s.keys }

func (s *senders) Channel(_ context.Context, scope notify.Scope, key string) (notify.Channel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if err := s.broken[scope]; err != nil {
		if errors.Is(err, errLost) {
			panic("a password")
		}
		return s.channel[scope], err
	}
	return s.channel[scope], nil
}

func in(scope notify.Scope) func(*notify.OutgoingMessage) {
	return func(m *notify.OutgoingMessage) { m.Scope = scope }
}

func TestEachScopeSendsByItsOwnChannel(t *testing.T) {
	s := func() (*senders, map[string]*provider) {
		p := map[string]*provider{"north": {}, "south": {}}
		return &senders{keys: []string{"email:own"}, channel: map[notify.Scope]notify.Channel{"north": p["north"], "south": p["south"]}, broken: map[notify.Scope]error{}}, p
	}
	gated(t, func(storage.Store) *notify.Options { return &notify.Options{} }, func(t *testing.T, h *host) {
		source, providers := s()
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: source}, h.provider)
		own := func(m *notify.OutgoingMessage) { m.Type = "email:own" }
		source.broken["west"], source.broken["south"], source.broken["east"] = errors.New("no password"), nil, errLost
		h.ensure(
			letter("north", "sam", in("north")), letter("south", "sam", in("south"), own), letter("default", "sam"),
			letter("broken", "sam", in("west")), letter("panics", "sam", in("east")), letter("nobody", "sam", own),
		)
		h.drain()
		sent := map[string]string{}
		for name, p := range map[string]*provider{"north": providers["north"], "south": providers["south"], "own": h.provider} {
			for _, m := range p.sent() {
				sent[m.Text] = name + " " + m.Channel
			}
		}
		h.same("sent", map[string]string{"north": "north " + channelKey, "south": "south email:own", "default": "own " + channelKey}, sent)
		for _, text := range []string{"broken", "panics", "nobody"} {
			if m := h.row(text); m.Status != notify.StatusRetryReady || m.ReasonCode != notify.ReasonNoChannel || m.RetryCount != 1 || m.Calls != 0 {
				t.Errorf("%s is %+v", text, m)
			}
		}
		source.broken["west"] = nil
		h.clk.Set(latest(h.row("broken").DueOn, h.row("panics").DueOn))
		h.drain()
		if m := h.row("broken"); m.Status != notify.StatusSentToProvider {
			t.Errorf("after it was mended: %+v", m)
		}
	})
}

// The resolver asks the scope's own channel, too.
func TestADoubtIsResolvedByTheChannelOfItsScope(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.dieCalling()
		h.clk.Add(lease)
		k := &knowing{provider: h.provider, knows: notify.LookupResult{Status: notify.LookupAccepted, Receipt: notify.Receipt{ID: "theirs"}}}
		source := &senders{keys: []string{channelKey}, channel: map[notify.Scope]notify.Channel{"tenant": k}, broken: map[notify.Scope]error{"tenant": errors.New("away")}}
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet, Channels: source})
		h.drain()
		h.status(notify.StatusOutcomeUnknown)
		source.broken = nil
		h.settle()
		if m := h.status(notify.StatusSentToProvider); m.ProviderMessageID != "theirs" || k.asked != 1 {
			t.Errorf("message is %+v, asked %d times", m, k.asked)
		}
	})
}
