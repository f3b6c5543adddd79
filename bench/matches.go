package main

import (
	"context"

	"github.com/belfry-go/belfry/internal/contender"
)

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
	m := match{title: id, sides: []side{a.drainer(us, processes, task, a.postgres), a.drainer("river", processes, task, a.postgres)}}
	g := goal{id: id, about: about, unit: rate, floor: 1.8, target: 2.5, judge: ahead(rate, "river")}
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
	m.goals = []goal{g}
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
			{id: "P4-goqite", about: "claim, handle, settle on SQLite", unit: rate, floor: 4, target: 6, judge: with(ahead(rate, "goqite"), besideTuned("goqite"))},
			{id: "P4-river", about: "the same", unit: rate, floor: 10, target: 20, judge: with(ahead(rate, "river-sqlite"), besideTuned("river-sqlite"))},
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
