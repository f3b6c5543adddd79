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
	"github.com/belfry-go/belfry/survey"
)

// What a worker process is told through its environment.
const (
	// run, post, mails, digest, tick, guarded, oldmail and oldlog, each with drain behind it as
	// well; move, erase, prune.
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
	if os.Getenv(roleVariable) == "prune" {
		return pruning(ctx, d, by)
	}
	h, err := d.open(ctx, os.Getenv(dsnVariable), by)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	role, program := os.Getenv(roleVariable), services
	if strings.HasPrefix(role, "tick") {
		return tick(ctx, surveys(h.Store, os.Getenv(providerVariable)), role == "tickdrain")
	}
	if role == "erase" {
		return erasing(ctx, h.Store, os.Getenv(providerVariable))
	}
	if strings.HasPrefix(role, "old") || role == "move" {
		return beside(ctx, role, d, h)
	}
	if strings.HasPrefix(role, "post") {
		program = post
	}
	if strings.HasPrefix(role, "mails") {
		program = func(store storage.Store, provider string) (*automation.Scheduler, *notify.Notifier) {
			return mails(store, d.mails(provider))
		}
	}
	if strings.HasPrefix(role, "digest") {
		program = digests
	}
	if strings.HasPrefix(role, "guarded") {
		program = guarded
	}
	reminders, out := program(h.Store, os.Getenv(providerVariable))
	poller := belfry.NewPoller(h.Store, &belfry.Options{
		Batch: 40, Interval: 20 * time.Millisecond, Concurrency: 4,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}, reminders, out)
	fmt.Println("ready")
	if strings.HasSuffix(role, "drain") {
		return poller.Drain(ctx)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	_ = poller.Run(ctx)
	return nil
}

// surveys are the host's program for links.
func surveys(store storage.Store, provider string) *survey.Service {
	return survey.New(store, &survey.Options{
		SurveyURL: "https://host.example/s/{token}", InDoubt: notify.AssumeSent, // so that no send is made twice
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}, &client{url: provider})
}

// tick is the worker process of a host with a timer of its own: it ticks until it
// is killed, or until it finds nothing more.
func tick(ctx context.Context, s *survey.Service, drain bool) error {
	fmt.Println("ready")
	alive := make(chan struct{})
	go func() {
		defer close(alive)
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	for {
		r, err := s.PollOnce(ctx, 40)
		if err != nil || drain && r.Processed == 0 {
			return err
		}
		select {
		case <-alive:
			return nil
		case <-clock.New().After(5 * time.Millisecond):
		}
	}
}
