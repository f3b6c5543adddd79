// Command weekly-report moves report mails from an old scheduler to Belfry, as
// docs/migrating.md describes it: both run side by side on one database, through
// stages 0 to 4 and back to 3, while eleven weeks pass in seconds. Four branches in
// four zones get two reports each, the clocks change in three of them, and some
// things go wrong. The mails are counted at the end, stage by stage: it exits with
// 0 only if none was doubled and none is missing.
//
//	go run ./examples/weekly-report
//	go run ./examples/weekly-report -out mails -db reports.db
//	go run ./examples/weekly-report -dsn postgres://user@host/database
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/benbjohnson/clock"
)

// settings are the flags.
type settings struct{ db, dsn, out string }

func main() {
	var s settings
	flag.StringVar(&s.db, "db", "", "keep the SQLite database in this new `file`")
	flag.StringVar(&s.dsn, "dsn", "", "PostgreSQL `URL` of an empty database, instead of SQLite")
	flag.StringVar(&s.out, "out", "", "keep the mails in this new `folder`, one .eml each")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, s); err != nil {
		fmt.Fprintln(os.Stderr, "weekly-report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, s settings) error {
	dir, err := os.MkdirTemp("", "weekly-report")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for path, name := range map[*string]string{&s.db: "reports.db", &s.out: "mail"} {
		if *path == "" {
			*path = filepath.Join(dir, name)
		} else if _, err := os.Stat(*path); err == nil {
			return fmt.Errorf("%s exists: the story begins with nothing", *path)
		}
	}
	clk := clock.NewMock() // a real program leaves it out
	clk.Set(firstDay)
	store, err := openStore(ctx, s, clk)
	if err != nil {
		return err
	}
	defer store.Close()
	old, err := newOldScheduler(ctx, store.DB(), s)
	if err != nil {
		return err
	}
	story := &story{w: w, clk: clk, old: old, new: newScheduler(store, s.out), mails: s.out, ledger: newLedger()}
	return story.play(ctx)
}
