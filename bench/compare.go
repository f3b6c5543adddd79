package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
