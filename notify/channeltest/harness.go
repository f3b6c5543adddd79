package channeltest

import (
	"crypto/tls"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// Wait is how long the answer of Harness.Throttle asks to wait.
const Wait = 7 * time.Second

// Provider is where the channel finds its provider in a test.
type Provider struct {
	URL string      // "https://127.0.0.1:4711", without a path
	TLS *tls.Config // trusts the provider, unless the test is about just that
}

// Client returns a client for a channel that takes one. It speaks HTTP/1.1 and may be
// used as it is: that it follows redirects is the channel's business.
func (p Provider) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: p.TLS}}
}

// Harness is a channel with what its provider answers. All fields without a remark
// are required. The handlers of answers run at the server, for requests whose body
// can be read (again); they should quote the recipient and the text wherever the real
// provider may, since no error may hold either.
type Harness struct {
	// Open makes a channel that calls that provider, from the credentials in Secrets.
	// It is closed with the test if it is an io.Closer.
	Open func(t *testing.T, at Provider) channel.Channel
	// Message returns a message that the provider accepts. ID, Name, Text, Attempt and
	// On are set by the suite.
	Message func(at Provider) channel.Message
	// Secrets are the credentials; no error and no printed channel holds one.
	Secrets []string
	// Read says whether a request could deliver, and what text its recipient would read.
	// One that could not (for a token, for a status) is given to Accept.
	Read func(r *http.Request, body []byte) (text string, delivers bool)

	// Accept answers what is as it should be.
	Accept http.HandlerFunc
	// RefuseMessage says that this message cannot be sent, to whomever.
	RefuseMessage http.HandlerFunc
	// RefuseAddress says that this recipient cannot be reached.
	RefuseAddress http.HandlerFunc
	// RefuseAccount says that the credentials are wrong, or the account is closed.
	RefuseAccount http.HandlerFunc
	// Throttle asks to come back after Wait.
	Throttle http.HandlerFunc

	// Batch is for a channel that is a [channel.BatchSend]; nil: it is none.
	Batch *Batch

	// StatusAlone says that a status of 2xx accepts, whatever the body of the answer:
	// zero means that an answer must be read to its end.
	StatusAlone bool
	// HTTP2 says that the provider speaks it; zero means HTTP/1.1.
	HTTP2 bool
	// Without has the subtests that make no sense for this channel, each with the
	// reason. May be nil.
	Without map[string]string
}

// Run checks a channel; see the package documentation.
func Run(t *testing.T, h Harness) {
	t.Helper()
	h.check(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if why, ok := h.Without[c.name]; ok {
				t.Skip(why)
			}
			if h.Batch == nil && isBatch(c.name) {
				t.Skip("the channel has no batches")
			}
			c.run(newTrial(t, h))
		})
	}
}

// check fails a harness that would leave out what it does not declare.
func (h Harness) check(t *testing.T) {
	t.Helper()
	if h.Open == nil || h.Message == nil || h.Read == nil || h.Accept == nil || len(h.Secrets) == 0 {
		t.Fatal("channeltest: Harness needs Open, Message, Secrets, Read and Accept")
	}
	for name, answer := range map[string]http.HandlerFunc{
		"message refused": h.RefuseMessage, "address refused": h.RefuseAddress, "account refused": h.RefuseAccount, "throttled": h.Throttle,
	} {
		if _, without := h.Without[name]; without == (answer != nil) {
			t.Errorf("channeltest: %q needs either an answer or a reason in Without", name)
		}
	}
	for name, why := range h.Without {
		known := slices.ContainsFunc(cases, func(c check) bool { return c.name == name })
		if !known || why == "" {
			t.Errorf("channeltest: Without[%q] is no subtest, or has no reason", name)
		}
	}
}
