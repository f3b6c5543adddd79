package channeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pigeons is a channel as a host writes it, with net/http and nothing else.
type pigeons struct {
	loft, token string
	client      *http.Client
}

func (pigeons) Key() string { return "pigeon:loft" }

// Format keeps the token out of logs.
func (pigeons) Format(f fmt.State, _ rune) { fmt.Fprint(f, "pigeons") }

func (p pigeons) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

type letter struct{ ID, To, Text string }

func (p pigeons) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channel.Receipt{}, channel.Transient("ended", 0, err) // net/http does not tell before from after
	}
	body, err := json.Marshal(letter{m.ID, m.To, m.Text})
	if err != nil {
		return channel.Receipt{}, channel.Permanent("json", nil)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.loft, bytes.NewReader(body))
	if err != nil {
		return channel.Receipt{}, channel.Permanent("url", nil)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.GetBody = nil // the transport must not repeat a POST by itself
	resp, err := p.client.Do(req)
	if err != nil {
		return channel.Receipt{}, err // dialling failed: tried again; cut off: in doubt
	}
	defer resp.Body.Close()
	var said struct{ Flight, Fault string }
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<16)).Decode(&said); err != nil {
		return channel.Receipt{}, channel.Unknown("answer", nil)
	}
	switch code := fmt.Sprint(resp.StatusCode); {
	case resp.StatusCode == http.StatusAccepted && said.Flight != "":
		return channel.Receipt{ID: said.Flight}, nil
	case resp.StatusCode == http.StatusUnauthorized:
		return channel.Receipt{}, channel.Transient(code, 0, nil).Blame(channel.FaultAccount)
	case resp.StatusCode == http.StatusTooManyRequests:
		wait, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
		if err != nil {
			wait = 0
		}
		return channel.Receipt{}, channel.Transient(code, wait, nil).Blame(channel.FaultAccount)
	case resp.StatusCode == http.StatusNotFound:
		return channel.Receipt{}, channel.Permanent(code, nil).Blame(channel.FaultAddress)
	case resp.StatusCode == http.StatusBadRequest:
		return channel.Receipt{}, channel.Permanent(code, nil).Blame(channel.FaultMessage)
	default:
		return channel.Receipt{}, channel.Unknown(code, nil)
	}
}

// loft answers as the provider of pigeons does.
func loft(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// A channel of a host's own, with a client that net/http makes, passes.
func TestContract(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, channeltest.Harness{
		Open: func(_ *testing.T, at channeltest.Provider) channel.Channel {
			return pigeons{at.URL, "token-of-the-loft", at.Client()}
		},
		Message: func(channeltest.Provider) channel.Message { return channel.Message{To: "the tower"} },
		Secrets: []string{"token-of-the-loft"},
		Read: func(_ *http.Request, body []byte) (string, bool) {
			var l letter
			err := json.Unmarshal(body, &l)
			return l.Text, err == nil
		},
		Accept:        loft(202, `{"flight":"7"}`),
		RefuseMessage: loft(400, `{"fault":"too heavy for the tower"}`),
		RefuseAddress: loft(404, `{"fault":"nobody lives in the tower"}`),
		RefuseAccount: loft(401, `{"fault":"who are you?"}`),
		Throttle:      loft(429, `{"fault":"the birds are tired"}`),
	})
}
