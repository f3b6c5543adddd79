package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/survey"
)

// serve runs until ctx ends: on a second run it goes on with what it finds.
func serve(ctx context.Context, s settings, w io.Writer) error {
	s.dir = cmp.Or(s.dir, "demo/survey")
	listener, site, err := listen(s.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	tell := printer(w)
	g, err := openGarage(ctx, s, nil, site, tell, slog.LevelWarn)
	if err != nil {
		return err
	}
	defer g.store.Close()
	if err := os.MkdirAll(g.path(warehouseFolder), 0o700); err != nil {
		return err
	}
	srv := server(g.handler())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		if err := g.begin(ctx, site, tell); err != nil {
			return err
		}
		return belfry.NewPoller(g.store, &belfry.Options{Interval: time.Second}, g.surveys).Run(ctx)
	})
	group.Go(func() error {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return srv.Shutdown(last)
	})
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// begin publishes the survey, exports and posts the visits, and says what to open.
func (g *garage) begin(ctx context.Context, site string, tell say) error {
	if _, err := g.publish(ctx); err != nil {
		return err
	}
	if err := exportVisits(g.path(visitFile)); err != nil {
		return err
	}
	report, err := scanner{client{site, g.token}}.post(ctx, g.path(visitFile))
	if err != nil {
		return err
	}
	tell("%d visits posted from %s to %s: %d created, %d known already, %d failed, %d that no trigger wants.\n",
		len(report.Items), g.path(visitFile), site, report.Created, report.Skipped, report.Failed, report.NoMatch)
	if err := g.listOpen(ctx, tell); err != nil {
		return err
	}
	tell("%s", help(site, g))
	return nil
}

// listOpen prints the links that wait for an answer.
func (g *garage) listOpen(ctx context.Context, tell say) error {
	all, err := g.surveys.Instances(ctx, "", survey.Selection{SurveyID: surveyID}, survey.Page{})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b survey.Instance) int { return cmp.Compare(a.CustomerRef, b.CustomerRef) })
	tell("Open these in a browser:")
	open := 0
	for _, i := range all {
		if i.Status == survey.StatusCompleted || i.Status == survey.StatusExpired {
			continue
		}
		link, err := g.surveys.Link(ctx, "", i.PublicID)
		if err != nil {
			return err
		}
		open++
		tell("  %s (%s): %s", i.CustomerRef, i.RecipientLocale, link)
	}
	if open == 0 {
		tell("  none, they are all answered: add rows to %s and start again.", g.path(visitFile))
	}
	return nil
}

func help(site string, g *garage) string {
	auth := "-H 'Authorization: Bearer " + g.token + "'"
	return fmt.Sprintf(`
What follows from an answer is printed here. Take %[3]s away, and responses wait
until it is back. Press Ctrl-C to end; the next start goes on from there. For the administrator:

  curl %[1]s %[2]s/admin/responses.csv
  curl %[1]s %[2]s/admin/links/{id}    # the id is the name of its .eml file
  curl %[1]s -X POST '%[2]s/admin/dead-letters/warehouse/replay?reason=it+is+back'
`, auth, site, g.path(warehouseFolder))
}

// printer prints whole lines, also of several goroutines.
func printer(w io.Writer) say {
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, format+"\n", args...)
	}
}
