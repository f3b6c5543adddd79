// Command compose is a program to watch: it sends a mail every second through the services
// of compose.yml, and shows its metrics to Prometheus.
//
//	docker compose up --detach --wait
//	go run .
//
// Then the mails are at http://localhost:8025, the dashboard at http://localhost:3000 and the
// alerts at http://localhost:9090/alerts. It is a module of its own, so that the library does
// not depend on OpenTelemetry's SDK.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/smtp"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/postgres"
)

func main() {
	dsn := flag.String("dsn", "postgres://belfry:belfry@localhost:5432/belfry?sslmode=disable", "PostgreSQL `URL`")
	server := flag.String("mail", "localhost:1025", "`host:port` of the mail server, without TLS")
	addr := flag.String("metrics", ":9464", "`host:port` for Prometheus, which comes from a container")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dsn, *server, *addr); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal("compose: ", err)
	}
}

// run works until ctx ends.
func run(ctx context.Context, dsn, server, addr string) error {
	store, err := postgres.Open(ctx, dsn, &postgres.Options{Environment: "compose"})
	if err != nil {
		return err
	}
	defer store.Close()
	mail, err := smtp.New(server, &smtp.Options{From: "Belfry <office@school.example>", TLS: smtp.NoTLS})
	if err != nil {
		return err
	}
	defer mail.Close()
	p, err := newProgram(store, mail)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	site := &http.Server{Handler: p.metrics, ReadHeaderTimeout: 5 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.poller.Run(ctx) })
	group.Go(func() error { return p.ask(ctx, time.NewTicker(time.Second)) })
	group.Go(func() error {
		if err := site.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error { <-ctx.Done(); return site.Close() })
	return group.Wait()
}

// program is one on a store, with its metrics.
type program struct {
	out     *notify.Notifier
	poller  *belfry.Poller
	metrics http.Handler
}

func newProgram(store storage.Store, mail channel.Channel) (*program, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		return nil, err
	}
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	out := notify.New(store, nil, mail)
	out.Register(notify.Type{Name: "tick", Renderer: notify.Template{Subject: "A mail of {{.Recipient.Name}}"}})
	reminders := automation.New(store, out, &automation.Options{MeterProvider: meters})
	return &program{
		out: out, metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}),
		poller: belfry.NewPoller(store, &belfry.Options{MeterProvider: meters}, reminders, out),
	}, nil
}

// ask wants a mail at each tick.
func (p *program) ask(ctx context.Context, every *time.Ticker) error {
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-every.C:
			if err := p.want(ctx, now); err != nil {
				fmt.Fprintln(os.Stderr, "compose:", err)
			}
		}
	}
}

// want wants the mail of a second, once.
func (p *program) want(ctx context.Context, now time.Time) error {
	second := now.UTC().Format(time.RFC3339)
	_, err := p.out.Notify(ctx, notify.Job{
		Type: "tick", RowKey: "tick:" + second,
		Recipients: []notify.Recipient{{Ref: "sam", Name: second, Channel: mailKey, Address: "sam@example.com"}},
	})
	return err
}

const mailKey = "email:smtp"
