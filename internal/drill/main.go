// Command drill plays bad days on real databases, a SQLite file and a private PostgreSQL,
// and compares the effect on all others with its bounds: a channel that hangs, a tenant
// that floods, a database that is away. `make drill` runs it; it is beside `make check`,
// since it takes up to 25 minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/benbjohnson/clock"
)

// wall is what days are measured by, and the clock of their stores unless they say
// otherwise.
var wall = clock.New()

func main() {
	if dsn := os.Getenv(childVariable); dsn != "" {
		exitOn(child(context.Background(), dsn))
		return
	}
	only := flag.String("only", "", "play only the days of these `names`, with commas between")
	on := flag.String("db", "", "play only on this `database`: sqlite or postgres")
	verbose := flag.Bool("v", false, "print the log of the pollers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := program{days: days(), sizes: fullSizes(os.Getenv("DRILL_FULL") == "1"), out: os.Stdout}
	if *verbose {
		p.log = os.Stderr
	}
	p.databases = []string{sqliteName, postgresName}
	exitOn(errors.Join(p.pick(*only, *on), p.play(ctx)))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "drill:", err)
		os.Exit(1)
	}
}

// The databases that days are played on.
const (
	sqliteName   = "sqlite"
	postgresName = "postgres"
)

// day is one bad day.
type day struct {
	name string
	// on are the databases that can have such a day; none: all.
	on []string
	// long days are for DRILL_FULL=1.
	long bool
	// idle days mostly wait: all databases have them at the same time.
	idle bool
	play func(ctx context.Context, g *ground) ([]figure, error)
}

func days() []day {
	return []day{
		{name: "hang", play: hang},
		{name: "block", play: block},
		{name: "flood", play: flood},
		{name: "refuse", play: refuse},
		{name: "away", idle: true, play: away},
		{name: "slots", on: []string{postgresName}, play: slots},
		{name: "kill", play: kill},
		{name: "tenants", play: tenants},
		{name: "lookback", on: []string{postgresName}, play: lookBack},
		{name: "long", long: true, play: long},
	}
}

// figure is what a day has measured, beside its bound.
type figure struct {
	bound string
	got   string
	ok    bool
}

// within holds a time against its bound.
func within(what string, got, bound time.Duration) figure {
	return figure{fmt.Sprintf("%s at most %v", what, bound), got.Round(time.Millisecond).String(), got <= bound}
}

// atMost holds a number against its bound.
func atMost[N int | float64](what string, got, bound N) figure {
	return figure{fmt.Sprintf("%s at most %v", what, bound), number(got), got <= bound}
}

// atLeast holds a number against its bound.
func atLeast[N int | float64](what string, got, bound N) figure {
	return figure{fmt.Sprintf("%s at least %v", what, bound), number(got), got >= bound}
}

func number[N int | float64](n N) string {
	if f, ok := any(n).(float64); ok {
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprint(n)
}

// none says that something must not happen.
func none(what string, got int) figure {
	return atMost(what, got, 0)
}

// program plays days and prints what they measured.
type program struct {
	days      []day
	databases []string
	sizes     sizes
	out       io.Writer
	log       io.Writer // nil: nowhere
}

// pick leaves only days and databases that are named, if any are.
func (p *program) pick(only, on string) error {
	names := strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range names {
		if !slices.ContainsFunc(p.days, func(d day) bool { return d.name == name }) {
			return fmt.Errorf("no day is named %q", name)
		}
	}
	if on != "" && !slices.Contains(p.databases, on) {
		return fmt.Errorf("no database is named %q", on)
	}
	p.days = slices.DeleteFunc(p.days, func(d day) bool { return len(names) > 0 && !slices.Contains(names, d.name) })
	p.databases = slices.DeleteFunc(p.databases, func(name string) bool { return on != "" && name != on })
	return nil
}

// errShort is the end of a program in which a day fell short.
var errShort = errors.New("a day fell short of its bound")

// play plays the days one after the other, and prints each when it is over on a database,
// or on both.
func (p *program) play(ctx context.Context) (err error) {
	g, err := newGround(p.sizes, p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	began, short := wall.Now(), false
	p.line("day", "database", "bound", "figure", "")
	for _, d := range p.days {
		for names := range slices.Chunk(p.on(d), d.atOnce()) {
			figures, err := g.playOn(ctx, names, d)
			if err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			for i, name := range names {
				for _, f := range figures[i] {
					short = short || !f.ok
					p.line(d.name, name, f.bound, f.got, verdict(f.ok))
				}
			}
		}
	}
	fmt.Fprintf(p.out, "\n%v in all\n", wall.Since(began).Round(time.Second))
	if short {
		return errShort
	}
	return nil
}

// on are the databases that a day is played on.
func (p *program) on(d day) (names []string) {
	for _, name := range p.databases {
		if (p.sizes.full || !d.long) && (len(d.on) == 0 || slices.Contains(d.on, name)) {
			names = append(names, name)
		}
	}
	return names
}

// atOnce is on how many databases a day is played at the same time.
func (d day) atOnce() int {
	if d.idle {
		return 2
	}
	return 1
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "FELL SHORT"
}

// line prints a row of the table as it comes.
func (p *program) line(day, database, bound, got, verdict string) {
	fmt.Fprintf(p.out, "%-9s  %-8s  %-75s  %10s  %s\n", day, database, bound, got, verdict)
}
