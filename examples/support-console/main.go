// Command support-console opens the console of a school's support desk, on SQLite, with
// three weeks of sample data: reminders of certificates, mails that arrived, bounced, were
// refused or have an unknown outcome, and surveys. It goes on working while you look.
//
//	go run ./examples/support-console          # says what to open in a browser
//	go run ./examples/support-console -blind   # the same, without the right to see personal data
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/benbjohnson/clock"
	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/support/supporthttp"
	"github.com/belfry-go/belfry/survey/surveyhttp"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "`host:port` to serve on")
	dir := flag.String("dir", "demo/support", "`folder` for the database")
	blind := flag.Bool("blind", false, "hide personal data")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr, *dir, *blind, os.Stdout); err != nil {
		log.Fatal("support-console: ", err)
	}
}

// demonstration gives everyone full access, and says so on every page. A real program
// asks who is calling: see [supporthttp.Options].
func (s *school) demonstration(blind bool) supporthttp.Options {
	return supporthttp.Options{
		Note: "demo: full access for everyone", Pages: s.pages(),
		Authorise: func(*http.Request) (supporthttp.Caller, error) {
			return supporthttp.Caller{Actor: "demonstration", Read: true, Act: support.Actions(), Personal: !blind}, nil
		},
	}
}

// pages are the previews of what the school writes, and what its surveys say.
func (s *school) pages() map[string]http.Handler {
	sam := notify.Recipient{Ref: "sam", Name: "Sam"}
	return map[string]http.Handler{
		"previews": notifyhttp.Previews(s.out, notifyhttp.PreviewsOptions{
			Authorise: func(*http.Request) (notifyhttp.Caller, error) { return notifyhttp.Caller{Inbox: "user:desk"}, nil },
			Samples:   []notifyhttp.Sample{{Job: notify.Job{Type: "timetable"}, Recipient: sam}},
		}),
		"results": surveyhttp.Results(s.surveys, func(*http.Request) (surveyhttp.Caller, error) { return surveyhttp.Caller{Results: true}, nil }, nil),
	}
}

// open is the school on a database in a folder, with the machine's clock or that of its history.
func open(ctx context.Context, dir string, clk driver.Clock) (*school, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "school.db"), &sqlite.Options{Clock: clk})
	if err != nil {
		return nil, err
	}
	return newSchool(store), nil
}

// serve makes the sample data where there are none, and runs until ctx ends.
func serve(ctx context.Context, addr, dir string, blind bool, w io.Writer) error {
	if _, err := os.Stat(filepath.Join(dir, "school.db")); errors.Is(err, os.ErrNotExist) {
		past := clock.NewMock()
		past.Set(time.Now().UTC().Truncate(24 * time.Hour).Add(-weeks + 9*time.Hour))
		if err := history(ctx, dir, past); err != nil {
			return err
		}
	}
	s, err := open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer s.store.Close()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/support/", supporthttp.New(s.desk, s.demonstration(blind)))
	mux.Handle("/{$}", http.RedirectHandler("/support/", http.StatusFound))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 20 * time.Second}
	fmt.Fprintf(w, "Open http://%s/support/ and look for ada, ben, cem, dia, eve or fay. Press Ctrl-C to end.\n", listener.Addr())
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		return belfry.NewPoller(s.store, &belfry.Options{Interval: time.Second}, s.reminders, s.out, s.surveys).Run(ctx)
	})
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
