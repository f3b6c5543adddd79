package channeltest

import (
	"crypto/tls"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// Wait is the waiting time in the answer of Harness.Throttle.
const Wait = 7 * time.Second

// Provider is the address of the test's provider.
type Provider struct {
	URL string      // "https://127.0.0.1:4711", without a path
	TLS *tls.Config // trusts the provider, unless the test is about just that
}

// Client returns a client for a channel that takes one. It speaks HTTP/1.1. It follows
// redirects; a channel must prevent that itself.
func (p Provider) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: p.TLS}}
}

// Harness is a channel with its provider's answers. All fields are required unless their
// comment says otherwise. The handlers of answers run at the server, with a readable
// request body. They should quote the recipient and the text wherever the real provider
// may, since no error may contain either.
type Harness struct {
	// Open makes a channel that calls that provider, from the credentials in Secrets.
	// It is closed with the test if it is an io.Closer.
	Open func(t *testing.T, at Provider) channel.Channel
	// Message returns a message that the provider accepts. ID, Name, Text, Attempt and
	// On are set by the suite.
	Message func(at Provider) channel.Message
	// Secrets are the credentials. No error and no printed channel may contain one.
	Secrets []string
	// Read reports whether a request could deliver, and the text that its recipient would
	// read. A request that could not (for a token, for a status) is passed to Accept.
	Read func(r *http.Request, body []byte) (text string, delivers bool)

	// Accept answers a valid request.
	Accept http.HandlerFunc
	// RefuseMessage says that this message cannot be sent to any recipient.
	RefuseMessage http.HandlerFunc
	// RefuseAddress says that this recipient cannot be reached.
	RefuseAddress http.HandlerFunc
	// RefuseAccount says that the credentials are wrong, or the account is closed.
	RefuseAccount http.HandlerFunc
	// Throttle asks to retry after Wait.
	Throttle http.HandlerFunc

	// Batch is for a channel that is a [channel.BatchSend]; otherwise nil.
	Batch *Batch

	// StatusAlone says that a status of 2xx accepts, whatever the body. False means that an
	// answer must be read to its end.
	StatusAlone bool
	// HTTP2 says that the provider speaks HTTP/2; false means HTTP/1.1.
	HTTP2 bool
	// Without names the subtests that do not apply to this channel, each with the reason. It
	// may be nil.
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

// check fails a harness that leaves out a subtest without declaring it.
func (h Harness) check(t *testing.T) {
	t.Helper()
	if h.Open == nil || h.Message == nil || h.Read == nil || h.Accept == nil || len(h.Secrets) == 0 {
		t.Fatal("channeltest: Harness needs Open, Message, Secrets, Read and Accept")
	}
	for name, answer := range map[string]http.HandlerFunc{
		"message refused": h.RefuseMessage, "address refused": h.RefuseAddress, "account refused": h.RefuseAccount, "throttled": h.Throttle,
	} {
		if _, without := h.Without[name]; without == (answer != nil) {
			t.Errorf("channeltest: %q needs either an answer in the Harness or a reason in Without", name)
		}
	}
	for name, why := range h.Without {
		known := slices.ContainsFunc(cases, func(c check) bool { return c.name == name })
		if !known || why == "" {
			t.Errorf("channeltest: Without[%q] does not name a subtest, or has no reason", name)
		}
	}
}
