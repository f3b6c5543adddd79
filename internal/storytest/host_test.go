package storytest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// lease is longer than any that a domain takes by default.
const lease = time.Hour

var quiet = slog.New(slog.DiscardHandler)

// world is a database, a clock, and a provider that notes what it accepts.
type world struct {
	*testing.T
	store storage.Store
	clk   *clock.Mock
	provider
	senders map[*survey.Service]*notify.Notifier // of garages
}

func each(t *testing.T, story func(w *world)) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		story(&world{T: t, store: store, clk: clk, senders: map[*survey.Service]*notify.Notifier{}})
	})
}

// with adds what sends the links of surveys.
func (w *world) with(services []belfry.Service) []belfry.Service {
	out := slices.Clone(services)
	for _, s := range services {
		if of, ok := s.(*survey.Service); ok && w.senders[of] != nil {
			out = append(out, w.senders[of])
		}
	}
	return out
}

// drain lets a process of services do all that is due.
func (w *world) drain(services ...belfry.Service) {
	w.Helper()
	if err := belfry.NewPoller(w.store, &belfry.Options{Logger: quiet}, w.with(services)...).Drain(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// killed polls in a process on a store that dies; what it reports nobody reads.
func (w *world) killed(store storage.Store, services ...belfry.Service) {
	p := belfry.NewPoller(store, &belfry.Options{Logger: quiet}, w.with(services)...)
	for range 5 {
		_, _ = p.PollOnce(w.Context(), 10)
	}
}

// wantSent compares subjects and addresses of what the provider has accepted.
func (w *world) wantSent(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := slices.Sorted(slices.Values(w.accepted))
	if slices.Sort(want); !slices.Equal(got, want) {
		w.Errorf("sent %q, want %q", got, want)
	}
}

// provider accepts mails, each once more if it is sent once more, and can tell
// afterwards whether it has one.
type provider struct {
	mu       sync.Mutex
	accepted []string
	ids      []string                        // of the messages, by call
	answer   func(m channel.Message) error   // instead of a receipt, if it gives one
	inCall   func()                          // while the mail is under way
	knows    map[string]channel.LookupResult // by message
}

const channelKey = "email:test"

func (*provider) Key() string { return channelKey }

func (p *provider) Send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answer != nil {
		if err := p.answer(m); err != nil {
			p.ids = append(p.ids, m.ID)
			return channel.Receipt{}, err
		}
	}
	p.ids = append(p.ids, m.ID)
	p.accepted = append(p.accepted, m.Subject+" to "+m.To)
	if p.knows == nil {
		p.knows = map[string]channel.LookupResult{}
	}
	p.knows[m.ID] = channel.LookupResult{Status: channel.LookupAccepted, Receipt: channel.Receipt{ID: "p-" + m.ID}}
	if p.inCall != nil {
		p.inCall()
	}
	return channel.Receipt{ID: "p-" + m.ID}, nil
}

// telling is the provider with a lookup.
type telling struct{ *provider }

func (telling) LookupWindow() time.Duration { return 0 }

func (p telling) Lookup(_ context.Context, m channel.Message) (channel.LookupResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.knows[m.ID]; ok {
		return known, nil
	}
	return channel.LookupResult{Status: channel.LookupAbsent}, nil
}

// mortal is the store of a process that dies: at the transaction dieAt, which is
// not committed, or when kill is called. It writes nothing more.
type mortal struct {
	*storetest.Spy
	mu    sync.Mutex
	dieAt int // counted from one; zero is never
	seen  int
	dead  bool
}

var errDead = errors.New("the process was killed")

func newMortal(store storage.Store, dieAt int) *mortal {
	m := &mortal{dieAt: dieAt}
	m.Spy = &storetest.Spy{Store: store, Hook: m.hook}
	return m
}

func (m *mortal) hook(c storetest.Call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Verb == storetest.Commit {
		m.seen++
		m.dead = m.dead || m.seen == m.dieAt
	}
	if m.dead && (c.Verb == storetest.Begin || c.Verb == storetest.Commit) {
		return errDead
	}
	return nil
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}
