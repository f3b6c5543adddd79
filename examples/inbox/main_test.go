package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An event that comes twice makes one message; what ada reads stays unread for ben.
func TestEachReadsInAnInboxOfTheirOwn(t *testing.T) {
	t.Parallel()
	site, err := school(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call := func(user, method, path, body string) (answer struct {
		Messages []struct{ ID string }
		Unread   int
	}) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, "/inbox"+path, strings.NewReader(body))
		r.SetBasicAuth(user, "any")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if site.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatal(user, path, w.Code, w.Body)
		}
		if err := json.NewDecoder(w.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	all := call("ada", http.MethodGet, "/", "").Messages
	if len(all) != 2 {
		t.Fatalf("ada has %d messages", len(all))
	}
	call("ada", http.MethodPost, "/mark", fmt.Sprintf(`{"as":"Read","ids":[%q]}`, all[0].ID))
	if ada, ben := call("ada", http.MethodGet, "/count", "").Unread, call("ben", http.MethodGet, "/count", "").Unread; ada != 1 || ben != 2 {
		t.Errorf("unread: ada %d, ben %d", ada, ben)
	}
	stranger := httptest.NewRecorder()
	site.ServeHTTP(stranger, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if stranger.Code != http.StatusUnauthorized {
		t.Errorf("a stranger gets %d", stranger.Code)
	}
}
