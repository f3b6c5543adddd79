package resend_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/resend"
)

func ExampleNew() {
	// Stands in for Resend; in earnest BaseURL is left out.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("Idempotency-Key:", r.Header.Get("Idempotency-Key"))
		fmt.Fprint(w, `{"id":"49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}`)
	}))
	defer provider.Close()

	mails, err := resend.New("re_from-the-environment", &resend.Options{
		From:    "School <office@school.example>",
		BaseURL: provider.URL,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mails.Close() }()

	// In earnest notify.New(store, nil, mails) does this.
	receipt, err := mails.Send(context.Background(), channel.Message{
		ID: "5f1d", To: "sam@example.com", Subject: "Your certificate", Text: "It expires soon.",
	})
	fmt.Println(mails.Key(), receipt.ID, err)
	// Output:
	// Idempotency-Key: 5f1d
	// email:resend 49a3999c-0ce1-4ea6-ab68-afcd6dc2e794 <nil>
}

func ExampleNewWebhook() {
	// The signing secret that Resend shows.
	events, err := resend.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = events.Events(channel.WebhookRequest{Method: "POST", Body: []byte(`{"type":"email.delivered"}`), Now: time.Unix(1772352000, 0)})
	fmt.Println(err)
	// Output: channel: webhook refused: resend: signature is missing or wrong
}
