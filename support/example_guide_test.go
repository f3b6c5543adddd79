package support_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
	"github.com/belfry-go/belfry/survey"
)

// What docs/support.md shows: a desk over all domains, asked about Sam, and served.
func Example() {
	ctx, store, key := context.Background(), memory.New(nil), make([]byte, 32)
	out, mux := notify.New(store, nil), http.NewServeMux()
	reminders, surveys := automation.New(store, out, nil), survey.New(store, out, nil)
	who := func(*http.Request) (supporthttp.Caller, error) {
		return supporthttp.Caller{Actor: "ann", Read: true}, nil
	}
	desk := support.New(support.Options{Store: store, Automation: reminders, Notify: out, Survey: surveys})
	verdict, err := desk.Verdict(ctx, "north", "sam", "certificate")
	// did not get "certificate, 7 days before 2026-04-24" on 17 April 2026, 09:00 UTC: no recipient or address was on file (NoRecipients)
	fmt.Println(verdict.Text, err)
	story, err := desk.Story(ctx, "north", support.About{Person: "sam"}, storage.Page{})
	fmt.Println(len(story.Past), len(story.Next), err)
	mux.Handle("/support/", supporthttp.New(desk, supporthttp.Options{Authorise: who, Key: key}))
}
