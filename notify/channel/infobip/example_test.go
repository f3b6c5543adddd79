package infobip_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/infobip"
)

// provider stands in for Infobip.
func provider() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"messages":[{"messageId":"5f1d","status":{"groupName":"PENDING","name":"PENDING_ACCEPTED"}}],
			"results":[{"messageId":"5f1d","status":{"groupName":"PENDING","name":"PENDING_ACCEPTED"}}]}`))
	}))
}

func ExampleNewSMS() {
	api := provider() // in earnest "https://xxxxx.api.infobip.com"
	defer api.Close()

	texts, err := infobip.NewSMS(api.URL, "key", &infobip.Options{From: "School"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = texts.Close() }()

	// In earnest notify.New(store, nil, texts) does this.
	m := channel.Message{ID: "5f1d", To: "+41793026727", Text: "It expires soon."}
	receipt, err := texts.Send(context.Background(), m)
	fmt.Println(texts.Key(), receipt.ID, err)
	found, err := texts.Lookup(context.Background(), m) // had the answer been lost
	fmt.Println(found.Status, err)
	// Output:
	// sms:infobip 5f1d <nil>
	// Accepted <nil>
}

func ExampleNewWhatsApp() {
	api := provider()
	defer api.Close()

	chats, err := infobip.NewWhatsApp(api.URL, "key", &infobip.Options{From: "+447860099299"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = chats.Close() }()

	receipt, err := chats.Send(context.Background(), channel.Message{ID: "5f1d", To: "+41793026727", Locale: "en-GB",
		Template: channel.ProviderTemplate{Name: "certificate_expires", Params: []string{"Sam", "1 March"}}})
	fmt.Println(chats.Key(), receipt.ID, err)
	// Output: whatsapp:infobip 5f1d <nil>
}

func ExampleNewWebhook() {
	reports, err := infobip.NewWebhook(infobip.WebhookOptions{Username: "school", Password: "sesame"})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := channel.WebhookRequest{Method: "POST", Header: http.Header{"Authorization": {"Basic c2Nob29sOnNlc2FtZQ=="}},
		Body: []byte(`{"results":[{"messageId":"5f1d","status":{"groupName":"DELIVERED","name":"DELIVERED_TO_HANDSET"}}]}`)}
	events, err := reports.Events(r)
	fmt.Println(events[0].MessageID, events[0].Kind, err)
	r.Header.Del("Authorization")
	_, err = reports.Events(r)
	fmt.Println(err)
	// Output:
	// 5f1d Delivered <nil>
	// channel: webhook refused: infobip: credentials or signature are missing or wrong
}
