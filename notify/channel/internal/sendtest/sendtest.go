// Package sendtest is what the tests of channels have in common, beside channeltest: what
// an answer of a provider comes to, what is refused before anything is sent, and what
// errors and printed channels do not hold: anything with "canary" in it.
package sendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// Open makes a channel to a provider that answers so, and says how many requests that
// could deliver have come to it. Both last as long as the test.
type Open func(t *testing.T, answer http.HandlerFunc) (c channel.Channel, requests func() int)

type outcome struct {
	Class      channel.Class
	Code       string
	Fault      channel.Fault
	Suppress   channel.SuppressionReason
	RetryAfter time.Duration
}

// Case is an answer of a provider, and what it comes to.
type Case struct {
	answer http.HandlerFunc
	want   outcome
}

// To is a case without a suppression and a wait.
func To(class channel.Class, code string, fault channel.Fault, answer http.HandlerFunc) Case {
	return Case{answer, outcome{Class: class, Code: code, Fault: fault}}
}

// Suppresses is the case with a suppression.
func (c Case) Suppresses(r channel.SuppressionReason) Case {
	c.want.Suppress = r
	return c
}

// After is the case with a wait that the provider asks for.
func (c Case) After(wait time.Duration) Case {
	c.want.RetryAfter = wait
	return c
}

// Answers sends m to a provider with each of the answers: one request each.
func Answers(t *testing.T, open Open, m channel.Message, cases map[string]Case) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch, requests := open(t, c.answer)
			e := refused(t, ch, m)
			if got := (outcome{e.Class, e.Code, e.Fault, e.Suppress, e.RetryAfter}); got != c.want || requests() != 1 {
				t.Errorf("%d requests: %+v, want %+v", requests(), got, c.want)
			}
		})
	}
}

// Unsent sends m after each of the changes, which are named after the code of the refusal
// and perhaps something behind a space: no request is made.
func Unsent(t *testing.T, open Open, m func() channel.Message, changes map[string]func(*channel.Message)) {
	t.Helper()
	c, requests := open(t, func(http.ResponseWriter, *http.Request) {})
	for name, change := range changes {
		changed := m()
		change(&changed)
		e := refused(t, c, changed)
		if code, _, _ := strings.Cut(name, " "); e.Class != channel.ClassPermanent || e.Code != code {
			t.Errorf("%s: %v", name, e)
		}
	}
	if requests() != 0 {
		t.Errorf("%d requests", requests())
	}
}

// refused sends a message that must be refused, without a word of what is personal.
func refused(t *testing.T, c channel.Channel, m channel.Message) *channel.Error {
	t.Helper()
	return refusedIn(t.Context(), t, c, m)
}

func refusedIn(ctx context.Context, t *testing.T, c channel.Channel, m channel.Message) *channel.Error {
	t.Helper()
	receipt, err := c.Send(ctx, m)
	e := channel.Classify(err)
	if e == nil || receipt != (channel.Receipt{}) {
		t.Fatalf("Send: %+v, %v", receipt, err)
	}
	if strings.Contains(err.Error()+e.Code, "canary") {
		t.Error("personal data in the error:", err)
	}
	return e
}

// Silent reads requests and never answers. It tells of each that it has read.
func Silent() (answer http.HandlerFunc, read <-chan struct{}) {
	c := make(chan struct{}, 10)
	return func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c <- struct{}{}
		<-r.Context().Done()
	}, c
}

// Ends ends the context of a call to a provider that is Silent as soon as it has read the
// request: the call returns, and its message is in doubt.
func Ends(t *testing.T, c channel.Channel, m channel.Message, read <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		select {
		case <-read:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer cancel()
	if e := refusedIn(ctx, t, c, m); e.Class != channel.ClassUnknown {
		t.Error(e)
	}
}

// Late sends m by a channel whose Timeout is a nanosecond, to a provider that would take it.
func Late(t *testing.T, c channel.Channel, m channel.Message) {
	t.Helper()
	if e := refused(t, c, m); !errors.Is(e, context.DeadlineExceeded) {
		t.Error(e)
	}
}

// Faults fails unless an error of New names all of them.
func Faults(t *testing.T, err error, want ...string) {
	t.Helper()
	text := fmt.Sprint(err)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%v says nothing about %s", err, w)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("the error holds a setting:", err)
	}
}

// Says answers with a status, a body and headers of the form "Name: value".
func Says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Serve starts a provider that answers so, and keeps the bodies of its requests, which
// are JSON.
func Serve[R any](t *testing.T, answer http.HandlerFunc) (url string, sent func() []R) {
	t.Helper()
	var mu sync.Mutex
	var all []R
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body R
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		mu.Lock()
		all = append(all, body)
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []R {
		mu.Lock()
		defer mu.Unlock()
		return append([]R(nil), all...)
	}
}
