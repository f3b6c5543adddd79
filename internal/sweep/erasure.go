package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// request is one erasure, until it is done with the person in it. DueOn is when to go on.
type request struct {
	driver.Due
	Person   Person    `db:"person,json,address"` // empty once it is done
	Progress progress  `db:"progress,json,plain"`
	BegunOn  time.Time `db:"begun_on,fixed"`
	EndedOn  time.Time `db:"ended_on"`
}

// progress is how far an erasure has come: behind an id of a way of a rule.
type progress struct {
	// Parts are the domains that it goes through: a process without one of them leaves
	// the erasure alone.
	Parts []string `json:"parts"`
	Sweep int      `json:"sweep"` // 0: the first
	Rule  int      `json:"rule"`  // of those of all parts
	Way   int      `json:"way"`
	After int64    `json:"after"`
	// Waiting are the ids of rows, by table, that workers had in this sweep, and Left those
	// of the last one.
	Waiting map[string][]int64 `json:"waiting,omitempty"`
	Left    map[string][]int64 `json:"left,omitempty"`
	Tables  map[string]Count   `json:"tables"`
}

var requests = driver.Define[request]("erasure").Grows(driver.WithEntities).
	Kept(driver.Always, "that a person was erased and when, but not who").
	Erased("emptied at its own end")

// Any reports whether there was ever an erasure.
func Any(ctx context.Context, from driver.Reader) (bool, error) {
	some, err := requests.Everywhere().Find(ctx, from, driver.Query{Columns: []string{"status"}, Limit: 1, Unordered: true})
	return len(some) > 0, err
}

// The statuses of an erasure.
const (
	StatusOpen    = "Open"
	StatusLanding = "Landing" // what was under way is looked for again
	StatusDone    = "Done"
)

// landing is how long after a sweep the next one comes, for what was under way: longer
// than a worker takes.
const landing = time.Hour

func (e *Eraser) load(ctx context.Context, scope storage.Scope, id string) (r *request, err error) {
	err = e.store.View(ctx, func(from driver.Reader) (err error) {
		r, err = requests.Get(ctx, from, scope, id)
		return err
	})
	return r, err
}

// next goes through one page of one way, in one transaction with the place behind it.
func (e *Eraser) next(ctx context.Context, r *request) error {
	s, now := Subject{Scope: r.Scope, Person: r.Person, again: r.Progress.Left}, driver.Now(e.store)
	next := *r
	next.Progress = r.Progress.clone()
	if r.Progress.atBegin() && e.hooks.Entities != nil {
		var err error // there may be more of them since the last sweep
		if s, err = e.subject(ctx, r.Scope, r.Person); err != nil {
			return err
		}
		s.again = r.Progress.Left
		next.Person = s.Person.compact()
	}
	p := &next.Progress
	for p.Rule < len(e.rules) && p.Way >= e.rules[p.Rule].ways(s) {
		p.Rule, p.Way = p.Rule+1, 0
	}
	if p.Rule >= len(e.rules) {
		return e.sweepOver(ctx, &next, now)
	}
	rule := e.rules[p.Rule]
	step, err := rule.plan(ctx, e.store, At{Now: now, subject: s}, p.Way, p.After)
	if err != nil {
		return fmt.Errorf("%s: %w", rule.Table, err)
	}
	if p.After = step.next; step.next == 0 && !step.again {
		p.Way++
	}
	p.leave(rule.Table, step.with(Wait))
	err = e.commit(ctx, step, func(got applied) request {
		if got.first {
			return *r // the step is taken again
		}
		behind := next // the transaction may run again
		behind.Progress = next.Progress.clone()
		behind.Progress.leave(rule.Table, got.lost)
		behind.Progress.Tables[rule.Table] = behind.Progress.Tables[rule.Table].Add(got.done)
		return behind
	})
	if err != nil {
		return fmt.Errorf("%s: %w", rule.Table, err)
	}
	return nil
}

// sweepOver has the host follow, and looks again an hour later, until nothing was under
// way when it did.
func (e *Eraser) sweepOver(ctx context.Context, r *request, now time.Time) error {
	if e.hooks.Erased != nil {
		if err := work.Guard(func() error { return e.hooks.Erased(ctx, r.Scope, r.Person) }); err != nil {
			return &HookError{"Erased", err}
		}
	}
	if again := r.Progress.Sweep == 0 || len(r.Progress.Waiting) > 0; again {
		r.Status, r.DueOn = StatusLanding, now.Add(landing)
	} else {
		r.Status, r.DueOn, r.EndedOn, r.Person = StatusDone, time.Time{}, now, Person{}
	}
	p := &r.Progress
	p.Sweep, p.Rule, p.Way, p.After, p.Left, p.Waiting = p.Sweep+1, 0, 0, 0, p.Waiting, nil
	return e.commit(ctx, planned{}, func(applied) request { return *r })
}

func (p progress) clone() progress {
	p.Tables, p.Waiting = maps.Clone(p.Tables), maps.Clone(p.Waiting)
	if p.Tables == nil {
		p.Tables = map[string]Count{}
	}
	return p
}

func (p *progress) leave(table string, ids []int64) {
	if len(ids) == 0 {
		return
	}
	if p.Waiting == nil {
		p.Waiting = map[string][]int64{}
	}
	all := slices.Concat(p.Waiting[table], ids)
	slices.Sort(all)
	p.Waiting[table] = slices.Compact(all)
}

// waiting is how many rows workers had.
func (p progress) waiting() (n int) {
	for _, ids := range p.Waiting {
		n += len(ids)
	}
	if p.atBegin() {
		for _, ids := range p.Left {
			n += len(ids)
		}
	}
	return n
}

// atBegin reports whether the sweep has not begun.
func (p progress) atBegin() bool { return p.Rule == 0 && p.Way == 0 && p.After == 0 }

// compact leaves out what is named twice.
func (p Person) compact() Person {
	var once []Entity
	for _, e := range p.Entities {
		if !slices.Contains(once, e) {
			once = append(once, e)
		}
	}
	p.Entities = once
	return p
}

// mine reports whether this process has all domains that an erasure goes through.
func (e *Eraser) mine(r *request) bool {
	return strings.Join(r.Progress.Parts, ",") == strings.Join(e.names, ",")
}
