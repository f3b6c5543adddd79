package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
)

// console shows the demonstration's own database in a browser, as it was on the last
// day, until ctx ends.
func console(ctx context.Context, s settings, w io.Writer) error {
	sch := open(ctx, s, lastDay)
	defer sch.store.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.console)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: sch.site(), ReadHeaderTimeout: 5 * time.Second}
	fmt.Fprintf(w, "Open http://%s/ and look for teacher-017. Press Ctrl-C to end.\n", listener.Addr())
	done := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer done()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// site lets every caller look and none act. A real program asks who is calling.
func (s *school) site() http.Handler {
	desk := support.New(support.Options{Store: s.store, Automation: s.reminders, Notify: s.out, Directory: s.people})
	return supporthttp.New(desk, supporthttp.Options{
		Note: "demo: everyone can look, actions are off",
		Authorise: func(*http.Request) (supporthttp.Caller, error) {
			return supporthttp.Caller{Actor: "demonstration", Read: true, Personal: true}, nil
		},
	})
}

// people finds who has a certificate.
func (s *school) people(_ context.Context, _ support.Scope, text string) (found []support.Person, _ error) {
	seen := map[string]bool{}
	for _, c := range s.certificates {
		if strings.Contains(c.Person, text) && !seen[c.Person] {
			seen[c.Person] = true
			found = append(found, support.Person{Ref: c.Person, Name: c.Person})
		}
	}
	return found, nil
}
