// Command inbox shows messages inside an application: a school tells two people that
// classes have moved to another room, and each reads it in an inbox of their own.
//
//	go run ./examples/inbox   # says what to open in a browser
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage/memory"
)

func main() {
	site, err := school(context.Background())
	if err != nil {
		log.Fatal("inbox: ", err)
	}
	fmt.Println("Open http://localhost:8080/ and sign in as ada or ben, with any password.")
	server := &http.Server{Addr: "localhost:8080", Handler: site, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal("inbox: ", server.ListenAndServe())
}

// school is the application after two classes have moved; the last event comes twice.
func school(ctx context.Context) (http.Handler, error) {
	store := memory.New(nil)
	out := notify.New(store, nil) // an inbox needs no channel
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "room", Immediate: rooms{}, Recipients: automation.RecipientFunc(noReminders),
		Template: notify.Template{Subject: "Class {{.Class}} is in room {{.Room}}", Text: "It was moved this morning."},
	})
	for _, move := range [][3]string{{"e1", "7a", "12"}, {"e2", "7b", "3"}, {"e2", "7b", "3"}} {
		_, err := reminders.HandleEvent(ctx, automation.Event{
			ID: move[0], Type: "class.moved", Source: automation.Source{Type: "class", ID: move[1]}, Data: move[2],
		})
		if err != nil {
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/inbox/", http.StripPrefix("/inbox", notifyhttp.Inbox(out, signedIn)))
	mux.HandleFunc("GET /{$}", page)
	return mux, belfry.NewPoller(store, nil, reminders, out).Drain(ctx)
}

// rooms says whom to tell at once when a class moves.
type rooms struct{}

func (rooms) EventTypes() []string { return []string{"class.moved"} }

func (rooms) Notifications(_ context.Context, e automation.Event) ([]automation.Immediate, error) {
	return []automation.Immediate{{
		Data:       map[string]string{"Class": e.Source.ID, "Room": e.Data.(string)},
		Recipients: []notify.Recipient{{Ref: "ada", Inbox: "user:ada"}, {Ref: "ben", Inbox: "user:ben"}},
	}}, nil
}

func noReminders(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }

// signedIn is where a real application looks at its session.
func signedIn(r *http.Request) (notifyhttp.Caller, error) {
	user, _, ok := r.BasicAuth()
	if !ok {
		return notifyhttp.Caller{}, errors.New("not signed in")
	}
	return notifyhttp.Caller{Inbox: "user:" + user}, nil
}

// page is one of the application's, with the inbox in it.
func page(w http.ResponseWriter, r *http.Request) {
	if _, err := signedIn(r); err != nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="school"`)
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'")
	fmt.Fprint(w, `<!DOCTYPE html><html lang="en"><title>School</title><body><h1>School</h1>
<belfry-inbox src="/inbox/"></belfry-inbox>
<script type="module" src="/inbox/inbox.js"></script></body></html>`)
}
