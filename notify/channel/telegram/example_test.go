package telegram_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/telegram"
)

func ExampleNew() {
	// Stands in for Telegram; in earnest BaseURL is left out.
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(string(body))
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":17}}`)
	}))
	defer provider.Close()

	chats, err := telegram.New("123456:from-the-environment-0123456789", &telegram.Options{BaseURL: provider.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = chats.Close() }()

	// In earnest notify.New(store, nil, chats) does this.
	receipt, err := chats.Send(context.Background(), channel.Message{ID: "5f1d", To: "123456789", Text: "Your certificate expires soon."})
	fmt.Println(receipt.ID, err)
	// Output:
	// {"chat_id":"123456789","text":"Your certificate expires soon."}
	// 17 <nil>
}
