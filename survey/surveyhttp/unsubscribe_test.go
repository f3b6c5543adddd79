package surveyhttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/notify"
)

// optedOut is how many preferences the customer has.
func (h *host) optedOut() int {
	h.Helper()
	known, err := notify.New(h.store, nil).Contacts().Preferences(h.Context(), "tenant", "cust-123")
	if err != nil {
		h.Fatal(err)
	}
	return len(known)
}

// A GET of the page changes nothing; its button does, and one click of a mail program, in
// the customer's language. A token that is none is like any other.
func TestOneClickUnsubscribes(t *testing.T) {
	eachHost(t, func(h *host) {
		page := "/s/" + h.link("de") + "/unsubscribe"
		for range 2 {
			status, body := h.get(page)
			if status != http.StatusOK || !strings.Contains(body, `<html lang="de"`) || !strings.Contains(body, `<form method="post" action="unsubscribe">`) {
				h.Fatalf("%d\n%s", status, body)
			}
		}
		if n := h.optedOut(); n != 0 {
			h.Fatalf("a GET wrote %d", n)
		}
		for range 2 {
			got := call(h, h.forms, "POST", page, "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded")
			if got.Status != http.StatusOK || !strings.Contains(got.Body, "Sie sind abgemeldet") || strings.Contains(got.Body, "<form") {
				h.Fatalf("%d\n%s", got.Status, got.Body)
			}
		}
		if n := h.optedOut(); n != 1 {
			h.Fatalf("%d preferences", n)
		}
		none := "/s/" + strings.Repeat("a", 40) + "/unsubscribe"
		if got := call(h, h.forms, "POST", none, ""); got.Status != http.StatusNotFound || got.Body != call(h, h.forms, "GET", "/s/none", "").Body {
			h.Fatalf("%d\n%s", got.Status, got.Body)
		}
	})
}
