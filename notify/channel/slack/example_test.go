package slack_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/slack"
)

func ExampleNew() {
	// Stands in for Slack; in earnest BaseURL is left out.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(string(body))
		_, _ = io.WriteString(w, `{"ok":true,"channel":"C0123456789","ts":"1712345678.123456"}`)
	}))
	defer provider.Close()

	chats, err := slack.New("xoxb-from-the-environment", &slack.Options{BaseURL: provider.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = chats.Close() }()

	// In earnest notify.New(store, nil, chats) does this.
	receipt, err := chats.Send(context.Background(), channel.Message{ID: "5f1d", To: "C0123456789", Text: "Sam's certificate expires soon."})
	fmt.Println(receipt.ID, err)
	// Output:
	// {"channel":"C0123456789","text":"Sam's certificate expires soon.","mrkdwn":false}
	// C0123456789:1712345678.123456 <nil>
}
