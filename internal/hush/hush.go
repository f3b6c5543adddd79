// Package hush keeps an outage from filling the log: of what passes, heartbeats and
// settlers say again and again, a logger gets a line a second. The next line tells what
// was left out.
package hush

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/benbjohnson/clock"
)

// Every is the shortest time between two lines.
const Every = time.Second

// maxNames bounds the kinds of lines that are told apart among those left out.
const maxNames = 20

// Warn logs a warning, unless the logger had a line within the second. args are those
// of slog; the first is a name from code, such as the pass, by which lines that are left
// out are told apart. It may be called from any number of goroutines.
func Warn(ctx context.Context, l *slog.Logger, msg string, args ...any) {
	of(l).lines.log(ctx, l, slog.LevelWarn, msg, args)
}

// Error logs an error likewise.
func Error(ctx context.Context, l *slog.Logger, msg string, args ...any) {
	of(l).lines.log(ctx, l, slog.LevelError, msg, args)
}

// Panic logs an error that a developer has to see. Panics take turns of their own: the
// only stack of an hour is not left out for what an outage says.
func Panic(ctx context.Context, l *slog.Logger, msg string, args ...any) {
	of(l).panics.log(ctx, l, slog.LevelError, msg, args)
}

// all are the limits of the loggers in use, by weak pointer.
var all sync.Map

// limits are those of one logger, which all who log to it share.
type limits struct{ lines, panics *limit }

func of(l *slog.Logger) *limits {
	key := weak.Make(l)
	if known, ok := all.Load(key); ok {
		return known.(*limits)
	}
	made, known := all.LoadOrStore(key, &limits{lines: newLimit(), panics: newLimit()})
	if !known {
		runtime.AddCleanup(l, func(key weak.Pointer[slog.Logger]) { all.Delete(key) }, key)
	}
	return made.(*limits)
}

// limit is what one logger had, and what it had not.
type limit struct {
	clock clock.Clock

	mu    sync.Mutex
	last  time.Time // of the last line
	left  int       // lines since then
	names map[string]int
}

func newLimit() *limit { return &limit{clock: clock.New(), names: map[string]int{}} }

func (m *limit) log(ctx context.Context, l *slog.Logger, level slog.Level, msg string, args []any) {
	if !l.Enabled(ctx, level) {
		return
	}
	now := m.clock.Now()
	left, ok := m.take(now, msg, args)
	if !ok {
		return
	}
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:]) // whoever called Warn
	r := slog.NewRecord(now, level, msg, pcs[0])
	r.Add(args...)
	r.Add(left...)
	_ = l.Handler().Handle(ctx, r)
}

// take says whether there may be a line now, and what to add to it.
func (m *limit) take(now time.Time, msg string, args []any) (left []any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := now.Sub(m.last); since >= 0 && since < Every {
		m.leaveOut(msg, args)
		return nil, false
	}
	if m.left > 0 {
		left = []any{slog.Int("left_out", m.left), slog.String("of", m.text()), slog.Time("since", m.last)}
	}
	m.last, m.left = now, 0
	clear(m.names)
	return left, true
}

func (m *limit) leaveOut(msg string, args []any) {
	m.left++
	name := strings.TrimPrefix(msg, "belfry: ") + named(args)
	if _, known := m.names[name]; !known && len(m.names) >= maxNames {
		name = "others"
	}
	m.names[name]++
}

// named is the first of the arguments, if it is a text.
func named(args []any) string {
	if len(args) == 0 {
		return ""
	}
	if a, ok := args[0].(slog.Attr); ok && a.Value.Kind() == slog.KindString {
		return " (" + a.Value.String() + ")"
	}
	if len(args) > 1 {
		if text, ok := args[1].(string); ok {
			return " (" + text + ")"
		}
	}
	return ""
}

// text has the most frequent first.
func (m *limit) text() string {
	var out []string
	for name := range m.names {
		out = append(out, name)
	}
	slices.SortFunc(out, func(a, b string) int {
		if m.names[a] != m.names[b] {
			return m.names[b] - m.names[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range out {
		out[i] = fmt.Sprintf("%s: %d", name, m.names[name])
	}
	return strings.Join(out, ", ")
}
