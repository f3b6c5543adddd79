package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/storage/postgres"
)

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
