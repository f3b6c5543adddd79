// Command survey-service asks the customers of a workshop how their visit was. Its
// dealer management system writes the visits that were closed into a CSV file, a
// scanner posts them to the service's own ingest endpoint (scanner.go), links go out
// as .eml files, customers answer in a browser, and complaints become tickets
// (service.go).
//
//	go run ./examples/survey-service   # serves on localhost and says what to open
package main

import (
	"cmp"
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
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/survey"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "`host:port` to serve on")
	dir := flag.String("dir", "demo/survey", "`folder` for the database and all files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr, *dir, os.Stdout); err != nil {
		log.Fatal("survey-service: ", err)
	}
}

// serve runs until ctx ends: on a second run it goes on with what it finds.
func serve(ctx context.Context, addr, dir string, w io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	var mu sync.Mutex
	tell := func(format string, args ...any) { // whole lines, also of several goroutines
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, format+"\n", args...)
	}
	site := "http://" + listener.Addr().String()
	g, err := openGarage(ctx, dir, site, tell, func(m channel.Message, file string) {
		tell("mail to %s: %s\n  %s", m.To, m.Subject, file)
	})
	if err != nil {
		return err
	}
	defer g.store.Close()
	server := &http.Server{Handler: g.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 20 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		if err := g.begin(ctx, site); err != nil {
			return err
		}
		return belfry.NewPoller(g.store, &belfry.Options{Interval: time.Second}, g.surveys, g.out).Run(ctx)
	})
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// begin publishes the survey, posts the visits, and says what to open.
func (g *garage) begin(ctx context.Context, site string) error {
	if err := g.publish(ctx); err != nil {
		return err
	}
	report, err := caller{site, g.token}.post(ctx, g.path(visitFile))
	if err != nil {
		return err
	}
	g.tell("%d visits posted from %s to %s: %d created, %d known already, %d failed, %d that no trigger wants.\n\nOpen these in a browser:",
		len(report.Items), g.path(visitFile), site, report.Created, report.Skipped, report.Failed, report.NoMatch)
	all, _, err := g.surveys.Support().Instances(ctx, "", survey.Selection{SurveyID: surveyID}, storage.Page{})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b survey.Instance) int { return cmp.Compare(a.CustomerRef, b.CustomerRef) })
	for _, i := range all {
		if i.Status == survey.StatusCompleted || i.Status == survey.StatusExpired {
			continue
		}
		link, err := g.surveys.Link(ctx, "", i.PublicID)
		if err != nil {
			return err
		}
		g.tell("  %s (%s): %s", i.CustomerRef, i.RecipientLocale, link)
	}
	g.tell(`
What follows from an answer is printed here. Press Ctrl-C to end; the next start goes on from there. For the administrator:

  %[2]s/admin/enter?token=%[3]s    # in the browser: what is to be handled
  %[2]s/admin/results/%[4]d

  curl %[1]s %[2]s/admin/responses.csv
  curl %[1]s %[2]s/admin/links/{id}    # the id is the name of its .eml file
`, "-H 'Authorization: Bearer "+g.token+"'", site, g.token, surveyID)
	return nil
}
