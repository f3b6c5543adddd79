package cli_test

import (
	"context"
	"os"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/cli"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/sqlite"
	"github.com/belfry-go/belfry/support"
	"github.com/belfry-go/belfry/survey"
)

// hostApp is a program with Belfry in it.
type hostApp struct {
	Store     *sqlite.Store
	Reminders *automation.Scheduler
	Out       *notify.Notifier
	Surveys   *survey.Service
	Poller    *belfry.Poller
}

func newApp(ctx context.Context) (*hostApp, error) {
	store, err := sqlite.Open(ctx, "school.db", nil)
	if err != nil {
		return nil, err
	}
	out := notify.New(store, nil)
	s := &hostApp{Store: store, Out: out, Reminders: automation.New(store, out, nil), Surveys: survey.New(store, out, nil)}
	s.Poller = belfry.NewPoller(store, nil, s.Reminders, out, s.Surveys)
	return s, nil
}

// The main function that docs/support.md shows.
func ExampleMain() {
	var samples []cli.Sample
	os.Exit(cli.Main(&cli.App{Name: "school belfry", Open: func(ctx context.Context, migrate bool) (*cli.Services, error) {
		app, err := newApp(ctx)
		if err != nil {
			return nil, err
		}
		return &cli.Services{
			Options: support.Options{Store: app.Store, Automation: app.Reminders, Notify: app.Out, Survey: app.Surveys},
			Poller:  app.Poller, Samples: samples, Close: app.Store.Close,
		}, nil
	}}))
}
