package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/belfry-go/belfry/internal/contender"
)

// match is a piece of work that sides do in turns, and the goals that it decides.
type match struct {
	title string
	sides []side
	goals []goal
}

// side does the work once and returns what it measured, by name.
type side struct {
	name string
	play func(ctx context.Context) (map[string]float64, error)
	// long work has no warm-up, and longRounds at most.
	long bool
}

const longRounds = 3

// patience is how long a side may take for a round: one that has lost a row
// would wait for it forever.
const patience = 10 * time.Minute

// scores are what a side measured in all rounds, by name.
type scores map[string][]float64

// rounds lets the sides take turns, after a round that does not count. The order is
// turned round each time, so that no side is always the second.
func (m match) rounds(ctx context.Context, n int, progress io.Writer) (map[string]scores, error) {
	all := map[string]scores{}
	for round := -1; round < n; round++ {
		order := slices.Clone(m.sides)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			if s.long && (round < 0 || round >= longRounds) {
				continue
			}
			values, err := s.within(ctx, patience)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", m.title, s.name, err)
			}
			fmt.Fprintf(progress, "%s, round %d: %s %s\n", m.title, round+1, s.name, line(values))
			if round >= 0 {
				all[s.name] = all[s.name].add(values)
			}
		}
	}
	return all, nil
}

// within plays, and gives up after a time.
func (s side) within(ctx context.Context, limit time.Duration) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	values, err := s.play(ctx)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return values, nil
}

func (s scores) add(values map[string]float64) scores {
	if s == nil {
		s = scores{}
	}
	for name, v := range values {
		s[name] = append(s[name], v)
	}
	return s
}

func line(values map[string]float64) string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	text := ""
	for _, name := range names {
		text += fmt.Sprintf(" %s %s", name, figure(values[name]))
	}
	return text
}

