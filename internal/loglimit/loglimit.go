// Package loglimit keeps an outage from filling the log. A logger gets at most one line a
// second of repeated warnings; the next line says how many were left out. The limit is a
// slog handler around the host's.
package loglimit

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

// Limited returns l with at most one warning or error a second. The first attribute of a
// line must be a name from code, such as the pass; left-out lines are counted by it.
// Repeated calls for one logger share one limit. A limited logger is returned as it is.
// Nil: slog.Default().
func Limited(l *slog.Logger) *slog.Logger {
	if l == nil {
		l = slog.Default()
	}
	if _, is := l.Handler().(limited); is {
		return l
	}
	return slog.New(limited{l.Handler(), of(l)})
}

// turnKey is where a context carries which limit holds for a line.
type turnKey struct{}

type turn int

const (
	ofLines turn = iota
	ofPanics
	always
)

// Panics gives lines a limit of their own, so that a stack trace is not left out because
// of an outage.
func Panics(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, ofPanics) }

// Always exempts lines from the limit, for messages that are logged only once.
func Always(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, always) }

// limited is a handler that leaves lines out.
type limited struct {
	slog.Handler
	limits *limits
}

// WithAttrs is one of the same limit.
func (h limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limited{h.Handler.WithAttrs(attrs), h.limits}
}

// WithGroup is one of the same limit.
func (h limited) WithGroup(name string) slog.Handler {
	return limited{h.Handler.WithGroup(name), h.limits}
}

// Handle logs a line, if it is its turn.
func (h limited) Handle(ctx context.Context, r slog.Record) error {
	whose, _ := ctx.Value(turnKey{}).(turn)
	if r.Level < slog.LevelWarn || whose == always {
		return h.Handler.Handle(ctx, r)
	}
	m := h.limits.lines
	if whose == ofPanics {
		m = h.limits.panics
	}
	left, ok := m.take(m.clock.Now(), r)
	if !ok {
		return nil
	}
	r = r.Clone()
	r.AddAttrs(left...)
	return h.Handler.Handle(ctx, r)
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

// take says whether there may be a line now, and what to add to it.
func (m *limit) take(now time.Time, r slog.Record) (left []slog.Attr, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := now.Sub(m.last); since >= 0 && since < Every {
		m.leaveOut(r)
		return nil, false
	}
	if m.left > 0 {
		left = []slog.Attr{slog.Int("left_out", m.left), slog.String("of", m.text()), slog.Time("since", m.last)}
	}
	m.last, m.left = now, 0
	clear(m.names)
	return left, true
}

func (m *limit) leaveOut(r slog.Record) {
	m.left++
	name := strings.TrimPrefix(r.Message, "belfry: ") + named(r)
	if _, known := m.names[name]; !known && len(m.names) >= maxNames {
		name = "others"
	}
	m.names[name]++
}

// named is the first attribute of a line, if it is a text.
func named(r slog.Record) (name string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindString {
			name = " (" + a.Value.String() + ")"
		}
		return false
	})
	return name
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
