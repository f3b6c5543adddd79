package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// compare plays the matches, prints the table, and writes $BENCH_JSON. BENCH_ONLY
// picks matches by their names ("P1,P4"), BENCH_QUICK=1 makes them short.
func compare(ctx context.Context) (err error) {
	s := sizesFor(os.Getenv("BENCH_QUICK") == "1")
	a, err := newArena(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	only := strings.FieldsFunc(os.Getenv("BENCH_ONLY"), func(r rune) bool { return r == ',' || r == ' ' })
	var entries []entry
	for _, m := range a.matches(s) {
		if len(only) > 0 && !slices.Contains(only, m.title) {
			continue
		}
		all, err := m.rounds(ctx, s.rounds, os.Stderr)
		if err != nil {
			return err
		}
		for _, g := range m.goals {
			entries = append(entries, g.entry(g.judge(all)))
		}
	}
	if path := os.Getenv("BENCH_JSON"); path != "" {
		if err := writeJSON(path, entries); err != nil {
			return err
		}
	}
	fmt.Println()
	return table(os.Stdout, entries)
}
