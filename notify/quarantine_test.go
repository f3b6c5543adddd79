package notify_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/storage/postgres"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// duplicates opens a database in the middle of a run and a copy of it, each under a
// name, as the function returned is told.
func duplicates(t *testing.T, test func(t *testing.T, original *host, reopen func(environment string) *host)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file, twin := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "b.db")
		clk := mockClock()
		open := func(path, environment string) *host {
			store, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: clk, Environment: environment})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			return newGated(t, store, clk, &notify.Options{})
		}
		original := open(file, "production")
		test(t, original, func(environment string) *host {
			if _, err := os.Stat(twin); err != nil {
				_ = original.store.(io.Closer).Close() // so that nothing is left in the log
				copyFile(t, file, twin)
			}
			return open(twin, environment)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testlevel.Need(t, testlevel.Nightly)
		dsn, twin := pgtest.DSN(t), ""
		clk := mockClock()
		open := func(dsn, environment string) *host {
			store, err := postgres.Open(t.Context(), dsn, &postgres.Options{Clock: clk, Environment: environment})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			return newGated(t, store, clk, &notify.Options{})
		}
		test(t, open(dsn, "production"), func(environment string) *host {
			if twin == "" {
				twin = pgtest.New(t, &pgtest.Options{NoFsync: true}).Database(t)
				pgtest.Restore(t, dsn, twin)
			}
			return open(twin, environment)
		})
	})
}

