// Command bench compares Belfry with its peers on one machine in one run; see
// README.md for the rules.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/bench/belfry"
	"github.com/belfry-go/belfry/bench/goqite"
	"github.com/belfry-go/belfry/bench/river"
	"github.com/belfry-go/belfry/internal/contender"
)

var contenders = map[string]map[string]contender.Work{
	"bare":   belfry.Bare,
	us:       belfry.Works,
	usOnPgx:  belfry.OnPgx,
	"goqite": goqite.Works,
	"river":  river.Works,
}

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 0:
		return compare(context.Background())
	case len(args) == 2 && args[0] == "contender":
		return contender.Serve(os.Stdin, os.Stdout, contenders[args[1]])
	case len(args) == 3 && args[0] == "draw":
		return draw(args[1], args[2])
	}
	return errors.New("usage: bench, or bench draw goals.json folder")
}

// compare plays the matches, prints the table, and writes $BENCH_JSON. BENCH_ONLY
// picks matches by their names ("P1,P4"), BENCH_QUICK=1 makes them short.
func compare(ctx context.Context) (err error) {
	s := sizesFor(os.Getenv("BENCH_QUICK") == "1")
	a, err := newArena(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	matches, err := pick(a.matches(s), os.Getenv("BENCH_ONLY"))
	if err != nil {
		return err
	}
	entries, err := playAll(ctx, matches, s.rounds, os.Stderr)
	if err != nil {
		return err
	}
	if path := os.Getenv("BENCH_JSON"); path != "" {
		if err := writeJSON(path, entries); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stdout)
	return table(os.Stdout, entries)
}

// pick returns the matches that are named, or all if none is.
func pick(matches []match, names string) ([]match, error) {
	only := strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
	if len(only) == 0 {
		return matches, nil
	}
	var picked []match
	for _, name := range only {
		i := slices.IndexFunc(matches, func(m match) bool { return m.title == name })
		if i < 0 {
			return nil, fmt.Errorf("no match is named %q", name)
		}
		picked = append(picked, matches[i])
	}
	return picked, nil
}

// playAll plays one match after the other, and judges their goals.
func playAll(ctx context.Context, matches []match, rounds int, progress io.Writer) ([]entry, error) {
	var entries []entry
	for _, m := range matches {
		all, err := m.rounds(ctx, rounds, progress)
		if err != nil {
			return nil, err
		}
		for _, g := range m.goals {
			entries = append(entries, g.entry(g.judge(all)))
		}
	}
	return entries, nil
}

// sizes say how much is done in a round.
type sizes struct {
	rounds   int
	drain    int // P1 to P3
	sqlite   int // P4
	samples  int // P5
	small    int // P6
	large    int // P6
	long     int // P7
	memory   int // P11
	idle     int // P12, seconds
	handlers int
}

func sizesFor(quick bool) sizes {
	if quick {
		return sizes{rounds: 3, drain: 30_000, sqlite: 5_000, samples: 100, small: 10_000, large: 200_000, long: 100_000, memory: 100_000, idle: 10, handlers: 2000}
	}
	return sizes{rounds: 5, drain: 100_000, sqlite: 20_000, samples: 300, small: 10_000, large: 1_000_000, long: 600_000, memory: 100_000, idle: 30, handlers: 2000}
}
