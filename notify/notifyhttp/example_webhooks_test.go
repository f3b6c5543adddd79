package notifyhttp_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

// post is a provider that signs the body of its callbacks.
type post struct{ key []byte }

func (post) Provider() string { return "post" }

func (p post) sign(body string) string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func (p post) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	if len(p.key) == 0 || !hmac.Equal([]byte(p.sign(string(r.Body))), []byte(r.Header.Get("Signature"))) {
		return nil, channel.ErrWebhookRefused
	}
	var said struct{ ID, Message, What string }
	if err := json.Unmarshal(r.Body, &said); err != nil {
		return nil, err
	}
	kinds := map[string]channel.StatusKind{"delivered": channel.KindDelivered, "spam": channel.KindComplained}
	return []channel.StatusEvent{{EventID: said.ID, MessageID: said.Message, Kind: kinds[said.What]}}, nil
}

// A message is sent, and its provider calls back: it was delivered, and then the
// recipient called it spam.
func ExampleWebhooks() {
	ctx := context.Background()
	clk := clock.NewMock()
	clk.Set(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil, notifytest.NewRecorder().As("email:post"))
	made, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Channel: "email:post", PartitionKey: "invoices", NotificationType: "invoice-due",
		RecipientRef: "17", Address: "sam@example.com",
	})
	if err != nil {
		panic(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
		panic(err)
	}

	provider := post{[]byte("the key that both know")}
	site := http.NewServeMux()
	site.Handle("/callbacks/", http.StripPrefix("/callbacks", notifyhttp.Webhooks(out, nil, provider)))
	call := func(signature, body string) {
		r := httptest.NewRequest(http.MethodPost, "/callbacks/post", strings.NewReader(body))
		r.Header.Set("Signature", signature)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		messages, _, err := out.Support().AllMessages(ctx, "", storage.Page{})
		fmt.Println(w.Code, messages[0].Status, err)
	}
	says := func(id, what string) string {
		return fmt.Sprintf(`{"ID":%q,"Message":%q,"What":%q}`, id, made[0].MessageID, what)
	}
	delivered := says("e1", "delivered")
	call("a guess", delivered)
	call(provider.sign(delivered), delivered)
	spam := says("e2", "spam")
	call(provider.sign(spam), spam)
	call(provider.sign(spam), spam) // said twice

	list, _, err := out.Contacts().Suppressed(ctx, "", storage.Page{})
	fmt.Println(len(list), list[0].Reason, list[0].Source, err)
	// Output:
	// 403 SentToProvider <nil>
	// 204 Delivered <nil>
	// 204 Delivered <nil>
	// 204 Delivered <nil>
	// 1 Complaint post <nil>
}
