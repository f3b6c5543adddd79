package belfry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/survey"
)

// logged are the lines of a log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// take gives the lines since the last time.
func (l *logged) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
	l.text.Reset()
	return out
}

// whole is a program with every domain, in a bubble, on a database that may go away.
type whole struct {
	store     *storetest.Spy
	down      atomic.Bool
	log       *logged
	reminders *automation.Scheduler
	out       *notify.Notifier
	surveys   *survey.Service
	channel   *notifytest.Recorder
	poller    *belfry.Poller
}

func newWhole(change func(*belfry.Options)) *whole {
	w := &whole{log: &logged{}, channel: notifytest.NewRecorder()}
	w.store = &storetest.Spy{Store: memory.New(&memory.Options{Clock: clock.New()}), Hook: func(c storetest.Call) error {
		if w.down.Load() && (c.Verb == storetest.Begin || c.Verb == storetest.Next) {
			return fmt.Errorf("dial: %w", storage.ErrUnavailable)
		}
		return nil
	}}
	logger := slog.New(slog.NewTextHandler(w.log, nil))
	w.out = notify.New(w.store, &notify.Options{Logger: logger}, w.channel)
	w.reminders = automation.New(w.store, w.out, &automation.Options{Logger: logger})
	w.surveys = survey.New(w.store, w.out, &survey.Options{Logger: logger, SurveyURL: "https://host.example/{token}"})
	o := belfry.Options{Logger: logger}
	if change != nil {
		change(&o)
	}
	w.poller = belfry.NewPoller(w.store, &o, w.reminders, w.out, w.surveys)
	return w
}

// run runs the poller until stop.
func (w *whole) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.poller.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func pass(d time.Duration) { <-time.NewTimer(d).C }

// On a pool of the host's a driver may wait for a silent network for as long as that takes,
// whatever the context says. Run ends in its grace all the same.
func TestRunEndsThoughTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, hang := newWhole(nil), make(chan struct{})
		stop := w.run(t)
		pass(10 * time.Second)
		w.store.SetHook(func(c storetest.Call) error {
			<-hang
			return storage.ErrUnavailable
		})
		pass(10 * time.Second)
		began := w.store.Clock().Now()
		stop()
		if took := w.store.Clock().Now().Sub(began); took > 33*time.Second {
			t.Errorf("ended after %v", took)
		}
		close(hang)
		pass(time.Minute)
	})
}

// A dozen passes poll each second. While the database is away they have one thing to
// say, and say it once a second: the next line tells how many were left out.
func TestAnOutageIsALineASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWhole(nil)
		stop := w.run(t)
		pass(10 * time.Second)
		w.log.take()
		w.down.Store(true)
		pass(60 * time.Second)
		lines := w.log.take()
		w.down.Store(false)
		pass(10 * time.Second)
		stop()
		if len(lines) > 61 || len(lines) < 30 {
			t.Errorf("%d lines in a minute, such as %s", len(lines), lines[len(lines)-1])
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "left_out=") {
			t.Error(last)
		}
	})
}
