package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

// Messages are accepted before their channel is there: a process starts before others, or
// is older than they are. The log names each such channel once.
func TestAChannelThatIsNotHereIsNamedOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		var log strings.Builder
		h.Notifier = notify.New(h.store, &notify.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		another := func(m *notify.OutgoingMessage) { m.Channel = "email:later" }
		p := person("sam")
		p.Channel = "email:later"
		h.ensure(letter("a", "sam", another), letter("b", "kim", another))
		if _, err := h.Notify(t.Context(), visit("7", p, person("kim"))); err != nil {
			t.Error(err)
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `level=WARN`) || !strings.Contains(text, "channel=email:later registered=email:test") {
			t.Errorf("the log is:\n%s", text)
		}
		log.Reset()
		h.Notifier = notify.New(h.store, &notify.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}) // others send
		h.ensure(letter("c", "sam", another))
		h.same("log", "", log.String())
		h.Notifier = notify.New(h.store, &notify.Options{Logger: quiet}, channel.Func("email:later", h.provider.Send))
		h.drain()
		h.same("sent", map[string]int{"a": 1, "b": 1, "c": 1}, h.texts())
	})
}

// The same of a type: nothing is made of its jobs here.
func TestATypeThatIsNotHereIsNamedOnce(t *testing.T) {
	visitsInMemory(t, func(h *host) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, nil))
		job := func(id, name string) notify.Job {
			j := visit(id, person("sam"))
			j.Type = name
			return j
		}
		ensure := func(n *notify.Notifier) string {
			log.Reset()
			for i := range 2 {
				if _, err := n.EnsureNotificationJob(t.Context(), nil, job(fmt.Sprint("x", i), "vist"), job(fmt.Sprint("y", i), "visit")); err != nil {
					t.Fatal(err)
				}
			}
			return log.String()
		}
		sends := notify.New(h.store, &notify.Options{Logger: logger}, h.provider)
		sends.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		if text := ensure(sends); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=WARN") || !strings.Contains(text, "type=vist registered=visit") {
			t.Errorf("it says %q", text)
		}
		if text := ensure(notify.New(h.store, &notify.Options{Logger: logger})); text != "" {
			t.Errorf("a process that makes jobs for others says %q", text)
		}
	})
}

// A pause of a type or channel that does not exist stops nothing, and says so.
func TestAPauseOfWhatDoesNotExistIsRefused(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		for want, e := range map[string]notify.Extent{
			`type "visits" is not registered (registered: visit)`:             {Scope: "tenant", Type: "visits"},
			`channel "email:tset" is not registered (registered: email:test)`: {Everywhere: true, Channel: "email:tset"},
		} {
			err := h.Support().Pause(t.Context(), e, time.Time{}, support)
			if !errors.Is(err, notify.ErrActionRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		h.ensure(letter("a", "sam", func(m *notify.OutgoingMessage) { m.NotificationType = "undeclared" }))
		h.pause(notify.Extent{Scope: "tenant", Type: "undeclared"}) // a message of it waits
		h.pause(notify.Extent{Scope: "tenant", Type: "visit"})
	})
}

// Another HashKey is one error that says what to set, and no message counts a try for it.
func TestAnotherHashKeyIsSaidOnce(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		h.ensure(letter("a", "sam"))
		var log strings.Builder
		h.Notifier = notify.New(h.store, &notify.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), HashKey: []byte("fedcba9876543210fedcba9876543210")}, h.provider)
		h.Register(notify.Type{Name: "visit", Renderer: visitTemplate})
		for range 3 {
			for _, p := range h.Passes() {
				_, err := p.Runner(work.Options{Logger: quiet}).Poll(t.Context(), 10)
				if p.Name() == "notify.distributor" && !errors.Is(err, notify.ErrHashKey) {
					t.Errorf("sending: %v", err)
				}
			}
			h.clk.Add(time.Hour)
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "Options.HashKey") {
			t.Errorf("the log is:\n%s", text)
		}
		if m := h.row("a"); m.RetryCount != 0 || m.IsOnSupportHold || len(h.sent()) != 0 {
			t.Errorf("%+v", m)
		}
	})
}

// failingGate fails for a reason.
type failingGate struct{ err error }

func (g failingGate) Ask(context.Context, []gate.Attempt) ([]gate.Verdict, error) {
	return nil, g.err
}

// quotaError is a host's, whose text may be personal.
type quotaError struct{}

func (quotaError) Error() string { return "canary@example.com is over its quota" }

func TestAGateThatFailsIsLoggedWithItsCause(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"notify_test.quotaError":         fmt.Errorf("canary: %w", quotaError{}),
		storage.ErrUnavailable.Error():   fmt.Errorf("canary: %w", storage.ErrUnavailable),
		"0 answers to 1 questions":       nil,
		context.DeadlineExceeded.Error(): context.DeadlineExceeded,
	} {
		h := hostInMemory(t)
		var log strings.Builder
		h.Notifier = notify.New(h.store, &notify.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Gates: []gate.Gate{failingGate{err}}}, h.provider)
		h.ensure(letter("a", "sam"))
		h.run("notify.distributor")
		if text := log.String(); !strings.Contains(text, want) || !strings.Contains(text, "failingGate") || strings.Contains(text, "canary") {
			t.Errorf("the log is:\n%s", text)
		}
	}
}

// The same key with other data says what differs, and that nothing was changed.
func TestAConflictSaysWhatDiffers(t *testing.T) {
	visits(t, func(t *testing.T, h *host) {
		job := func(data string) notify.Job {
			j := visit("7", person("sam"))
			j.EventData = []byte(data)
			return j
		}
		for name, c := range map[string][3]string{
			"a number": {`{"a":1,"b":2}`, `{"b":2,"a":2}`, "EventData differs: a: 1 -> 2; what is stored stays"},
			"no more":  {`{"a":{"b":true}}`, `{"a":{}}`, "EventData differs: a.b: true -> nothing; what is stored stays"},
			"a text":   {`{"name":"Sam"}`, `{"name":"Kim"}`, "EventData differs: name; what is stored stays"},
			"a phone":  {`{"phone":4915112345678}`, `{"phone":4915112345679}`, "EventData differs: phone; what is stored stays"},
		} {
			first, second := job(c[0]), job(c[1])
			first.RowKey, second.RowKey = first.RowKey+name, second.RowKey+name
			h.dispatch(first)
			_, err := h.Notify(t.Context(), second)
			var conflict *notify.ConflictError
			if !errors.As(err, &conflict) || !strings.HasSuffix(err.Error(), c[2]) || strings.Contains(err.Error(), "Kim") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
