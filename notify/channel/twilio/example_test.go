package twilio_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/twilio"
)

// provider stands in for Twilio; in earnest BaseURL is left out.
func provider() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.FormValue("To"), r.FormValue("Body")+r.FormValue("ContentVariables"))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"sid":"SM00000000000000000000000000000001","status":"queued"}`))
	}))
}

func ExampleNewSMS() {
	twilioAPI := provider()
	defer twilioAPI.Close()

	texts, err := twilio.NewSMS("AC0123456789abcdef0123456789abcdef", "token", &twilio.Options{
		From:           "+15017122661",
		StatusCallback: "https://school.example/hooks/twilio",
		BaseURL:        twilioAPI.URL,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = texts.Close() }()

	// In earnest notify.New(store, nil, texts) does this.
	receipt, err := texts.Send(context.Background(), channel.Message{ID: "5f1d", To: "+14155550100", Text: "It expires soon."})
	fmt.Println(texts.Key(), receipt.ID, err)
	// Output:
	// +14155550100 It expires soon.
	// sms:twilio SM00000000000000000000000000000001 <nil>
}

func ExampleNewWhatsApp() {
	twilioAPI := provider()
	defer twilioAPI.Close()

	chats, err := twilio.NewWhatsApp("AC0123456789abcdef0123456789abcdef", "token", &twilio.Options{From: "+14155238886", BaseURL: twilioAPI.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = chats.Close() }()

	receipt, err := chats.Send(context.Background(), channel.Message{ID: "5f1d", To: "+14155550100", Template: channel.ProviderTemplate{
		Name: "HX0123456789abcdef0123456789abcdef", Params: []string{"Sam", "1 March"},
	}})
	fmt.Println(chats.Key(), receipt.ID, err)
	// Output:
	// whatsapp:+14155550100 {"1":"Sam","2":"1 March"}
	// whatsapp:twilio SM00000000000000000000000000000001 <nil>
}

func ExampleNewWebhook() {
	callbacks, err := twilio.NewWebhook("12345") // the account's auth token
	if err != nil {
		fmt.Println(err)
		return
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Twilio-Signature": {"forged"}}
	_, err = callbacks.Events(channel.WebhookRequest{Method: "POST", URL: "https://school.example/hooks/twilio?belfry_message=5f1d",
		Header: header, Body: []byte("MessageSid=SM1&MessageStatus=delivered"), Now: time.Unix(1772352000, 0)})
	fmt.Println(err)
	// Output: channel: webhook refused: twilio: signature is missing or wrong
}
