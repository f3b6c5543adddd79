package loglimit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/loglimit"
)

// log is a limited logger and its lines, without their times.
func log(level slog.Level) (*slog.Logger, func() []string) {
	var text bytes.Buffer
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "since" {
			return slog.Attr{}
		}
		if a.Key == slog.SourceKey {
			file := a.Value.Any().(*slog.Source).File
			return slog.String("source", file[strings.LastIndex(file, "/")+1:])
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level, ReplaceAttr: noTime, AddSource: true}))
	return loglimit.Limited(logger), func() []string { return strings.Split(strings.TrimSpace(text.String()), "\n") }
}

func pass(d time.Duration) { <-time.NewTimer(d).C }

func TestWhatIsLeftOutIsSaidInTheNextLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, lines := log(slog.LevelWarn)
		ctx, away := context.Background(), errors.New("away")
		for range 3 {
			l.WarnContext(ctx, "belfry: poll failed", "pass", "notify.status", "error", away)
		}
		l.ErrorContext(ctx, "belfry: rows are left", slog.String("pass", "automation"), slog.Int("rows", 7))
		l.ErrorContext(ctx, "belfry: a gate failed", slog.Int("messages", 7))
		pass(time.Second)
		l.WarnContext(ctx, "belfry: poll failed", "pass", "automation", "error", away)
		pass(time.Second)
		l.WarnContext(ctx, "belfry: poll failed", "pass", "automation", "error", away)
		want := []string{
			`level=WARN source=loglimit_test.go msg="belfry: poll failed" pass=notify.status error=away`,
			`level=WARN source=loglimit_test.go msg="belfry: poll failed" pass=automation error=away left_out=4 ` +
				`of="poll failed (notify.status): 2, a gate failed: 1, rows are left (automation): 1"`,
			`level=WARN source=loglimit_test.go msg="belfry: poll failed" pass=automation error=away`,
		}
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Error(diff)
		}
	})
}

// The stack of a bug is not left out because an outage was logged just before it.
func TestPanicsTakeTurnsOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, lines := log(slog.LevelWarn)
		ctx := context.Background()
		l.WarnContext(ctx, "belfry: poll failed")
		l.ErrorContext(loglimit.Panics(ctx), "belfry: a channel panicked", slog.String("stack", "here"))
		l.ErrorContext(loglimit.Panics(ctx), "belfry: a gate panicked", slog.String("stack", "there"))
		want := []string{
			`level=WARN source=loglimit_test.go msg="belfry: poll failed"`,
			`level=ERROR source=loglimit_test.go msg="belfry: a channel panicked" stack=here`,
		}
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKindsOfLinesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, lines := log(slog.LevelWarn)
		for i := range 1000 {
			l.WarnContext(context.Background(), "belfry: due work failed", "type", fmt.Sprint("type", i))
		}
		pass(time.Second)
		l.WarnContext(context.Background(), "belfry: poll failed")
		last := lines()[1]
		if len(last) > 2000 || !strings.Contains(last, "left_out=999") || !strings.Contains(last, "others: 979") {
			t.Error(last)
		}
	})
}

// What the logger does not want takes no turn.
func TestALevelThatIsOffIsNotCounted(t *testing.T) {
	t.Parallel()
	l, lines := log(slog.LevelError)
	l.WarnContext(context.Background(), "belfry: poll failed")
	l.ErrorContext(context.Background(), "belfry: a gate failed")
	if diff := cmp.Diff([]string{`level=ERROR source=loglimit_test.go msg="belfry: a gate failed"`}, lines()); diff != "" {
		t.Error(diff)
	}
}

// Two loggers have a line each: one may be another program's.
func TestALoggerHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	for range 2 {
		l, lines := log(slog.LevelWarn)
		l.WarnContext(context.Background(), "belfry: poll failed")
		if len(lines()) != 1 || lines()[0] == "" {
			t.Error(lines())
		}
	}
}

// What is said once is logged whatever came before, and so is what warns of nothing.
func TestWhatIsSaidOnceIsNotLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, lines := log(slog.LevelInfo)
		ctx := context.Background()
		for range 3 {
			l.WarnContext(ctx, "belfry: poll failed")
		}
		l.InfoContext(ctx, "belfry: a channel is back")
		l.With("tenant", "acme").WarnContext(loglimit.Always(ctx), "belfry: old rows will be forgotten")
		l.WithGroup("more").ErrorContext(ctx, "belfry: a row could not be settled")
		want := []string{
			`level=WARN source=loglimit_test.go msg="belfry: poll failed"`,
			`level=INFO source=loglimit_test.go msg="belfry: a channel is back"`,
			`level=WARN source=loglimit_test.go msg="belfry: old rows will be forgotten" tenant=acme`,
		}
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Error(diff)
		}
	})
}

// All that is limited of one logger has one limit.
func TestALoggerIsLimitedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		l := slog.New(slog.NewTextHandler(&text, nil))
		ctx := context.Background()
		loglimit.Limited(l).WarnContext(ctx, "belfry: poll failed")
		loglimit.Limited(l).WarnContext(ctx, "belfry: poll failed") // another service
		loglimit.Limited(loglimit.Limited(l)).WarnContext(ctx, "belfry: poll failed")
		if n := strings.Count(text.String(), "\n"); n != 1 {
			t.Error(text.String())
		}
	})
}
