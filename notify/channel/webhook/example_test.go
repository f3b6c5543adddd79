package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/webhook"
)

var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func Example() {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(webhook.Verify(secret, r.Header, body, morning), string(body)) // in earnest time.Now()
	}))
	defer receiver.Close()

	hooks, err := webhook.New(&webhook.Options{
		Secrets: []string{secret},
		Trusted: []string{"127.0.0.1"}, // in earnest receivers are public, and called over https
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = hooks.Close() }()

	// In earnest notify.New(store, nil, hooks) does this.
	_, err = hooks.Send(context.Background(), channel.Message{ID: "5f1d", To: receiver.URL, Text: "It expires soon.", On: morning})
	fmt.Println(err)
	_, err = hooks.Send(context.Background(), channel.Message{ID: "5f1d", To: "https://169.254.169.254/latest/meta-data", On: morning})
	fmt.Println(err)
	// Output:
	// <nil> {"type":"message","data":{"id":"5f1d","text":"It expires soon."}}
	// <nil>
	// channel: Permanent send error forbidden-address: safedial: the address is not on the public Internet
}
