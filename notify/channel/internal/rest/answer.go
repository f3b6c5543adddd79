package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/belfry-go/belfry/internal/standardwebhooks"
	"github.com/belfry-go/belfry/notify"
)

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
		return nil, notify.Unknown("no whole answer", c.fail("answer %d: %w", r.StatusCode, safe(err)))
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
