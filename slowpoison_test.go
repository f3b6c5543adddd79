package belfry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// ward is a host with rows that do harm: one whose provider panics, one whose
// provider takes as long as the test wants, and a type whose provider always
// fails. What it delivers it tells.
type ward struct {
	*host
	release chan struct{}
	begun   chan struct{}
	arrived chan string // addresses
}

func newWard(t *testing.T, store storage.Store) *ward {
	w := &ward{release: make(chan struct{}), begun: make(chan struct{}), arrived: make(chan string, 10000)}
	visit, broken := reminder("visit"), reminder("broken")
	healthy := visit.Recipients
	visit.Recipients = automation.RecipientFunc(func(ctx context.Context, d automation.Due) ([]notify.Recipient, error) {
		switch {
		case strings.HasPrefix(d.Source.ID, "poison"):
			panic("a row that nobody can take")
		case strings.HasPrefix(d.Source.ID, "slow"):
			close(w.begun)
			<-w.release
		}
		return healthy.Recipients(ctx, d)
	})
	broken.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
		return nil, errors.New("it is down")
	})
	out := notify.New(store, nil, channel.Func(channelKey, func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		w.arrived <- strings.TrimSuffix(m.To, "@example.com")
		return channel.Receipt{ID: m.ID}, nil
	}))
	quiet := slog.New(slog.DiscardHandler) // it would say of each try that it failed
	w.host = &host{t: t, reminders: automation.New(store, out, &automation.Options{Logger: quiet})}
	w.reminders.Register(visit)
	w.reminders.Register(broken)
	w.poller = belfry.NewPoller(store, &belfry.Options{Logger: quiet}, w.reminders, out)
	return w
}

// due ensures n rows named so, due now.
func (w *ward) due(typ, name string, n int, now time.Time) {
	w.t.Helper()
	all := make([]automation.Candidate, n)
	for i := range all {
		all[i] = automation.Candidate{
			Type: typ, Source: automation.Source{Type: "car", ID: fmt.Sprint(name, i)},
			TargetDate: automation.Date{Year: now.Year(), Month: now.Month(), Day: now.Day()},
			SendAt:     now.Format(time.TimeOnly), Zone: "UTC",
		}
	}
	w.ensure(all...)
}

// harm lets the rows that do harm be due, and waits until the slow one is in the
// hands of its provider.
func (w *ward) harm(now time.Time) {
	w.due("visit", "slow", 1, now)
	<-w.begun
	w.due("visit", "poison", 1, now)
	w.due("broken", "broken", 30, now)
}

// run starts the poller; the function stops it.
func (w *ward) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.poller.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
	}
}

func (w *ward) explain(typ, id string, now time.Time) string {
	w.t.Helper()
	key := fmt.Sprintf("reminder:%s:car:%s:default:%s:0", typ, id, now.Format(time.DateOnly))
	why, err := w.reminders.Explain(w.t.Context(), "", key)
	if err != nil {
		w.t.Fatal(err)
	}
	return why.String()
}

// For ten seconds one provider does not come back, one row panics whenever it is
// tried, and one type fails always. Twenty rows fall due in each of the seconds,
// of the type of the slow one too: all arrive before the clock moves on.
func TestI14_OnePoisonedRowOneSlowHandlerAndOneBrokenProviderDelayNobodyElse(t *testing.T) {
	t.Parallel()
	storetest.EachAwake(t, func(t *testing.T, store storage.Store, clk *clock.Mock) {
		w := newWard(t, store)
		defer w.run()()
		w.harm(clk.Now())
		wave := func(name string) {
			w.due("visit", name, 20, clk.Now())
			for range 20 {
				if id := <-w.arrived; !strings.HasPrefix(id, name) {
					t.Errorf("%s arrives while %s are awaited", id, name)
				}
			}
		}
		for second := range 10 {
			clk.Add(time.Second)
			wave(fmt.Sprint("car", second, "-"))
		}
		if why := w.explain("visit", "slow0", clk.Now()); !strings.Contains(why, automation.StatusProcessing) {
			t.Errorf("the slow one has ended, so this proves nothing: %s", why)
		}
		close(w.release)
		if id := <-w.arrived; id != "slow0" {
			t.Errorf("%s arrives after the slow one", id)
		}
	})
}
