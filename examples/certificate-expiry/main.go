// Command certificate-expiry shows Belfry at work in a school that reminds its
// people before their certificates expire. Time runs fast, a worker is killed
// in the middle of sending, a certificate is renewed, and in the end nothing was
// lost and nothing sent twice. Run it again on the same files: it sends nothing.
//
//	go run ./examples/certificate-expiry
//	go run ./examples/certificate-expiry -dsn postgres://user@host/database
//	go run ./examples/certificate-expiry -smtp localhost:1025
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

// The months that pass in the demonstration.
var (
	firstDay = time.Date(2026, 2, 16, 6, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
)

// settings are the flags, and what the parent tells its worker.
type settings struct {
	db, out, dsn, smtp string

	worker bool
	now    string // the worker's clock starts here
	stall  bool   // the worker stops for ever in a call, so that it can be killed there
}

func main() {
	var s settings
	flag.StringVar(&s.db, "db", "demo/school.db", "SQLite `file`")
	flag.StringVar(&s.out, "out", "demo/mail", "`folder` for the mails, one .eml each")
	flag.StringVar(&s.dsn, "dsn", "", "PostgreSQL `URL`, instead of -db")
	flag.StringVar(&s.smtp, "smtp", "", "`host:port` of a mail server, instead of -out")
	flag.BoolVar(&s.worker, "worker", false, "for the program itself: run as its worker")
	flag.StringVar(&s.now, "now", "", "for the program itself: the worker's time")
	flag.BoolVar(&s.stall, "stall", false, "for the program itself: the worker stops in a call")
	flag.Parse()

	run := show
	if s.worker {
		run = work
	}
	if err := run(context.Background(), s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "certificate-expiry:", err)
		os.Exit(1)
	}
}
