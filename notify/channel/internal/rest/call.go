package rest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/belfry-go/belfry/notify"
)

// Call is one request.
type Call struct {
	// Method is empty for POST.
	Method string
	URL    string
	// Header may be nil. User-Agent, Accept and what Authorize sets are added.
	Header http.Header
	// ContentType is that of Body; empty where there is none.
	ContentType string
	Body        []byte
	// StatusOnly says that the status alone is the answer, as with receivers whose
	// bodies nobody documents: the body is dropped, however it ends.
	StatusOnly bool
}

// Do makes the request of c, once, and returns the answer whatever its status.
// The package documentation says what the classes of its errors mean; the cause
// never holds the URL. A call that makes no request is Permanent.
func (c *Client) Do(ctx context.Context, call Call) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var got atomic.Pointer[conn]
	request, err := c.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			cn := under(info.Conn)
			cn.begin()
			got.Store(cn)
		},
	}), call)
	if err != nil {
		return nil, notify.Permanent("request", c.fail("call that makes no request"))
	}
	response, err := c.transport.RoundTrip(request)
	switch cn := got.Load(); {
	case err == nil && call.StatusOnly:
		return c.drop(response), nil
	case err == nil:
		return c.read(response)
	case cn == nil || cn.seal():
		return nil, notify.Transient("connect", 0, c.fail("nothing was sent: %w", safe(err)))
	}
	return nil, notify.Unknown("no answer", c.fail("no answer: %w", safe(err)))
}

func (c *Client) request(ctx context.Context, call Call) (*http.Request, error) {
	method := call.Method
	if method == "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, call.URL, nil)
	if err != nil {
		return nil, err
	}
	if call.Header != nil {
		request.Header = call.Header.Clone()
	}
	request.Header.Set("User-Agent", "belfry")
	request.Header.Set("Accept", "application/json")
	if call.ContentType != "" {
		request.Header.Set("Content-Type", call.ContentType)
	}
	if c.authorize != nil {
		c.authorize(request.Header)
	}
	if len(call.Body) > 0 { // without GetBody: it is read once
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(call.Body)), int64(len(call.Body))
	}
	return request, nil
}
