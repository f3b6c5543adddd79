// Command inbox shows in-app messages: a school's application tells two people
// about a room that has changed, each reads in a browser of their own, and what
// one reads stays unread for the other. It plays both over HTTP.
//
//	go run ./examples/inbox
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage/sqlite"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "inbox:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "inbox")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	clk := clock.NewMock() // a real program leaves it out
	clk.Set(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	store, err := sqlite.Open(ctx, filepath.Join(dir, "school.db"), &sqlite.Options{Clock: clk})
	if err != nil {
		return err
	}
	defer store.Close()

	s := school{w: w, clk: clk, out: notify.New(store, nil)}
	s.reminders = automation.New(store, s.out, nil)
	s.reminders.Register(automation.ReminderType{
		Name: "room", Immediate: rooms{}, Recipients: automation.RecipientFunc(nobody),
		Template: notify.Template{Subject: "Class {{.Class}} is in room {{.Room}}", Text: "It was moved this morning."},
	})
	s.poller = belfry.NewPoller(store, nil, s.reminders, s.out)
	if s.url, err = serve(s.out); err != nil {
		return err
	}
	return s.play(ctx)
}

// serve mounts the inbox behind the application's own idea of who is signed in.
func serve(out *notify.Notifier) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.Handle("/inbox/", http.StripPrefix("/inbox", notifyhttp.Inbox(out, signedIn)))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // until the program ends
	return "http://" + listener.Addr().String() + "/inbox", nil
}

// signedIn is where a real application looks at its session.
func signedIn(r *http.Request) (notifyhttp.Owner, error) {
	user, _, ok := r.BasicAuth()
	if !ok {
		return notifyhttp.Owner{}, errors.New("nobody is signed in")
	}
	return notifyhttp.Owner{Inbox: "user:" + user}, nil
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

func nobody(context.Context, automation.Due) ([]notify.Recipient, error) { return nil, nil }

// page is what the inbox answers.
type page struct {
	Messages []struct{ ID, Subject, Status string }
	Unread   int
	Changed  int
}

func decode(r io.Reader) (p page, err error) {
	err = json.NewDecoder(r).Decode(&p)
	return p, err
}
