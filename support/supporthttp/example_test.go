package supporthttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// Whoever calls without a session is refused, the trainee reads and sees nothing personal.
func ExampleNew() {
	ctx, store := context.Background(), memory.New(nil)
	out := notify.New(store, nil)
	_, err := out.EnsureOutgoingMessage(ctx, nil, notify.OutgoingMessage{
		Channel: "email:smtp", PartitionKey: "invoice-1", NotificationType: "invoice", RecipientRef: "sam", Address: "sam@example.com",
	})
	if err != nil {
		fmt.Println(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/support/", supporthttp.New(support.New(support.Options{Store: store, Notify: out}), supporthttp.Options{
		Authorise: func(r *http.Request) (supporthttp.Caller, error) {
			if r.Header.Get("Authorization") != "Bearer trainee" { // your session, or your proxy's header
				return supporthttp.Caller{}, errors.New("no session")
			}
			return supporthttp.Caller{Actor: "trainee", Read: true}, nil
		},
	}))
	for _, token := range []string{"", "Bearer trainee"} {
		r := httptest.NewRequest("GET", "/support/api/v1/story?person=sam", nil)
		r.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.Contains(w.Body.String(), `"what":"invoice: under way`), strings.Contains(w.Body.String(), "sam"))
	}
	// Output:
	// 401 false false
	// 200 true false
}
