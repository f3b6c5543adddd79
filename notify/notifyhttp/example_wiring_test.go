package notifyhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/sendgrid"
	"github.com/belfry-go/belfry/notify/channel/twilio"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// secrets come from the environment.
type secrets struct {
	SendGridKey, SendGridVerification, TwilioAccount, TwilioToken string
	HashKey, LinkKey                                              []byte
}

// wire makes the notifier of a host that sends mail by SendGrid and SMS by
// Twilio, and the addresses that their callbacks and the unsubscribe links need.
func wire(store storage.Store, s secrets) (*notify.Notifier, http.Handler, error) {
	mails, err := sendgrid.New(s.SendGridKey, &sendgrid.Options{From: "School <office@school.example>"})
	if err != nil {
		return nil, nil, err
	}
	texts, err := twilio.NewSMS(s.TwilioAccount, s.TwilioToken, &twilio.Options{
		From: "+15017122661", StatusCallback: "https://school.example/webhooks/twilio",
	})
	if err != nil {
		return nil, nil, err
	}
	out := notify.New(store, &notify.Options{
		HashKey:     s.HashKey,
		Gates:       gate.New(store, &gate.Options{Caps: []gate.Cap{{Limit: 3, Per: 24 * time.Hour}}}),
		Unsubscribe: &notify.UnsubscribeOptions{URL: "https://school.example/unsubscribe", Key: s.LinkKey},
	}, mails, texts)

	events, err := sendgrid.NewWebhook(s.SendGridVerification)
	if err != nil {
		return nil, nil, err
	}
	statuses, err := twilio.NewWebhook(s.TwilioToken)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	public := &notifyhttp.WebhookOptions{URL: "https://school.example/webhooks"}
	mux.Handle("/webhooks/", http.StripPrefix("/webhooks", notifyhttp.Webhooks(out, public, events, statuses)))
	mux.Handle("/unsubscribe/", notifyhttp.Unsubscribe(out))
	return out, mux, nil
}

// A host with two providers: who cannot prove where a callback comes from is
// refused.
func ExampleWebhooks_providers() {
	_, handler, err := wire(memory.New(nil), secrets{
		SendGridKey:          "SG.key",
		SendGridVerification: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
		TwilioAccount:        "AC0123456789abcdef0123456789abcdef", TwilioToken: "token",
		HashKey: []byte("0123456789abcdef0123456789abcdef"), LinkKey: []byte("fedcba9876543210fedcba9876543210"),
	})
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"/webhooks/sendgrid", "/webhooks/twilio", "/webhooks/nobody"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /webhooks/sendgrid 403
	// /webhooks/twilio 403
	// /webhooks/nobody 404
}
