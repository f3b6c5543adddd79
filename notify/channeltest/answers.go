package channeltest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// check is one subtest.
type check struct {
	name string
	run  func(*trial)
}

var cases []check

func init() { cases = slices.Concat(answers, connections, contents, batches) }

// accepted is what trial.is calls a message that was accepted.
const accepted channel.Class = "accepted"

// answers are what a provider can say.
var answers = []check{
	{"accepted", func(tr *trial) {
		for n := range 2 { // the second on the kept connection
			m := tr.message(n)
			given := maps.Clone(m.Metadata)
			tr.is(tr.send(tr.t.Context(), m), accepted)
			if !maps.Equal(given, m.Metadata) {
				tr.t.Error("Send has changed the Metadata")
			}
		}
		tr.requests(2)
		for n, d := range tr.server.seen() {
			if !strings.Contains(d.text, tr.message(n).Text) {
				tr.t.Errorf("the recipient reads %q", d.text)
			}
		}
	}},
	{"message refused", func(tr *trial) {
		e := tr.answered(tr.h.RefuseMessage)
		tr.is(e, channel.ClassPermanent)
		tr.blames(e, channel.FaultMessage, "")
	}},
	{"address refused", func(tr *trial) {
		e := tr.answered(tr.h.RefuseAddress)
		tr.is(e, channel.ClassPermanent)
		tr.blames(e, channel.FaultAddress)
	}},
	{"account refused", func(tr *trial) {
		e := tr.answered(tr.h.RefuseAccount)
		tr.is(e, channel.ClassTransient)
		tr.blames(e, channel.FaultAccount)
	}},
	{"throttled", func(tr *trial) {
		e := tr.answered(tr.h.Throttle)
		tr.is(e, channel.ClassTransient)
		tr.blames(e, channel.FaultAccount, channel.FaultAddress, "")
		if e != nil && e.RetryAfter != Wait {
			tr.t.Errorf("asks to wait %v, want %v", e.RetryAfter, Wait)
		}
	}},
	{"malformed answer", func(tr *trial) {
		tr.unreadable(hotel)
	}},
	{"empty answer", func(tr *trial) { tr.unreadable(func(http.ResponseWriter, *http.Request) {}) }},
	{"answer cut short", func(tr *trial) {
		tr.unreadable(half(tr.h.Accept))
	}},
	{"endless answer", func(tr *trial) {
		tr.unreadable(func(w http.ResponseWriter, r *http.Request) {
			filler := bytes.Repeat([]byte(" "), 1<<20)
			for sent := 0; r.Context().Err() == nil; sent++ {
				if _, err := w.Write(filler); err != nil {
					return
				}
			}
		})
	}},
	{"redirect", func(tr *trial) {
		elsewhere := newServer(tr.t, tr.h)
		for n, to := range []string{elsewhere.URL + "/moved", tr.at.URL + "/moved"} {
			tr.server.answers(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) })
			if e := tr.send(tr.t.Context(), tr.message(n)); e == nil {
				tr.t.Error("a redirect was taken for an acceptance")
			}
			tr.requests(n + 1)
		}
		if all := elsewhere.seen(); len(all) > 0 {
			tr.t.Errorf("the message was posted to another host: %v", all)
		}
	}},
}

// hotel answers in the provider's place.
func hotel(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "<html>Log in to the hotel, "+canary)
}

// half breaks off in the middle of an answer.
func half(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		answer(whole, r)
		maps.Copy(w.Header(), whole.Header())
		body := whole.Body.Bytes()
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
		w.WriteHeader(whole.Code)
		_, _ = w.Write(body[:len(body)/2])
		flush(w)
		panic(http.ErrAbortHandler)
	}
}

// answered sends one message to a provider that answers so.
func (tr *trial) answered(script http.HandlerFunc) *channel.Error {
	tr.t.Helper()
	tr.server.answers(script)
	e := tr.send(tr.t.Context(), tr.message(0))
	tr.requests(1)
	return e
}

// unreadable is an answer of success that is none of the provider's: the message may
// have been accepted.
func (tr *trial) unreadable(script http.HandlerFunc) {
	tr.t.Helper()
	ctx, cancel := context.WithTimeout(tr.t.Context(), patience/2)
	defer cancel()
	tr.server.answers(script)
	e := tr.send(ctx, tr.message(0))
	tr.requests(1)
	if e != nil || !tr.h.StatusAlone {
		tr.is(e, channel.ClassUnknown)
	}
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }
