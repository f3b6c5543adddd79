package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// screen ends the program when the mail is there, as Ctrl-C does.
type screen struct {
	text strings.Builder
	end  context.CancelFunc
}

func (s *screen) Write(line []byte) (int, error) {
	if strings.HasPrefix(string(line), "sam@") {
		s.end()
	}
	return s.text.Write(line)
}

func TestTheReminderComesAndTheProgramEnds(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hello.db")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &screen{end: cancel}
		err := run(ctx, file, s)
		const want = "A reminder is due in five seconds. Press Ctrl-C to end.\nsam@example.com - Your lesson begins at 01:00:05\n"
		if got := s.text.String(); !errors.Is(err, context.Canceled) || got != want {
			t.Errorf("%v: %q", err, got)
		}
	})
}
