package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/tenant"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var by = tenant.By{Actor: "ann", Reason: "a second server"}

// site is a store with a poller, and counts what it sends.
type site struct {
	*testing.T
	store storage.Store
	out   *notify.Notifier
	sent  []string
}

func newSite(t *testing.T, store storage.Store, opts notify.Options) *site {
	s := &site{T: t, store: store}
	s.out = notify.New(store, &opts, channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		s.sent = append(s.sent, m.To)
		return channel.Receipt{ID: m.ID}, nil
	}))
	s.out.Register(notify.Type{Name: "news", Renderer: notify.Template{Subject: "News"}})
	return s
}

func (s *site) asks(scope storage.Scope, name string) {
	s.Helper()
	_, err := s.out.Notify(s.Context(), notify.Job{
		Scope: scope, Type: "news", RowKey: name,
		Recipients: []notify.Recipient{{Ref: name, Channel: "email:test", Address: name + "@example.com"}},
	})
	s.must(err)
}

func (s *site) drain() {
	s.Helper()
	s.must(belfry.NewPoller(s.store, nil, s.out).Drain(s.Context()))
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *site) wantSent(want ...string) {
	s.Helper()
	if fmt.Sprint(s.sent) != fmt.Sprint(want) {
		s.Errorf("sent %v, want %v", s.sent, want)
	}
}

// sites are two of them, and the move of north from one to the other.
func sites(t *testing.T, test func(from, to *site, m tenant.Move)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		from, to := newSite(t, store, notify.Options{}), newSite(t, storetest.Memory(t, clk), notify.Options{})
		test(from, to, tenant.Move{From: from.store, To: to.store, Scope: "north", By: by})
	})
}

func phases(t *testing.T, m tenant.Move, from, to tenant.Phase) {
	t.Helper()
	for store, want := range map[storage.Store]tenant.Phase{m.From: from, m.To: to} {
		if got, err := tenant.PhaseOf(t.Context(), store, m.Scope); got != want || err != nil {
			t.Errorf("the phase is %q, want %q; %v", got, want, err)
		}
	}
}

// The host may write until Hold is called, and from Switch on. In between the phases say so,
// and other tenants go on.
func TestTheHostHearsOfEachPhase(t *testing.T) {
	sites(t, func(from, to *site, m tenant.Move) {
		from.asks("north", "sam")
		from.drain()
		from.asks("north", "eve")
		from.asks("south", "tom")
		phases(t, m, "", "")
		m.Hold = func(context.Context) error {
			phases(t, m, tenant.Held, tenant.Arriving)
			from.asks("north", "ann") // before Hold returns
			return nil
		}
		m.Switch = func(context.Context) error {
			phases(t, m, tenant.Switched, tenant.Arriving)
			from.drain()
			to.asks("north", "sam")
			return nil
		}
		report, err := m.Run(t.Context())
		if err != nil || report.Phase != tenant.Moved || len(report.Hash) != 64 || len(report.Tables) == 0 {
			t.Fatalf("%+v; %v", report, err)
		}
		phases(t, m, tenant.Moved, "")
		from.drain()
		to.drain()
		from.wantSent("sam@example.com", "tom@example.com")
		to.wantSent("eve@example.com", "ann@example.com")
		if again, err := m.Run(t.Context()); err != nil || again.Phase != tenant.Moved {
			t.Errorf("again: %+v; %v", again, err)
		}
		history, err := to.out.Support().Pauses(t.Context(), "north")
		if err != nil || len(history) != 0 {
			t.Error(history, err)
		}
	})
}

// A dry run counts, and writes nothing.
func TestAPreviewCountsAndWritesNothing(t *testing.T) {
	sites(t, func(from, to *site, m tenant.Move) {
		from.asks("north", "sam")
		report, err := m.Preview(t.Context())
		if err != nil || report.Phase != "" || !strings.Contains(fmt.Sprint(report.Tables), "{notification_job 1}") {
			t.Errorf("%+v; %v", report, err)
		}
		phases(t, m, "", "")
	})
}

// Before the switch a move can be taken back.
func TestAMoveIsUndone(t *testing.T) {
	sites(t, func(from, to *site, m tenant.Move) {
		from.asks("north", "sam")
		from.drain()
		from.asks("north", "eve")
		failed := errors.New("the other programs do not answer")
		m.Switch = func(context.Context) error { return failed }
		held := m
		held.Hold = func(context.Context) error { return failed }
		if _, err := held.Run(t.Context()); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		from.must(m.Undo(t.Context()))
		phases(t, m, "", "")
		to.drain()
		from.drain()
		from.wantSent("sam@example.com", "eve@example.com")
		if _, err := m.Run(t.Context()); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if err := m.Undo(t.Context()); !errors.Is(err, tenant.ErrRefused) || !strings.Contains(err.Error(), "move it back") {
			t.Errorf("Undo after the switch: %v", err)
		}
	})
}