// median of an odd number is the middle one, of an even one the mean of two.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// figure writes a number with three or more digits that count.
func figure(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// matches are the comparisons of one run, in the order of the goals.
func (a *arena) matches(s sizes) []match {
	return []match{
		a.onPostgres(s, 1, "P1", "claim, handle, settle on PostgreSQL"),
		a.onPostgres(s, 4, "P2", "the same, 4 processes"),
		a.ensures(s),
		a.onSQLite(s),
		a.latency(s),
		a.growth(s),
		a.longTransaction(s),
		a.inMemory(s),
		a.idlePoller(s),
	}
}

const rate = "rows/s"

// onPostgres drains a backlog with some processes of each side.
func (a *arena) onPostgres(s sizes, processes int, id, about string) match {
	task := contender.Task{Rows: s.drain, Handlers: s.handlers}
	m := match{title: id, sides: []side{a.drainer(us, processes, task, a.postgres), a.drainer(usOnPgx, processes, task, a.postgres), a.drainer("river", processes, task, a.postgres)}}
	g := goal{id: id, about: about, unit: rate, floor: 2, target: 2.5, judge: ahead(rate, "river")}
	if processes == 1 {
		m.sides = append(m.sides, a.drainer("bare", 1, task, a.postgres))
		g.judge = with(g.judge, func(all map[string]scores) map[string]float64 {
			bare := median(all["bare"][rate])
			return map[string]float64{"bare_update_rows/s": bare, "share_of_bare_update": median(all[us][rate]) / bare}
		})
	}
	if processes > 1 {
		m.sides = append(m.sides, a.crowd(task))
		g.judge = with(g.judge, crowded)
	}
	m.goals = []goal{g, throughPgx(g, rate)}
	return m
}

// onSQLite drains a file, with what a power cut must not take.
func (a *arena) onSQLite(s sizes) match {
	task := contender.Task{Rows: s.sqlite, Handlers: s.handlers, Synchronous: "FULL"}
	few := task
	few.Handlers = 8 // more goroutines only wait for goqite's one connection
	return match{title: "P4",
		sides: []side{
			a.drainer(us, 1, task, a.file),
			a.drainer("goqite", 1, few, a.file), a.tuned("goqite", few),
			a.drainer("river-sqlite", 1, task, a.file), a.tuned("river-sqlite", task),
		},
		goals: []goal{
			{id: "P4-goqite", about: "claim, handle, settle on SQLite", unit: rate, floor: 20, target: 30, judge: with(ahead(rate, "goqite"), besideTuned("goqite"))},
			{id: "P4-river", about: "the same", unit: rate, floor: 10, target: 15, judge: with(ahead(rate, "river-sqlite"), besideTuned("river-sqlite"))},
		}}
}

// tuned is a peer's side with a setting that its documentation does not name.
func (a *arena) tuned(name string, t contender.Task) side {
	t.Tuned = true
	s := a.drainer(name, 1, t, a.file)
	s.name += ", tuned"
	return s
}

func besideTuned(peer string) func(map[string]scores) map[string]float64 {
	return func(all map[string]scores) map[string]float64 {
		tuned := median(all[peer+", tuned"][rate])
		return map[string]float64{"tuned_rows/s": tuned, "ratio_to_tuned": median(all[us][rate]) / tuned}
	}
}

func (a *arena) drainer(name string, processes int, t contender.Task, create func() (string, error)) side {
	return side{name: name, play: func(ctx context.Context) (map[string]float64, error) {
		return a.drainOnce(ctx, name, processes, t, create)
	}}
}

// drain lets n processes of one side work together until all rows are done, and
// returns the rows per second from the first go to the last end.
func (a *arena) drain(ctx context.Context, side string, n int, t contender.Task) (float64, error) {
	results, rows, err := a.drainAll(ctx, side, n, t)
	if err != nil {
		return 0, err
	}
	return float64(rows) / span(results).Seconds(), nil
}

// drainAll tells how many rows were done. Each row has to be reported once; more
// or fewer is an error, not a figure.
func (a *arena) drainAll(ctx context.Context, side string, n int, t contender.Task) ([]contender.Result, int, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the processes if one fails
	defer cancel()
	t.Work = "drain"
	processes := make([]*contender.Process, n)
	for i := range processes {
		p, err := contender.Start(ctx, a.command(side), t)
		if err != nil {
			return nil, 0, err
		}
		processes[i] = p
	}
	results, rows, err := together(processes, t.Rows, cancel)
	if err == nil {
		err = exactly(side, rows, t)
	}
	return results, rows, err
}

// exactly refuses what would be a figure of lost or repeated rows.
func exactly(side string, rows int, t contender.Task) error {
	if rows < t.Rows || rows > t.Rows && !t.AtLeast {
		return fmt.Errorf("%s: %d rows were done, of %d", side, rows, t.Rows)
	}
	return nil
}

// together starts the processes at once, stops them when all rows are done, and
// waits for what they say.
func together(processes []*contender.Process, rows int, fail func()) ([]contender.Result, int, error) {
	for _, p := range processes {
		if err := p.Go(); err != nil {
			return nil, 0, err
		}
	}
	var done atomic.Int64
	results := make([]contender.Result, len(processes))
	var g errgroup.Group
	for i, p := range processes {
		g.Go(func() (err error) {
			results[i], err = p.Wait(func(n int) {
				if before := done.Add(int64(n)) - int64(n); before < int64(rows) && before+int64(n) >= int64(rows) {
					for _, p := range processes {
						_ = p.Stop() // one that has ended needs no order
					}
				}
			})
			if err != nil {
				fail()
			}
			return err
		})
	}
	err := g.Wait()
	return results, int(done.Load()), err
}

// span is from the first beginning to the last end.
func span(results []contender.Result) contender.Result {
	all := results[0]
	for _, r := range results {
		all.Began, all.Ended = min(all.Began, r.Began), max(all.Ended, r.Ended)
	}
	return all
}

// nameOf is the name of a PostgreSQL database, or the path of a file.
func nameOf(database string) (name string, isFile bool) {
	u, err := url.Parse(database)
	if err != nil || u.Scheme == "" {
		return database, true
	}
	return strings.TrimPrefix(u.Path, "/"), false
}

// drainOnce is a whole round: an empty database, filled, drained, and dropped.
func (a *arena) drainOnce(ctx context.Context, side string, processes int, t contender.Task, create func() (string, error)) (map[string]float64, error) {
	return a.within(ctx, create, func(database string) (map[string]float64, error) {
		t.Database = database
		if err := a.fill(ctx, side, t); err != nil {
			return nil, err
		}
		r, err := a.drain(ctx, side, processes, t)
		return map[string]float64{rate: r}, err
	})
}
