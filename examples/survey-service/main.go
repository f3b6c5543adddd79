// Command survey-service asks the customers of a workshop how their visit was. The
// dealer management system ("DMS") writes the visits that were closed into a CSV
// file, a scanner posts them to the service's own ingest endpoint, links go out as
// .eml files, customers answer in a browser, complaints become tickets, and every
// response goes to a data warehouse.
//
//	go run ./examples/survey-service        # serves on localhost and says what to open
//	go run ./examples/survey-service -play  # plays the whole story over HTTP, months in seconds
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// settings are the flags.
type settings struct {
	addr, dir, dsn string
	play           bool
}

func main() {
	var s settings
	flag.StringVar(&s.addr, "addr", "localhost:8080", "`host:port` to serve on")
	flag.StringVar(&s.dir, "dir", "", "`folder` for the database and all files; default demo/survey, and a temporary one with -play")
	flag.StringVar(&s.dsn, "dsn", "", "PostgreSQL `URL`, instead of an SQLite file in -dir")
	flag.BoolVar(&s.play, "play", false, "play the whole story, and say whether each step was as expected")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	run := serve
	if s.play {
		run = play
	}
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "survey-service:", err)
		os.Exit(1)
	}
}