// A claim that was left by a process that died is handled as such in the new store; a live
// one is waited for.
func TestAMoveWaitsForWhatWorkersHaveInHand(t *testing.T) {
	sites(t, func(from, to *site, m tenant.Move) {
		from.asks("north", "sam")
		dead := errors.New("killed")
		dying := newSite(t, &storetest.Spy{Store: from.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Update {
				return dead
			}
			return nil
		}}, notify.Options{})
		if err := belfry.NewPoller(dying.store, nil, dying.out).Drain(t.Context()); err == nil {
			t.Fatal("the process did not die")
		}
		ctx, cancel := context.WithCancel(t.Context())
		m.Hold = func(context.Context) error {
			cancel()
			return nil
		}
		if _, err := m.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		from.store.Clock().(*clock.Mock).Add(3 * 60 * 60 * 1e9)
		m.Hold = nil
		if _, err := m.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		to.drain()
		from.store.Clock().(*clock.Mock).Add(60 * 60 * 1e9)
		to.drain()
		to.wantSent("sam@example.com")
	})
}

// What was written to the old store after it was compared goes to the new one, unless that
// has such a row, too: then it stays, and is counted.
func TestWhatIsWrittenTooLateIsNotLost(t *testing.T) {
	sites(t, func(from, to *site, m tenant.Move) {
		optOut := func(s *site, who string, out bool) {
			s.must(s.out.Contacts().SetPreferences(t.Context(), notify.Preference{Scope: "north", RecipientRef: who, OptedOut: out}))
		}
		optOut(from, "sam", false)
		optOut(from, "eve", false)
		m.Switch = func(context.Context) error {
			optOut(from, "ann", true)
			optOut(from, "sam", true)
			return nil
		}
		report, err := m.Run(t.Context())
		if !errors.Is(err, tenant.ErrLeft) || fmt.Sprint(report.Left) != "[{recipient_preference 1}]" || report.Phase != tenant.Moved {
			t.Fatalf("%+v; %v", report, err)
		}
		for _, name := range []string{"ann", "eve"} {
			to.asks("north", name)
		}
		to.drain()
		to.wantSent("eve@example.com")
	})
}

// Stores between which a tenant cannot be moved are refused before anything is written.
func TestWhatCannotBeMovedIsRefused(t *testing.T) {
	pausing := notify.Extent{Everywhere: true}
	for name, spoil := range map[string]func(from, to *site, m *tenant.Move){
		"rows of the tenant": func(_, to *site, _ *tenant.Move) { to.asks("north", "sam") },
		"not two stores":     func(_, _ *site, m *tenant.Move) { m.To = m.From },
		"pause it there": func(from, _ *site, _ *tenant.Move) {
			from.must(from.out.Support().Pause(from.Context(), pausing, from.store.Clock().Now().Add(1e12), by))
		},
		"under different keys": func(_, to *site, _ *tenant.Move) {
			other := newSite(to.T, to.store, notify.Options{HashKey: []byte("another key, of thirty-two bytes.")})
			other.asks("south", "tom")
			other.drain()
		},
		"is being erased": func(from, _ *site, _ *tenant.Move) {
			_, err := belfry.NewPoller(from.store, nil, from.out).Privacy().Erase(from.Context(), "north", belfry.Person{Ref: "eve"}, by)
			from.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sites(t, func(from, to *site, m tenant.Move) {
				from.asks("north", "sam")
				from.drain()
				spoil(from, to, &m)
				_, err := m.Run(t.Context())
				if !errors.Is(err, tenant.ErrRefused) || !strings.Contains(err.Error(), name) {
					t.Errorf("error is %v", err)
				}
				if got, err := tenant.PhaseOf(t.Context(), m.From, "north"); got != "" || err != nil {
					t.Error(got, err)
				}
			})
		})
	}
}

// Of two runs of one move the later one goes on, and the earlier one writes nothing more.
func TestOfTwoRunsTheLaterGoesOn(t *testing.T) {
	sites(t, func(from, to *site, m tenant.Move) {
		from.asks("north", "sam")
		first := m
		first.Hold = func(context.Context) error {
			_, err := m.Run(t.Context())
			from.must(err)
			return nil
		}
		if _, err := first.Run(t.Context()); !errors.Is(err, storage.ErrStale) {
			t.Errorf("the earlier one: %v", err)
		}
		to.drain()
		to.wantSent("sam@example.com")
	})
}

// A blob goes with the row that owns it.
func TestTheAudienceOfACampaignMoves(t *testing.T) {
	sites(t, func(from, to *site, m tenant.Move) {
		ref, err := from.store.Blobs().Put(t.Context(), strings.NewReader("audience"))
		from.must(err)
		from.must(from.store.InTx(t.Context(), func(tx storage.Tx) error {
			return from.store.Blobs().Keep(t.Context(), tx, driver.Owned{Scope: "north", Table: "letters of the host", Key: "1", Refs: []storage.Ref{ref}})
		}))
		_, err = m.Run(t.Context())
		from.must(err)
		content, err := to.store.Blobs().Open(t.Context(), ref, 0)
		from.must(err)
		from.must(content.Close())
	})
}
