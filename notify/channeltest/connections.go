package channeltest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"github.com/belfry-go/belfry/notify/channel"
)

// connections are what a network can do.
var connections = []check{
	{"slow: cancelled", func(tr *trial) {
		ctx, cancel := context.WithCancel(tr.t.Context())
		defer cancel()
		tr.server.answers(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		})
		tr.is(tr.send(ctx, tr.message(0)), channel.ClassUnknown)
		tr.requests(1)
	}},
	{"slow: out of time", func(tr *trial) {
		tr.is(tr.send(tr.t.Context(), tr.message(0)), accepted) // whatever it needs besides is there
		ctx, cancel := context.WithTimeout(tr.t.Context(), patience/50)
		defer cancel()
		tr.server.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		tr.is(tr.send(ctx, tr.message(1)), channel.ClassUnknown)
		tr.requests(2)
	}},
	{"slow: in the answer", func(tr *trial) {
		ctx, cancel := context.WithCancel(tr.t.Context())
		defer cancel()
		tr.server.answers(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte("{"))
			flush(w)
			cancel()
			<-r.Context().Done()
		})
		if e := tr.send(ctx, tr.message(0)); e != nil || !tr.h.StatusAlone {
			tr.is(e, channel.ClassUnknown)
		}
		tr.requests(1)
	}},
	{"context has ended", func(tr *trial) {
		ctx, cancel := context.WithCancel(tr.t.Context())
		cancel()
		e := tr.send(ctx, tr.message(0))
		tr.is(e, channel.ClassTransient)
		tr.blames(e, "")
		tr.requests(0)
	}},
	{"cut after the request", func(tr *trial) {
		tr.is(tr.answered(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), channel.ClassUnknown)
	}},
	{"kept connection dies", func(tr *trial) {
		tr.is(tr.send(tr.t.Context(), tr.message(0)), accepted)
		tr.server.answers(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		tr.is(tr.send(tr.t.Context(), tr.message(1)), channel.ClassUnknown)
		tr.requests(2) // net/http would repeat a request by itself
		tr.server.answers(nil)
		tr.is(tr.send(tr.t.Context(), tr.message(2)), accepted)
	}},
	{"wrong certificate", func(tr *trial) {
		tr.unreached(Provider{URL: tr.at.URL, TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	}},
	{"connection refused", func(tr *trial) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tr.t.Fatal(err)
		}
		_ = listener.Close()
		tr.unreached(Provider{URL: "https://" + listener.Addr().String(), TLS: tr.at.TLS})
	}},
	{"no such name", func(tr *trial) {
		tr.unreached(Provider{URL: "https://host.invalid", TLS: tr.at.TLS})
	}},
}

// unreached calls a provider that is not there: nothing was sent, and the message is
// not to blame.
func (tr *trial) unreached(at Provider) {
	tr.t.Helper()
	tr.open(at)
	e := tr.send(tr.t.Context(), tr.message(0))
	tr.is(e, channel.ClassTransient)
	tr.blames(e, channel.FaultProvider, channel.FaultAddress)
	tr.requests(0)
}
