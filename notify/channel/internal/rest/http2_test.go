package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/belfry-go/belfry/internal/safedial"
	"github.com/belfry-go/belfry/notify/channel"
)

// trusting are the options of a client that speaks HTTP/2 with a server.
func trusting(s *httptest.Server) Options {
	return Options{HTTP2: true, TLS: &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}}
}

// serve2 starts a server that speaks HTTP/2.
func serve2(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// frames starts a server that answers a whole request with frames of its own, and counts
// the requests that were begun.
func frames(t *testing.T, answer func(f *http2.Framer, stream uint32) error) (s *httptest.Server, begun *atomic.Int32) {
	t.Helper()
	begun = new(atomic.Int32)
	s = httptest.NewUnstartedServer(nil)
	s.TLS = &tls.Config{NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": func(_ *http.Server, c *tls.Conn, _ http.Handler) {
		defer c.Close()
		f := http2.NewFramer(c, c)
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil || f.WriteSettings() != nil {
			return
		}
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch got := frame.(type) {
			case *http2.SettingsFrame:
				if !got.IsAck() {
					err = f.WriteSettingsAck()
				}
			case *http2.PingFrame:
				err = f.WritePing(true, got.Data)
			case *http2.HeadersFrame:
				begun.Add(1)
			case *http2.DataFrame:
				if got.StreamEnded() {
					err = answer(f, got.StreamID)
				}
			}
			if err != nil {
				return
			}
		}
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, begun
}

// After each of these the transport would send a request again whose body it can read again.
func TestOneRequestOverHTTP2AlsoWhereTheServerSaysItHasNotBegun(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http2.Framer, uint32) error{
		"refused": func(f *http2.Framer, stream uint32) error {
			return f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		},
		"protocol error": func(f *http2.Framer, stream uint32) error { return f.WriteRSTStream(stream, http2.ErrCodeProtocol) },
		"going away":     func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"hangs up":       func(*http2.Framer, uint32) error { return io.EOF },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var whole atomic.Int32
			s, begun := frames(t, func(f *http2.Framer, stream uint32) error {
				if whole.Add(1) > 1 {
					cancel() // a transport that goes on and on
				}
				return answer(f, stream)
			})
			call := post(s.URL)
			call.Header = http.Header{"Idempotency-Key": {"a"}, "X-Idempotency-Key": {"a"}}
			if err := refused(ctx, t, client(t, trusting(s)), call); err.Class != channel.ClassUnknown || begun.Load() != 1 {
				t.Errorf("%d requests for one call: %v", begun.Load(), err)
			}
		})
	}
}

func TestOneConnectionOfHTTP2HasAsManyCallsAsMayBe(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	var from sync.Map
	both := make(chan struct{})
	s := serve2(t, func(w http.ResponseWriter, r *http.Request) {
		from.Store(r.RemoteAddr, r.ProtoMajor)
		if r.Header.Get("First") != "" {
			return
		}
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 2 {
			select {
			case <-both:
			default:
				close(both)
			}
		}
		select {
		case <-both:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusAccepted)
	})
	o := trusting(s)
	o.MaxConns = 2
	c := client(t, o)
	first := post(s.URL)
	first.Header = http.Header{"First": {"1"}}
	if _, err := c.Do(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if a, err := c.Do(t.Context(), post(s.URL)); err != nil || a.Status != http.StatusAccepted {
				t.Error(err)
			}
		})
	}
	all.Wait()
	connections := 0
	from.Range(func(_, major any) bool {
		connections++
		if major != 2 {
			t.Errorf("HTTP/%d", major)
		}
		return true
	})
	if connections != 1 || most.Load() != 2 || c.MaxCalls() != 2 {
		t.Errorf("%d connections, %d calls at once", connections, most.Load())
	}
}

func TestNothingWasSentByACallThatWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	came := make(chan struct{})
	s := serve2(t, func(_ http.ResponseWriter, r *http.Request) {
		// Its headers come first, and with them alone nothing was sent.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		came <- struct{}{}
		<-r.Context().Done()
	})
	o := trusting(s)
	o.MaxConns = 1
	c := client(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := c.Do(ctx, post(s.URL)); channel.Classify(err).Class != channel.ClassUnknown {
			t.Error(err)
		}
	})
	<-came
	ended, end := context.WithCancel(t.Context())
	end()
	if err := refused(ended, t, c, post(s.URL)); err.Class != channel.ClassTransient || err.Fault != "" {
		t.Error(err)
	}
	cancel()
	first.Wait()
}

func TestHTTP2KeepsTheGuardOfItsDialer(t *testing.T) {
	t.Parallel()
	s := serve2(t, func(http.ResponseWriter, *http.Request) { t.Error("it was reached") })
	o := trusting(s)
	o.Dial = safedial.Dialer{}.DialContext
	if err := refused(t.Context(), t, client(t, o), post(s.URL)); err.Class != channel.ClassTransient || !errors.Is(err, safedial.ErrForbidden) {
		t.Error(err)
	}
}

// Without a body nothing would tell whether a request was sent.
func TestARequestOverHTTP2HasABody(t *testing.T) {
	t.Parallel()
	s := serve2(t, func(http.ResponseWriter, *http.Request) { t.Error("it was reached") })
	if err := refused(t.Context(), t, client(t, trusting(s)), Call{URL: s.URL}); err.Class != channel.ClassPermanent {
		t.Error(err)
	}
}

func TestASealedBodyIsNotRead(t *testing.T) {
	t.Parallel()
	b := &body{ReadCloser: http.NoBody}
	if !b.seal() {
		t.Fatal("an untouched body was taken for one that was read")
	}
	if _, err := b.Read(nil); !errors.Is(err, errSealed) {
		t.Error(err)
	}
	b = &body{ReadCloser: http.NoBody}
	if _, err := b.Read(nil); !errors.Is(err, io.EOF) || b.seal() {
		t.Error("a body that was read was sealed:", err)
	}
}
