package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/notify/channel"
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
	// Sign adds headers to the finished request, which prove who makes it; nil: there are
	// none but those of Authorize.
	Sign func(*http.Request) error
	// StatusOnly says that the status alone is the answer, as with receivers whose bodies
	// that are not documented: the body is dropped, however it ends.
	StatusOnly bool
}

// Do makes the request of c, once, and returns the answer whatever its status.
// The package documentation says what the classes of its errors mean; the cause
// never holds the URL. A call that makes no request is Permanent.
func (c *Client) Do(ctx context.Context, call Call) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if c.shared {
		select {
		case c.turns <- struct{}{}:
			defer func() { <-c.turns }()
		case <-ctx.Done():
			return nil, unconnected(c.fail("nothing was sent: %w", safe(ctx.Err())))
		}
	}
	on := new(atomic.Pointer[conn])
	request, err := c.request(tracing(ctx, on), call)
	if err != nil || c.shared && request.Body == nil {
		return nil, channel.Permanent("request", c.fail("call that makes no request"))
	}
	content := &body{ReadCloser: request.Body}
	if c.shared {
		request.Body = content
	}
	response, err := c.transport.RoundTrip(request)
	switch {
	case err == nil && call.StatusOnly:
		return c.drop(response), nil
	case err == nil:
		return c.read(response)
	case c.unsent(on.Load(), content):
		return nil, unconnected(c.fail("nothing was sent: %w", safe(err)))
	}
	return nil, channel.Unknown("no answer", c.fail("no answer: %w", safe(err)))
}

// tracing notes the connection that a call gets.
func tracing(ctx context.Context, on *atomic.Pointer[conn]) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			cn := under(info.Conn)
			cn.begin()
			on.Store(cn)
		},
	})
}

// unsent reports whether nothing of a call that has failed was written, nor will be.
func (c *Client) unsent(on *conn, content *body) bool {
	if c.shared {
		return content.seal()
	}
	return on == nil || on.seal()
}

// unconnected blames the provider, unless we ended the attempt ourselves.
func unconnected(cause error) *channel.Error {
	e := channel.Transient("connect", 0, cause)
	if errors.Is(cause, context.Canceled) {
		return e
	}
	return e.Blame(channel.FaultProvider)
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
	if call.Sign != nil {
		err = call.Sign(request)
	}
	return request, err
}

// Header returns an Options.Authorize that sets one header.
func Header(name, value string) func(http.Header) {
	return func(h http.Header) { h.Set(name, value) }
}

// Basic returns an Options.Authorize for HTTP Basic authentication.
func Basic(user, password string) func(http.Header) {
	return Header("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// maxAnswer bounds what is read of an answer. Providers send a few kilobytes.
const maxAnswer = 256 << 10

var errTooLong = errors.New("longer than 256 KiB")

// Answer is a provider's answer, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	client *Client
}

// read reads the answer. One that breaks off or does not end says nothing for
// sure, whatever its status.
func (c *Client) read(r *http.Response) (*Answer, error) {
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	if err != nil {
		return nil, channel.Unknown("no whole answer", c.fail("answer %d: %w", r.StatusCode, safe(err)))
	}
	return &Answer{Status: r.StatusCode, Header: r.Header, Body: body, client: c}, nil
}

// drop reads a short body, so that the connection can be used again.
func (c *Client) drop(r *http.Response) *Answer {
	defer r.Body.Close()
	_, _ = io.CopyN(io.Discard, r.Body, maxAnswer)
	return &Answer{Status: r.StatusCode, Header: r.Header, client: c}
}

// JSON reads the body into v. The error does not quote it.
func (a *Answer) JSON(v any) error {
	if json.Unmarshal(a.Body, v) != nil {
		return a.client.fail("answer %d is not the JSON that is documented", a.Status)
	}
	return nil
}

// RetryAfter is how long the provider asks to wait, in seconds or until a date
// by its own clock; zero where it does not say or says nonsense.
func (a *Answer) RetryAfter() time.Duration { return standardwebhooks.RetryAfter(a.Header) }

// maxCode is longer than the code of any provider.
const maxCode = 40

// Refusal is the error of an answer that does not accept, by its status alone
// (RFC 9110, section 15; RFC 6585, section 4; RFC 8470, section 5.2):
//
//	401, 403, 407     Transient, the account's fault: the credentials are wrong
//	429               Transient, the account's fault
//	408, 425          Transient
//	other 4xx         Permanent
//	503               Transient, the provider's fault
//	3xx               Transient, the account's fault: nothing was followed
//	1xx, 2xx, others  Unknown: an answer that should not be, or a server that
//	of 5xx            failed at a point that it does not tell
//
// code is the provider's own, kept beside the status; what does not look like one
// is dropped. Where a provider documents its codes, the channel decides first.
func (a *Answer) Refusal(code string) *channel.Error {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests:
		return a.Closed(code)
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return a.Transient(code)
	case http.StatusServiceUnavailable:
		return a.Away(code)
	}
	switch a.Status / 100 {
	case 3:
		return a.Closed(code)
	case 4:
		return a.Permanent(code)
	}
	return a.Unknown(code)
}

// Permanent says that the provider refused the message for good.
func (a *Answer) Permanent(code string) *channel.Error {
	return channel.Permanent(a.code(code), a.cause(code))
}

// Closed says that the provider accepts nothing of this account now.
func (a *Answer) Closed(code string) *channel.Error {
	return a.Transient(code).Blame(channel.FaultAccount)
}

// Away says that the provider accepts nothing now, of any account.
func (a *Answer) Away(code string) *channel.Error {
	return a.Transient(code).Blame(channel.FaultProvider)
}

// Transient says that the provider did not accept the message now, with the
// answer's Retry-After.
func (a *Answer) Transient(code string) *channel.Error {
	return channel.Transient(a.code(code), a.RetryAfter(), a.cause(code))
}

// Unknown says that the answer leaves open whether the provider has the message.
func (a *Answer) Unknown(code string) *channel.Error {
	return channel.Unknown(a.code(code), a.cause(code))
}

// code is the status, and what the provider calls it: "400 21211".
func (a *Answer) code(code string) string {
	text := strconv.Itoa(a.Status)
	if code = Code(code); code != "" {
		text += " " + code
	}
	return text
}

func (a *Answer) cause(code string) error { return a.client.fail("answer %s", a.code(code)) }

// Code returns a provider's code if it looks like one, and else nothing: at most
// 40 ASCII letters, digits, '_', '-' and '.', and no run of more than 6 digits,
// which may be a phone number.
func Code(code string) string {
	digits := 0
	for _, r := range code {
		switch {
		case '0' <= r && r <= '9':
			if digits++; digits > 6 {
				return ""
			}
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '_', r == '-', r == '.':
			digits = 0
		default:
			return ""
		}
	}
	if len(code) > maxCode {
		return ""
	}
	return code
}

var errStrange = errors.New("the response is not valid HTTP")

// safe returns the part of an error's chain that comes from the network. Other
// errors of net/http quote what the server sent, or what it was sent.
func safe(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, errTooLong, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.As(err, &cert):
		return cert
	case errors.As(err, &record):
		return record
	case errors.As(err, &network):
		return network
	}
	return errStrange
}
