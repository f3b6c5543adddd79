package notifyhttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
)

// editor may see the campaigns of the business unit in a header.
func editor(r *http.Request) (notifyhttp.Caller, error) {
	user := r.Header.Get("User")
	if user == "" {
		return notifyhttp.Caller{}, errors.New("nobody")
	}
	return notifyhttp.Caller{Scope: "tenant", Allow: func(_ context.Context, c notify.CampaignProgress) error {
		if c.BusinessUnit != user {
			return errors.New("not theirs")
		}
		return nil
	}}, nil
}

func TestACampaignIsShownToThoseWhomTheHostAllows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, store storage.Store, _ *clock.Mock) {
		n := notify.New(store, nil)
		p, err := n.Campaigns().PutAudience(t.Context(), notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
			_ = yield(notify.Recipient{Ref: "sam", Address: "sam@example.com", Channel: "email:x"}, nil) &&
				yield(notify.Recipient{Ref: "kim", Inbox: "user:kim"}, nil)
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.EnsureMessagingJob(t.Context(), nil, notify.MessagingJob{
			Scope: "tenant", Type: "offer", GUID: "spring", BusinessUnit: "north", Blob: p.Blob, AudienceSize: p.Recipients,
		})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.StripPrefix("/campaigns", notifyhttp.Campaigns(n, editor)))
		t.Cleanup(server.Close)
		a := app{t, server.URL + "/campaigns"}
		a.want(200, `{"status":"Created","recipients":2,"done":0,"generated":0,"skipped":0,"repeated":0,"cancelled":0,"messages":{}}`)(a.do("GET", "/spring", "north", ""))
		a.want(200, `{"ref":"sam","channel":"email:x","address":"sam@example.com"}`+"\n"+`{"ref":"kim","inbox":"user:kim"}`)(a.do("GET", "/spring/audience", "north", ""))
		for _, path := range []string{"/spring", "/spring/audience", "/summer"} {
			a.want(404, `{"error":"this campaign does not exist"}`)(a.do("GET", path, "south", ""))
			a.want(401, `{"error":"not signed in"}`)(a.do("GET", path, "", ""))
		}
		if status, text := a.do("POST", "/spring", "north", "{}"); status != 405 {
			t.Error("it can be posted to:", status, text)
		}
		if err := store.Blobs().Delete(t.Context(), p.Blob); err != nil {
			t.Fatal(err)
		}
		if status, text := a.do("GET", "/spring/audience", "north", ""); status == 200 || strings.Contains(text, "sam") {
			t.Error("what is gone is shown:", status, text)
		}
	})
}
