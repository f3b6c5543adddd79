package belfry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// What a store has found is told once in the log, and stands in Health, of other processes
// too, until it is released.
func TestADatabaseThatHasForgottenRaisesAnAlarm(t *testing.T) {
	t.Parallel()
	clk := clock.NewMock()
	clk.Set(storetest.Start)
	store := memory.New(&memory.Options{Clock: clk})
	var log bytes.Buffer
	out := notify.New(store, nil)
	logger := slog.New(slog.NewTextHandler(&log, nil))
	p := belfry.NewPoller(store, &belfry.Options{Logger: logger}, out)
	poll := func() {
		t.Helper()
		if _, err := p.PollOnce(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
	}
	health := func() string {
		t.Helper()
		h, err := p.Health(t.Context(), storage.Everywhere())
		if err != nil {
			t.Fatal(err)
		}
		return h.String()
	}
	const told = "the database has forgotten commits from 2026-03-01T08:00:00Z"
	poll()
	if log.Len() > 0 || strings.Contains(health(), "forgotten") {
		t.Fatalf("before: %s, %s", &log, health())
	}
	loglimit.Limited(logger).Warn("the database was away") // a line that repeats waits for a second
	store.Losses().Note(driver.Loss{From: clk.Now(), Until: clk.Now().Add(time.Second), NoticedOn: clk.Now().Add(time.Minute)})
	poll()
	poll()
	if n := strings.Count(log.String(), told); n != 1 || !strings.Contains(log.String(), "ERROR") {
		t.Errorf("told %d times: %s", n, &log)
	}
	if h := health(); !strings.Contains(h, told) {
		t.Error(h)
	}
	if err := out.Support().ReleaseQuarantine(t.Context(), notify.By{Actor: "ann", Reason: "looked into"}); err != nil {
		t.Fatal(err)
	}
	if h := health(); strings.Contains(h, "forgotten") {
		t.Error(h)
	}
}

// told ends a context when an error is logged.
type told struct {
	slog.Handler
	end context.CancelFunc
}

func (t told) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelError {
		t.end()
	}
	return t.Handler.Handle(ctx, r)
}

// stuck is a store whose database does not answer who it is: after a fail-over a commit
// may wait for a standby for minutes.
type stuck struct{ storage.Store }

func (s stuck) Identity(ctx context.Context) (storage.Identity, error) {
	<-ctx.Done()
	return storage.Identity{}, ctx.Err()
}

func TestTheAlarmDoesNotWaitForTheDatabase(t *testing.T) {
	t.Parallel()
	store := stuck{memory.New(nil)}
	limit, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	ctx, end := context.WithCancel(limit)
	logger := slog.New(told{slog.NewTextHandler(io.Discard, nil), end})
	p := belfry.NewPoller(store, &belfry.Options{Logger: logger}, notify.New(store, nil))
	store.Losses().Note(driver.Loss{From: storetest.Start, Until: storetest.Start, NoticedOn: storetest.Start})
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error("it was not raised:", err)
	}
}
