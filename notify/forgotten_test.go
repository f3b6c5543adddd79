package notify_test

import (
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/pgtest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/postgres"
)

// A cluster of PostgreSQL goes back to what it was before messages went out, while the
// process that sent them goes on. It sends nothing until it is released; then what it may
// have sent is in doubt, and the rest goes out.
func TestADatabaseThatHasForgottenSendsNothingAgain(t *testing.T) {
	t.Parallel()
	testlevel.Need(t, testlevel.Check)
	server := pgtest.New(t, &pgtest.Options{NoFsync: true})
	clk := mockClock()
	store, err := postgres.Open(t.Context(), server.Database(t), &postgres.Options{Clock: clk, StopOnLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	h := newGated(t, store, clk, &notify.Options{})
	poll := h.distributor()
	h.ensure(letter("kept", "sam"))
	poll()
	h.ensure(letter("sent", "kim"), letter("later", "ann", func(m *notify.OutgoingMessage) { m.ScheduledOn = clk.Now().Add(time.Hour) }))
	if err := server.Back(); err != nil {
		t.Fatal(err)
	}
	clk.Add(time.Second)
	from := clk.Now()
	poll()
	h.same("sent", map[string]int{"kept": 1, "sent": 1}, h.texts())
	if err := server.Rewind(); err != nil {
		t.Fatal(err)
	}
	clk.Add(time.Second)
	noticed := clk.Now()
	poll()
	if on, err := h.Support().Quarantined(t.Context()); err != nil || !on {
		t.Errorf("in quarantine %v, %v", on, err)
	}
	id, err := store.Identity(t.Context())
	if err != nil || !id.Loss.Open() || !id.Loss.From.Equal(from) || !id.Loss.Until.Equal(from) || !id.Loss.NoticedOn.Equal(noticed) {
		t.Errorf("%+v, %v, want from %v and noticed at %v", id.Loss, err, from, noticed)
	}
	clk.Add(time.Hour)
	poll()
	h.same("sent", map[string]int{"kept": 1, "sent": 1}, h.texts())
	if err := h.Support().ReleaseQuarantine(t.Context(), support); err != nil {
		t.Fatal(err)
	}
	poll()
	poll()
	h.same("sent", map[string]int{"kept": 1, "sent": 1, "later": 1}, h.texts())
	if m := h.row("sent"); m.Status != notify.StatusOutcomeUnknown || m.ReasonCode != reasons.Forgotten {
		t.Errorf("message is %+v", m)
	}
}
