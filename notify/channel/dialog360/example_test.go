package dialog360_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/dialog360"
)

func ExampleNew() {
	// Stands in for 360dialog; in earnest BaseURL is left out.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"messaging_product":"whatsapp","messages":[{"id":"wamid.HBgL"}]}`))
	}))
	defer provider.Close()

	texts, err := dialog360.New("from-the-environment", &dialog360.Options{BaseURL: provider.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = texts.Close() }()

	// In earnest notify.New(store, nil, texts) does this.
	receipt, err := texts.Send(context.Background(), channel.Message{
		ID: "5f1d", To: "+41793026727", Locale: "en", Template: channel.ProviderTemplate{Name: "certificate_expires", Params: []string{"Sam", "1 May"}},
	})
	fmt.Println(texts.Key(), receipt.ID, err)
	// Output: whatsapp:dialog360 wamid.HBgL <nil>
}

func ExampleNewWebhook() {
	proof := dialog360.BasicAuth("belfry", "long-and-random") // set it with 360dialog too
	statuses, err := dialog360.NewWebhook("Authorization", proof)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := channel.WebhookRequest{Method: "POST", Header: http.Header{"Authorization": {proof}},
		Body: []byte(`{"entry":[{"changes":[{"value":{"statuses":[{"id":"wamid.HBgL","status":"read","biz_opaque_callback_data":"5f1d"}]}}]}]}`)}
	events, err := statuses.Events(r)
	fmt.Println(events[0].MessageID, events[0].Kind, err)
	r.Header = nil
	_, err = statuses.Events(r)
	fmt.Println(err)
	// Output:
	// 5f1d Opened <nil>
	// channel: webhook refused: dialog360: secret header is missing or wrong
}
