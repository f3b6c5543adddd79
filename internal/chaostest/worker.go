package chaostest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// What a worker process is told through its environment.
const (
	// run, post, mails and surveys, each with drain behind it as well; drain; erase.
	roleVariable     = "BELFRY_CHAOS_ROLE"
	driverVariable   = "BELFRY_CHAOS_DRIVER"
	dsnVariable      = "BELFRY_CHAOS_DSN"
	providerVariable = "BELFRY_CHAOS_PROVIDER"
	offsetVariable   = "BELFRY_CHAOS_OFFSET"
)

// shifted is the machine's clock moved ahead, so that leases and back-offs of a
// killed process are over when the next one starts.
type shifted struct {
	clock.Clock
	by time.Duration
}

func (c shifted) Now() time.Time                  { return c.Clock.Now().Add(c.by) }
func (c shifted) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c shifted) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }
func (c shifted) WithDeadline(ctx context.Context, d time.Time) (context.Context, context.CancelFunc) {
	return c.Clock.WithDeadline(ctx, d.Add(-c.by))
}

// services are the host's program: one reminder type, one channel.
func services(store storage.Store, provider string) (*automation.Scheduler, *notify.Notifier) {
	out := notify.New(store, nil, &client{url: provider})
	reminders := automation.New(store, out, nil)
	reminders.Register(automation.ReminderType{
		Name:     "visit",
		Template: notify.Template{Subject: "Your visit on {{.TargetDate}}"},
		Recipients: automation.RecipientFunc(func(_ context.Context, d automation.Due) ([]notify.Recipient, error) {
			return []notify.Recipient{{Ref: d.Source.ID, Channel: channelKey, Address: d.Source.ID + "@example.com"}}, nil
		}),
	})
	return reminders, out
}

// work is the worker process: it polls until its standard input ends, or, as
// the role "drain", until it finds nothing more.
func work(d Driver) (err error) {
	by, err := time.ParseDuration(os.Getenv(offsetVariable))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h, err := d.open(ctx, os.Getenv(dsnVariable), by)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	role, drains := strings.CutSuffix(os.Getenv(roleVariable), "drain")
	provider := os.Getenv(providerVariable)
	if role == "erase" {
		return erasing(ctx, h.Store, provider)
	}
	program, tells := programs(role, h.Store, provider)
	poller := belfry.NewPoller(h.Store, &belfry.Options{
		Batch: 40, Interval: 20 * time.Millisecond, Concurrency: 4,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}, program...)
	fmt.Println("ready")
	if drains {
		return errors.Join(tells(ctx), poller.Drain(ctx))
	}
	go func() {
		if err := tells(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
		}
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	_ = poller.Run(ctx)
	return nil
}

// programs are the services of a role, and what it does beside polling.
func programs(role string, store storage.Store, provider string) ([]belfry.Service, func(context.Context) error) {
	if role == "surveys" {
		surveys, out := asks(store, provider)
		return []belfry.Service{surveys, out}, func(ctx context.Context) error { return tell(ctx, surveys) }
	}
	program := map[string]func(storage.Store, string) (*automation.Scheduler, *notify.Notifier){
		"run": services, "": services, "post": post, "mails": mails,
	}[role]
	reminders, out := program(store, provider)
	return []belfry.Service{reminders, out}, func(context.Context) error { return nil }
}
