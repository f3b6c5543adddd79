// Command campaign sends a voucher to 100,000 members from a CSV file that it
// makes itself. Its worker is killed in the middle and goes on; an urgent alarm
// overtakes the crowd; in the end everybody has one mail, and nobody two. It
// exits with 0 only if that is exactly so. Run it again on the same files: it
// sends nothing.
//
//	go run ./examples/campaign
//	go run ./examples/campaign -n 5000
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

// settings are the flags, and what the parent tells its worker.
type settings struct {
	dir string
	n   int

	worker bool
	now    string // the worker's clock starts here
	stall  int    // the worker stops for ever in this call, so that it can be killed there
}

func main() {
	var s settings
	flag.StringVar(&s.dir, "dir", "demo/campaign", "`folder` for the database, the members and the journal of mails")
	flag.IntVar(&s.n, "n", 100_000, "`number` of members in the file, at least 5000")
	flag.BoolVar(&s.worker, "worker", false, "for the program itself: run as its worker")
	flag.StringVar(&s.now, "now", "", "for the program itself: the worker's time")
	flag.IntVar(&s.stall, "stall", 0, "for the program itself: the worker stops in this call")
	flag.Parse()

	run := show
	if s.worker {
		run = work
	}
	if err := run(context.Background(), s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(1)
	}
}
