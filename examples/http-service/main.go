// Command http-service is a small web service with reminders: bookings are made,
// moved and cancelled over HTTP, and each change and the reminder that follows
// from it are one transaction of the service's own, on its own pool (pgx through
// database/sql). Start as many replicas as you like; its test starts two, restarts
// them one by one, and counts the mails.
//
//	go run . -dsn postgres://... -token secret -mailer http://...
//
// It is a module of its own, so that the library does not depend on pgx. Run it
// in its folder.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // images without zone data are common

	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/storage/postgres"
)

// settings are the flags.
type settings struct{ dsn, addr, token, mailer string }

func main() {
	var s settings
	flag.StringVar(&s.dsn, "dsn", "", "PostgreSQL `URL`")
	flag.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`host:port` to listen on")
	flag.StringVar(&s.token, "token", "", "bearer `token` that callers have to show")
	flag.StringVar(&s.mailer, "mailer", "", "`URL` that mails are posted to")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, s, os.Stdout); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "http-service:", err)
		os.Exit(1)
	}
}

// serve is one replica, until ctx ends: then it takes no more requests, finishes
// those that run, and gives its due rows back to the others.
func serve(ctx context.Context, s settings, w io.Writer) error {
	db, err := sql.Open("pgx", s.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, bookingTable); err != nil {
		return err
	}
	store, err := postgres.New(ctx, db, &postgres.Options{Migrate: postgres.MigrateAuto})
	if err != nil {
		return err
	}
	defer store.Close()
	reminders, out := newReminders(store, db, s.mailer)
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "listening on", listener.Addr())

	server := &http.Server{
		Handler:           api{db: db, store: store, reminders: reminders, token: s.token}.handler(),
		ReadHeaderTimeout: 5 * time.Second,
	}
	poller := belfry.NewPoller(store, &belfry.Options{Interval: 200 * time.Millisecond}, reminders, out)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return poller.Run(ctx) })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(last)
	})
	return group.Wait()
}
