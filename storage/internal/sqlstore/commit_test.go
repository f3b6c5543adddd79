package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// A COMMIT whose answer is lost may have happened (driver traps 1 and 11).
func TestLostAnswerToCommitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{errGone, errOdd} {
		f, runs := &fake{answer: first("COMMIT", lost)}, 0
		err := look(t.Context(), f.store(t, nil), &runs)
		if !errors.Is(err, driver.ErrOutcomeUnknown) || !errors.Is(err, lost) {
			t.Errorf("got %v", err)
		}
		if runs != 1 || f.closes() != 1 || f.log() != "BEGIN SELECT COMMIT" {
			t.Errorf("%d runs, %d connections closed, %s", runs, f.closes(), f.log())
		}
	}
}

// What the adapter noticed during a COMMIT counts more than its answer (trap 4).
func TestDoubtOfTheAdapterIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	f, runs := &fake{}, 0
	s := f.store(t, func(c *Config) {
		db := *c.Writer.(*Database)
		db.watch = func(context.Context, any) func(bool) error { return func(bool) error { return errOdd } }
		c.Writer = &db
	})
	err := look(t.Context(), s, &runs)
	if !errors.Is(err, driver.ErrOutcomeUnknown) || !errors.Is(err, errOdd) {
		t.Errorf("got %v", err)
	}
}

// The context of the caller must not cancel a COMMIT, which may have happened by
// then (traps 2 and 4).
func TestI10_CommitOutlivesTheContextOfItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f, runs := &fake{}, 0
	f.answer = func(commit context.Context, text string) error {
		if !strings.HasPrefix(text, "COMMIT") {
			return nil
		}
		cancel()
		return commit.Err()
	}
	if err := look(ctx, f.store(t, func(c *Config) { c.Grace = time.Hour }), &runs); err != nil || runs != 1 {
		t.Errorf("%d runs: %v", runs, err)
	}
}

func TestI30_CommitIsLeftAloneAfterTheGrace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f, runs := &fake{}, 0
	f.answer = func(commit context.Context, text string) error {
		if !strings.HasPrefix(text, "COMMIT") {
			return nil
		}
		cancel()
		<-commit.Done() // as if the network had gone silent
		return commit.Err()
	}
	err := look(ctx, f.store(t, func(c *Config) { c.Grace = time.Nanosecond }), &runs)
	if !errors.Is(err, driver.ErrOutcomeUnknown) || runs != 1 {
		t.Errorf("%d runs: %v", runs, err)
	}
}
