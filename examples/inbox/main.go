// Command inbox shows in-app messages. A school's application tells two people
// that classes have changed their room; each reads over HTTP in an inbox of their
// own, and what one reads stays unread for the other.
//
//	go run ./examples/inbox
//	go run ./examples/inbox -serve   shows a page in the browser, too
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage/memory"
)

// rooms says whom to tell at once when a class moves.
type rooms struct{}

func (rooms) EventTypes() []string { return []string{"class.moved"} }

func (rooms) Notifications(_ context.Context, e automation.Event) ([]automation.Immediate, error) {
	return []automation.Immediate{{
		Data:       map[string]string{"Class": e.Source.ID, "Room": e.Data.(string)},
		Recipients: []notify.Recipient{{Ref: "ada", Inbox: "user:ada"}, {Ref: "ben", Inbox: "user:ben"}},
	}}, nil
}

func nobody(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }

// signedIn is where a real application looks at its session.
func signedIn(r *http.Request) (notifyhttp.Caller, error) {
	user, _, ok := r.BasicAuth()
	if !ok {
		return notifyhttp.Caller{}, errors.New("nobody is signed in")
	}
	return notifyhttp.Caller{Inbox: "user:" + user}, nil
}

// page is one of the application's, with the element in it.
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

var serve = flag.Bool("serve", false, "serve a page with the inbox until interrupted")

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	clk := clock.NewMock() // a real program leaves the clock out
	store := memory.New(&memory.Options{Clock: clk})
	out := notify.New(store, nil) // an inbox needs no channel
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name: "room", Immediate: rooms{}, Recipients: automation.RecipientFunc(nobody),
		Template: notify.Template{Subject: "Class {{.Class}} is in room {{.Room}}", Text: "It was moved this morning."},
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/inbox/", http.StripPrefix("/inbox", notifyhttp.Inbox(out, signedIn)))
	mux.HandleFunc("GET /{$}", page)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	defer server.Close()
	go func() { _ = server.Serve(listener) }() // until Close
	url := "http://" + listener.Addr().String() + "/inbox"

	// What the application does when a class moves. The last event comes twice.
	for _, move := range [][3]string{{"e1", "7a", "12"}, {"e2", "7b", "3"}, {"e2", "7b", "3"}} {
		clk.Add(time.Minute)
		_, err := reminders.HandleEvent(ctx, automation.Event{
			ID: move[0], Type: "class.moved", Source: automation.Source{Type: "class", ID: move[1]}, Data: move[2],
		})
		if err != nil {
			return err
		}
	}
	if err := belfry.NewPoller(store, nil, reminders, out).Drain(ctx); err != nil {
		return err
	}
	ada, ben := user{ctx, url, "ada"}, user{ctx, url, "ben"}
	err = errors.Join(ada.show(), ada.mark(0, "Read"), ada.show(), ben.show(), ben.mark(1, "Archived"), ben.show())
	if err == nil && *serve {
		fmt.Println("Sign in as ada or ben, with any password: http://" + listener.Addr().String() + "/")
		<-ctx.Done()
	}
	return err
}

// user is somebody's browser.
type user struct {
	ctx       context.Context
	url, name string
}

// inbox is what the calls answer.
type inbox struct {
	Messages        []struct{ ID, Subject, Status string }
	Unread, Changed int
}

func (u user) show() error {
	count, err := u.call(http.MethodGet, "/count", "")
	if err != nil {
		return err
	}
	all, err := u.call(http.MethodGet, "/", "")
	fmt.Printf("%s has %d unread:\n", u.name, count.Unread)
	for _, m := range all.Messages {
		fmt.Printf("  %s (%s)\n", m.Subject, m.Status)
	}
	return err
}

// mark marks the message at that place in the list, the newest first.
func (u user) mark(place int, as string) error {
	all, err := u.call(http.MethodGet, "/", "")
	if err != nil {
		return err
	}
	done, err := u.call(http.MethodPost, "/mark", fmt.Sprintf(`{"as":%q,"ids":[%q]}`, as, all.Messages[place].ID))
	fmt.Printf("%s marks one as %s: %d changed.\n", u.name, as, done.Changed)
	return err
}

func (u user) call(method, path, body string) (answer inbox, err error) {
	req, err := http.NewRequestWithContext(u.ctx, method, u.url+path, strings.NewReader(body))
	if err != nil {
		return answer, err
	}
	req.SetBasicAuth(u.name, "as the application does it")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return answer, json.NewDecoder(resp.Body).Decode(&answer)
}