func mockClock() *clock.Mock {
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	return clk
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A file that was copied, and a dump that was restored on another server, each in
// the middle of a run and started under another environment's name: no provider is
// called or asked until the audited release, and then everything goes out.
func TestACopyOfADatabaseSendsNothingUntilItIsReleased(t *testing.T) {
	duplicates(t, func(t *testing.T, original *host, reopen func(string) *host) {
		original.ensure(letter("sent", "sam"))
		original.drain()
		campaign := map[string]int{}
		for _, p := range crowd(7) {
			campaign["Dear "+p.Name] = 1
		}
		original.begin("spring", crowd(7)...)
		original.run("notify.campaign") // the first chunk
		early := channel.StatusEvent{Provider: "test", EventID: "1", Kind: channel.KindBounced, ProviderMessageID: "unknown"}
		if _, err := original.Track(t.Context(), early); err != nil {
			t.Fatal(err)
		}
		original.ensure(letter("waiting", "sam"), letter("doubt", "kim"), letter("claimed", "ann"))
		for _, m := range original.claim([]string{notify.StatusCreated}, notify.StatusSending) {
			if m.Content.Text == "doubt" {
				holding(original, m, func(m *notify.MessageRow) { m.Calling(original.clk.Now()) })
			}
		}
		copied := reopen("staging")
		heard := map[notify.ChangeKind]int{}
		copied.Subscribe(notify.StatusFunc("crm", func(_ context.Context, c notify.StatusChange) error { heard[c.Kind]++; return nil }))
		copied.clk.Add(lease)
		copied.ensure(letter("new", "eve"))
		for range 3 {
			copied.drain()
			copied.clk.Add(3 * time.Minute)
		}
		if on, err := copied.Support().Quarantined(t.Context()); err != nil || !on || len(copied.sent()) != 0 {
			t.Fatalf("in quarantine %v, %v; sent %v", on, err, copied.texts())
		}
		copied.same("a message that is shown", notify.StatusCreated, copied.row("new").Status)
		if j := copied.campaign("spring"); j.Status != notify.StatusGenerated || j.Generated != 7 {
			t.Errorf("the campaign is %s after %d", j.Status, j.Generated)
		}

		by := notify.By{Actor: "ann", Reason: "this is production now"}
		if err := copied.Support().ReleaseQuarantine(t.Context(), by); err != nil {
			t.Fatal(err)
		}
		copied.drain()
		copied.drain()
		maps.Copy(campaign, map[string]int{"new": 1, "waiting": 1, "claimed": 1})
		copied.same("sent", campaign, copied.texts())
		copied.same("heard", map[notify.ChangeKind]int{notify.ChangeInDoubt: 1}, heard)
		copied.same("in doubt", notify.StatusOutcomeUnknown, copied.row("doubt").Status)
		copied.same("audited", []string{"ReleaseQuarantine by ann"}, copied.releases())
		if err := copied.Support().ReleaseQuarantine(t.Context(), by); !errors.Is(err, notify.ErrActionRefused) {
			t.Errorf("released twice: %v", err)
		}
		if err := copied.Support().ReleaseQuarantine(t.Context(), notify.By{Actor: "ann"}); err == nil || !strings.Contains(err.Error(), "reason") {
			t.Errorf("released without a reason: %v", err)
		}
		again := reopen("production") // whoever opens it as before has a copy now
		again.ensure(letter("third", "sam"))
		again.drain()
		if n := len(again.sent()); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// holding changes a row and keeps its claim.
func holding(h *host, m *notify.MessageRow, change func(*notify.MessageRow)) {
	h.t.Helper()
	change(m)
	h.inOne(func(tx storage.Tx) error { return notify.Messages.Save(h.t.Context(), tx, m) })
}

func (h *host) releases() (out []string) {
	h.t.Helper()
	h.inOne(func(tx storage.Tx) error {
		entries, err := audit.History(h.t.Context(), tx, "", "store_identity", "store", 10)
		out = nil
		for _, e := range entries {
			out = append(out, e.Action+" by "+e.Actor)
		}
		return err
	})
	return out
}

// The same name, and none, on the system where it always was: nothing is wrong.
func TestADatabaseThatWasReopenedSends(t *testing.T) {
	t.Parallel()
	clk := mockClock()
	file := filepath.Join(t.TempDir(), "a.db")
	for i, environment := range []string{"", "production", "production", ""} {
		store, err := sqlite.Open(t.Context(), file, &sqlite.Options{Clock: clk, Environment: environment})
		if err != nil {
			t.Fatal(err)
		}
		h := newGated(t, store, clk, &notify.Options{})
		h.ensure(letter(string(rune('a'+i)), "sam"))
		h.drain()
		if n := len(h.sent()); n != 1 {
			t.Errorf("opening %d as %q: %d calls", i+1, environment, n)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// moved is a store whose system changes under a running process.
type moved struct {
	storage.Store
	system string
	broken error
}

func (m *moved) Identity(ctx context.Context) (storage.Identity, error) {
	if m.broken != nil {
		return storage.Identity{}, m.broken
	}
	return driver.LoadIdentity(ctx, m.Store, "", m.system)
}

func (m *moved) InTx(ctx context.Context, f func(storage.Tx) error) error {
	return m.Store.InTx(ctx, func(tx storage.Tx) error { return f(movedTx{tx, m}) })
}

type movedTx struct {
	storage.Tx
	m *moved
}

func (t movedTx) Store() storage.Store { return t.m }

// A database that is replaced under a running process is noticed within a minute,
// and between a claim and its call; what was claimed waits for the release.
func TestADatabaseThatIsReplacedUnderAProcessStopsSending(t *testing.T) {
	t.Parallel()
	clk := mockClock()
	store := &moved{Store: memory.New(&memory.Options{Clock: clk}), system: "7"}
	h := newGated(t, store, clk, &notify.Options{})
	poll := h.distributor()
	h.ensure(letter("a", "sam"))
	poll()
	store.system = "8"
	clk.Add(time.Minute)
	h.ensure(letter("b", "sam"))
	poll()
	if m := h.row("b"); m.Status != notify.StatusRetryReady || m.ReasonCode != reasons.Quarantine || m.RetryCount != 0 {
		t.Errorf("message is %+v", m)
	}
	for range 3 {
		clk.Add(time.Minute)
		if n := poll(); n != 0 {
			t.Errorf("claimed %d", n)
		}
	}
	h.same("sent", map[string]int{"a": 1}, h.texts())
	other := newGated(t, store, clk, &notify.Options{}) // another process releases it
	if err := other.Support().ReleaseQuarantine(t.Context(), support); err != nil {
		t.Fatal(err)
	}
	poll()
	h.same("sent", map[string]int{"a": 1, "b": 1}, h.texts())
}

// distributor is a poller of the send pass that goes on.
func (h *host) distributor() func() int {
	h.t.Helper()
	for _, p := range h.Passes() {
		if p.Name() == "notify.distributor" {
			r := p.Runner(work.Options{Logger: quiet})
			return func() int {
				h.t.Helper()
				rep, err := r.Poll(h.t.Context(), 500)
				if err != nil {
					h.t.Fatal(err)
				}
				return rep.Claimed
			}
		}
	}
	return nil
}

// Fail closed: who cannot tell which database this is does not send.
func TestAnIdentityThatCannotBeReadKeepsMessagesBack(t *testing.T) {
	t.Parallel()
	clk := mockClock()
	store := &moved{Store: memory.New(&memory.Options{Clock: clk}), broken: errLost}
	h := newGated(t, store, clk, &notify.Options{})
	h.ensure(letter("a", "sam"))
	for _, p := range h.Passes() {
		if p.Name() == "notify.distributor" || p.Name() == "notify.resolve" {
			if _, err := p.Runner(work.Options{Logger: quiet}).Poll(t.Context(), 10); !errors.Is(err, errLost) {
				t.Errorf("%s: %v", p.Name(), err)
			}
		}
	}
	store.broken = nil
	poll := h.distributor()
	poll()
	store.broken = errLost
	clk.Add(time.Minute)
	h.ensure(letter("b", "sam"))
	poll()
	h.same("sent", map[string]int{"a": 1}, h.texts())
	h.same("reason", reasons.GateFailed, h.row("b").ReasonCode)
}

// A message in doubt is a matter between the original and its provider.
func TestACopyAsksNoProviderAboutItsDoubts(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.waiting()
		h.dieCalling()
		h.clk.Add(lease)
		h.run("notify.distributor")
		k := &knowing{provider: h.provider, knows: channel.LookupResult{Status: channel.LookupAccepted}}
		store := &moved{Store: h.store, system: "another"}
		h.Notifier = notify.New(store, &notify.Options{Logger: quiet}, k)
		h.drain()
		if m := h.status(notify.StatusOutcomeUnknown); k.asked != 0 || m.IsOnSupportHold {
			t.Errorf("asked %d times: %+v", k.asked, m)
		}
		if err := h.Support().ReleaseQuarantine(t.Context(), support); err != nil {
			t.Fatal(err)
		}
		h.drain()
		h.status(notify.StatusSentToProvider)
	})
}

// slow is a store whose identity takes a while to read, once.
type slow struct {
	storage.Store
	reading chan struct{} // closed when somebody reads; nil: nobody waits
	read    chan struct{}
}

func (s *slow) Identity(ctx context.Context) (storage.Identity, error) {
	if reading := s.reading; reading != nil {
		s.reading = nil
		close(reading)
		<-s.read
	}
	return s.Store.Identity(ctx)
}

// On a network that is dead the identity takes as long as the time-outs of all connections
// together. Claims, which are in a transaction by then, do not wait for that.
func TestAReadingOfTheIdentityHoldsUpNoClaim(t *testing.T) {
	t.Parallel()
	clk := mockClock()
	store := &slow{Store: memory.New(&memory.Options{Clock: clk}), read: make(chan struct{})}
	h := newGated(t, store, clk, &notify.Options{})
	first, second := h.distributor(), h.distributor()
	first()
	second()
	clk.Add(time.Minute)
	reading := make(chan struct{})
	store.reading = reading
	h.ensure(letter("a", "sam"))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		first()
	}()
	<-reading
	limit := time.AfterFunc(time.Minute, func() {
		t.Error("a claim waits for the identity")
		close(store.read)
	})
	h.ensure(letter("b", "kim"))
	second()
	h.same("sent", map[string]int{"b": 1}, h.texts())
	if limit.Stop() {
		close(store.read)
	}
	<-ended
	h.same("sent", map[string]int{"a": 1, "b": 1}, h.texts())
}
