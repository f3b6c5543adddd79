// Command http-service is a small web service with reminders: bookings are made,
// moved and cancelled over HTTP, and each change and the reminder that follows
// from it are one transaction of the service's own, on its own pool (pgx through
// database/sql). Start as many replicas as you like.
//
//	go run . -play                                starts PostgreSQL, two replicas, a
//	                                              rolling restart, and counts the mails
//	go run . -dsn postgres://... -token secret    one replica
//
// It is a module of its own, so that the library does not depend on pgx. Run it
// in its folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // images without zone data are common
)

// settings are the flags.
type settings struct {
	dsn, addr, token, mailer, name string
	play                           bool
}

func main() {
	var s settings
	flag.StringVar(&s.dsn, "dsn", "", "PostgreSQL `URL`; with -play empty means a private server")
	flag.StringVar(&s.addr, "addr", "127.0.0.1:8080", "`host:port` to listen on")
	flag.StringVar(&s.token, "token", "", "bearer `token` that callers have to show")
	flag.StringVar(&s.mailer, "mailer", "", "`URL` that mails are posted to")
	flag.StringVar(&s.name, "name", "replica", "`name` of this replica in its output")
	flag.BoolVar(&s.play, "play", false, "play the whole story")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := serve
	if s.play {
		run = play
	}
	if err := run(ctx, s, os.Stdout); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "http-service:", err)
		os.Exit(1)
	}
}
