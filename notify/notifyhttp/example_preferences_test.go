package notifyhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/notify/templates"
	"github.com/belfry-go/belfry/storage/memory"
)

// Sam follows the link in a mail, and wants no more offers.
func ExamplePreferences() {
	ctx, store, link := context.Background(), memory.New(nil), ""
	out := notify.New(store, &notify.Options{
		Groups:      []notify.Group{{Name: "offers", Title: "Offers"}, {Name: "reminders", Title: "Reminders"}},
		Unsubscribe: &notify.UnsubscribeOptions{URL: "https://school.example/preferences", Key: bytes.Repeat([]byte("k"), 32)},
	}, channel.Func("email:test", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		link = m.UnsubscribeURL
		return channel.Receipt{}, nil
	}))
	_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Channel: "email:test", PartitionKey: "1", NotificationType: "spring", Group: "offers", RecipientRef: "sam", Address: "sam@example.com"})
	fmt.Println(err, belfry.NewPoller(store, nil, out).Drain(ctx))

	mux := http.NewServeMux()
	mux.Handle("/preferences/", notifyhttp.Preferences(out, &notifyhttp.PreferencesOptions{Methods: []string{"email", "sms"}}))
	form := url.Values{"what": {"choose"}, "shown": {"email:offers", "email:reminders"}, "want": {"email:reminders"}}
	post := httptest.NewRequest("POST", link, strings.NewReader(form.Encode()))
	post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, post)
	fmt.Println(w.Code)
	wishes, err := out.Contacts().Preferences(ctx, "", "sam")
	for _, p := range wishes {
		fmt.Println(p.Group, p.Method, p.OptedOut, err)
	}
	// Output:
	// <nil> <nil>
	// 200
	// offers email true <nil>
	// reminders email false <nil>
}

// A developer looks at a message in another language.
func ExamplePreviews() {
	out := notify.New(memory.New(nil), nil)
	out.Register(notify.Type{Name: "visit", Renderer: templates.Set{Default: "en", Locales: map[string]notify.Template{
		"en": {Subject: "Your visit on {{.On}}"}, "de": {Subject: "Ihr Besuch am {{.On}}"}}}})
	h := notifyhttp.Previews(out, notifyhttp.PreviewsOptions{Development: true, Locales: []string{"en", "de"}, Samples: []notifyhttp.Sample{
		{Job: notify.Job{Type: "visit", EventData: json.RawMessage(`{"On":"1 May"}`)}, Recipient: notify.Recipient{Name: "Sam"}}}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/1?locale=de", nil)) // the page of /1 leads there
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "Ihr Besuch am 1 May"))
	// Output: 200 true
}
