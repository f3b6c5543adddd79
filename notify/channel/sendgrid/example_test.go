package sendgrid_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
)

func ExampleNew() {
	// Stands in for SendGrid; in earnest BaseURL is left out.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Message-Id", "LRzXl_NHStOGhQ4kofSm_A")
		w.WriteHeader(http.StatusAccepted)
	}))
	defer provider.Close()

	mails, err := sendgrid.New("SG.from-the-environment", &sendgrid.Options{
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
	// Output: email:sendgrid LRzXl_NHStOGhQ4kofSm_A <nil>
}

func ExampleNewWebhook() {
	// The verification key of SendGrid's settings.
	events, err := sendgrid.NewWebhook("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = events.Events(channel.WebhookRequest{Method: "POST", Body: []byte(`[{"event":"delivered"}]`), Now: time.Unix(1772352000, 0)})
	fmt.Println(err)
	// Output: channel: webhook refused: sendgrid: signature is missing or wrong
}
