package rest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/belfry-go/belfry/notify/channel"
)

func client(t *testing.T, o Options) *Client {
	t.Helper()
	o.Provider = "test"
	c := NewClient(o)
	t.Cleanup(c.Close)
	return c
}

// serve starts a server that lasts as long as the test.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// refused makes a call that must fail, and returns its error.
func refused(ctx context.Context, t *testing.T, c *Client, call Call) *channel.Error {
	t.Helper()
	answer, err := c.Do(ctx, call)
	if err == nil {
		t.Fatalf("answer %d", answer.Status)
	}
	return channel.Classify(err)
}

func post(url string) Call {
	return Call{URL: url, ContentType: "application/json", Body: []byte(`{"to":"sam"}`)}
}

// piped dials a provider that closes read when it has a request, answers with a text, and
// is silent from then on. It has no part of the network, so that a bubble's time goes on.
func piped(read chan<- struct{}, answer string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			r, err := http.ReadRequest(bufio.NewReader(theirs))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			close(read)
			_, _ = io.WriteString(theirs, answer)
			_, _ = io.Copy(io.Discard, theirs)
		}()
		return ours, nil
	}
}
