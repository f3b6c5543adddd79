package postmark_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/postmark"
)

func ExampleNew() {
	// Stands in for Postmark; in earnest BaseURL is left out.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/messages/outbound" {
			fmt.Fprintf(w, `{"TotalCount":1,"Messages":[{"MessageID":"0a129aee-e1cd","Metadata":{"belfry_message":%q}}]}`, r.FormValue("metadata_belfry_message"))
			return
		}
		fmt.Fprint(w, `{"ErrorCode":0,"Message":"OK","MessageID":"0a129aee-e1cd"}`)
	}))
	defer provider.Close()

	mails, err := postmark.New("token-from-the-environment", &postmark.Options{
		From:    "School <office@school.example>",
		BaseURL: provider.URL,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mails.Close() }()

	// In earnest notify.New(store, nil, mails) does this, and asks what is in doubt.
	ctx, m := context.Background(), channel.Message{ID: "5f1d", To: "sam@example.com", Subject: "Your certificate", Text: "It expires soon."}
	receipt, err := mails.Send(ctx, m)
	fmt.Println(mails.Key(), receipt.ID, err)
	found, err := mails.Lookup(ctx, m)
	fmt.Println(found.Status, found.Receipt.ID, err)
	// Output:
	// email:postmark 0a129aee-e1cd <nil>
	// Accepted 0a129aee-e1cd <nil>
}

func ExampleNewWebhook() {
	events, err := postmark.NewWebhook("postmark", "a-long-random-password")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = events.Events(channel.WebhookRequest{Method: "POST", Body: []byte(`{"RecordType":"Delivery"}`)})
	fmt.Println(err)
	// Output: channel: webhook refused: postmark: user or password is missing or wrong
}
