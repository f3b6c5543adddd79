package work_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/belfry-go/belfry/internal/work"
)

func TestAPreparedPassClaimsNothingBeforeItIsPrepared(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	away := errors.New("away")
	asked := 0
	r := work.Prepared(work.New(b.store, b.spec), func(context.Context) error {
		asked++
		if asked == 1 {
			return away
		}
		return nil
	}).Runner(work.Options{})
	if rep, err := r.Poll(t.Context(), 10); !errors.Is(err, away) || rep.Claimed != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	b.poll(r, 10)
	b.poll(r, 10)
	if len(b.seen) != 1 || asked != 2 {
		t.Errorf("%d handled, prepared %d times", len(b.seen), asked)
	}
}

func TestARunningPassIsPreparedWhenTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	ctx, cancel := context.WithCancel(t.Context())
	b.handle = func(context.Context, work.Item[task]) error { cancel(); return nil }
	asked := 0
	r := work.Prepared(work.New(b.store, b.spec), func(context.Context) error {
		if asked++; asked == 1 {
			return errors.New("away")
		}
		return nil
	}).Runner(work.Options{Logger: slog.New(slog.DiscardHandler)})
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) || asked != 2 || len(b.seen) != 1 {
		t.Errorf("%v, prepared %d times, handled %d", err, asked, len(b.seen))
	}
}
