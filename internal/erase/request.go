package erase

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// request is one erasure, until it is done with the person in it. DueOn is when to go on.
type request struct {
	storage.Record
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
	// Waiting are the ids of rows, by table, that somebody was at in this sweep, and Left
	// those of the last one.
	Waiting map[string][]int64 `json:"waiting,omitempty"`
	Left    map[string][]int64 `json:"left,omitempty"`
	Tables  map[string]Count   `json:"tables"`
}

var requests = driver.Define[request]("erasure").Grows(driver.WithEntities).
	Kept(driver.Always, "that somebody was erased, and when, but not who").
	Erased("emptied at its own end")

// Schemas lists the table of this package.
func Schemas() []*driver.Schema { return []*driver.Schema{&requests.Schema} }

// Any reports whether anybody was ever to be erased.
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

// Part is what a domain does when a person is erased.
type Part struct {
	Name string
	// Rules go through its tables, in order: what is found by way of others comes first.
	Rules func() []Rule
	// Mark keeps what comes again for the person from being sent, from the transaction on
	// that asks for the erasure; Unmark lets it through again. Nil: there is nothing.
	Mark   func(ctx context.Context, tx storage.Tx, s Subject) error
	Unmark func(ctx context.Context, tx storage.Tx, s Subject, by audit.By) error
	// Check refuses a person whom the domain cannot look for; nil: none.
	Check func(Subject) error
}

// Hooks are the host's.
type Hooks struct {
	// Entities are the host's objects that are about a person alone; nil: none.
	Entities func(ctx context.Context, scope storage.Scope, p Person) ([]Entity, error)
	// Erased has the host erase what is its own; nil: nothing. It is called at the end of
	// each sweep, so that it may be called again.
	Erased func(ctx context.Context, scope storage.Scope, p Person) error
}

// HookError is the error of a hook, whose text may be personal, and so is not its own.
type HookError struct {
	Hook string
	Err  error
}

func (e *HookError) Error() string { return "the host's " + e.Hook + " failed" }

func (e *HookError) Unwrap() error { return e.Err }

// Eraser erases and shows people, by the parts of all services of a poller.
type Eraser struct {
	store storage.Store
	parts []Part
	hooks Hooks
	rules []Rule
}

// NewEraser makes one over parts; of two with one name the first counts.
func NewEraser(store storage.Store, hooks Hooks, parts []Part) *Eraser {
	e := &Eraser{store: store, hooks: hooks}
	for _, p := range parts {
		if !slices.ContainsFunc(e.parts, func(o Part) bool { return o.Name == p.Name }) {
			e.parts = append(e.parts, p)
		}
	}
	for _, p := range e.parts {
		e.rules = append(e.rules, p.Rules()...)
	}
	return e
}

func (e *Eraser) names() (out []string) {
	for _, p := range e.parts {
		out = append(out, p.Name)
	}
	return out
}

// subject is the person with all that the host says is about them.
func (e *Eraser) subject(ctx context.Context, scope storage.Scope, p Person) (Subject, error) {
	s := Subject{Scope: scope, Person: p}
	if e.hooks.Entities != nil {
		var more []Entity
		err := work.Guard(func() (err error) {
			more, err = e.hooks.Entities(ctx, scope, p)
			return err
		})
		if err != nil {
			return s, &HookError{"Entities", err}
		}
		s.Entities = slices.Concat(p.Entities, more)
	}
	return s, e.check(s)
}

func (e *Eraser) check(s Subject) error {
	err := s.Check()
	for _, p := range e.parts {
		if err == nil && p.Check != nil {
			err = p.Check(s)
		}
	}
	return err
}

// Begin asks for an erasure. From here on nothing that comes again for the person is
// sent, and the erasure is done to its end by whoever calls [Eraser.Poll].
func (e *Eraser) Begin(ctx context.Context, scope storage.Scope, p Person, by audit.By) (id string, err error) {
	if err := by.Check(); err != nil {
		return "", err
	}
	s, err := e.subject(ctx, scope, p)
	if err != nil {
		return "", err
	}
	bytes := make([]byte, 16)
	if _, err := io.ReadFull(e.store.Rand(), bytes); err != nil {
		return "", fmt.Errorf("no randomness for an id: %w", err)
	}
	id = hex.EncodeToString(bytes)
	return id, e.store.InTx(ctx, func(tx storage.Tx) error {
		now := driver.Now(e.store)
		row := &request{
			Record: storage.Record{Scope: scope, Key: id, Status: StatusOpen, DueOn: now},
			Person: s.Person, Progress: progress{Parts: e.names(), Tables: map[string]Count{}}, BegunOn: now,
		}
		if _, err := requests.Insert(ctx, tx, row); err != nil {
			return err
		}
		for _, p := range e.parts {
			if p.Mark != nil {
				if err := p.Mark(ctx, tx, s); err != nil {
					return err
				}
			}
		}
		return audit.Write(ctx, tx, &audit.Entry{
			Record: storage.Record{Scope: scope}, Subject: requests.Name, SubjectKey: id, SubjectID: row.ID, SubjectVersion: row.Version,
			Action: "Erase", Actor: by.Actor, Reason: by.Reason, To: StatusOpen, On: now,
		})
	})
}

// Admit lets through again what comes for a person. Nothing that was erased comes back.
func (e *Eraser) Admit(ctx context.Context, scope storage.Scope, p Person, by audit.By) error {
	s := Subject{Scope: scope, Person: p}
	if err := cmp.Or(by.Check(), e.check(s)); err != nil {
		return err
	}
	return e.store.InTx(ctx, func(tx storage.Tx) error {
		for _, p := range e.parts {
			if p.Unmark != nil {
				if err := p.Unmark(ctx, tx, s, by); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Finish goes on with one erasure until its first sweep is over, and tells how far it
// came, also where there is an error.
func (e *Eraser) Finish(ctx context.Context, scope storage.Scope, id string) (Report, error) {
	for {
		r, err := e.load(ctx, scope, id)
		if err != nil {
			return Report{}, err
		}
		if r.Status != StatusOpen {
			return e.report(r), nil
		}
		if err := e.step(ctx, r); err != nil && !overtaken(err) {
			return e.report(r), err
		}
	}
}

// Look tells how far an erasure has come.
func (e *Eraser) Look(ctx context.Context, scope storage.Scope, id string) (Report, error) {
	r, err := e.load(ctx, scope, id)
	if err != nil {
		return Report{}, err
	}
	return e.report(r), nil
}

func (e *Eraser) load(ctx context.Context, scope storage.Scope, id string) (r *request, err error) {
	err = e.store.View(ctx, func(from driver.Reader) (err error) {
		r, err = requests.Get(ctx, from, scope, id)
		return err
	})
	return r, err
}

// step goes through one page of one way, in one transaction with the place behind it.
func (e *Eraser) step(ctx context.Context, r *request) error {
	s, now := Subject{Scope: r.Scope, Person: r.Person, again: r.Progress.Left}, driver.Now(e.store)
	next := *r
	next.Progress = r.Progress.clone()
	if next.Progress.Rule == 0 && next.Progress.Way == 0 && next.Progress.After == 0 && e.hooks.Entities != nil {
		var err error // there may be more of them since the last sweep
		if s, err = e.subject(ctx, r.Scope, r.Person); err != nil {
			return err
		}
		s.again = r.Progress.Left
		next.Person = s.Person.compact()
	}
	if r.Progress.Rule >= len(e.rules) {
		return e.sweepOver(ctx, &next, now)
	}
	rule := e.rules[r.Progress.Rule]
	if r.Progress.Way >= rule.ways(s) {
		next.Progress.Rule, next.Progress.Way = r.Progress.Rule+1, 0
		return e.save(ctx, r, &next, Step{}, rule)
	}
	step, err := rule.plan(ctx, e.store, s, At{Now: now}, r.Progress.Way, r.Progress.After)
	if err != nil {
		return fmt.Errorf("%s: %w", rule.Table(), err)
	}
	if next.Progress.After = step.Next; step.Next == 0 && !step.again {
		next.Progress.Way++
	}
	next.Progress.leave(rule.Table(), step.waiting)
	return e.save(ctx, r, &next, step, rule)
}

// save writes a step and the place behind it, or where the erasure is if the step is to be
// taken again; an ErrStale, and nothing, if somebody else has gone on.
func (e *Eraser) save(ctx context.Context, at, behind *request, step Step, rule Rule) error {
	return e.store.InTx(ctx, func(tx storage.Tx) error {
		var got applied
		if step.apply != nil {
			var err error
			if got, err = step.apply(ctx, tx); err != nil {
				return fmt.Errorf("%s: %w", rule.Table(), err)
			}
		}
		next := *behind // the transaction may run again
		if got.first {
			next = *at
		}
		next.Progress = next.Progress.clone()
		if step.apply != nil && !got.first {
			next.Progress.leave(rule.Table(), got.lost)
			next.Progress.Tables[rule.Table()] = next.Progress.Tables[rule.Table()].Add(got.done)
		}
		return requests.Save(ctx, tx, &next)
	})
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
	return e.store.InTx(ctx, func(tx storage.Tx) error {
		next := *r
		return requests.Save(ctx, tx, &next)
	})
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

// waiting is how many rows somebody was at.
func (p progress) waiting() (n int) {
	for _, ids := range p.Waiting {
		n += len(ids)
	}
	if p.Rule == 0 && p.Way == 0 && p.After == 0 { // the next sweep has not begun
		for _, ids := range p.Left {
			n += len(ids)
		}
	}
	return n
}

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

// report is what a row says.
func (e *Eraser) report(r *request) Report {
	out := Report{ID: r.Key, Scope: r.Scope, Status: r.Status, Tables: r.Progress.clone().Tables, Waiting: r.Progress.waiting(), Kept: e.kept()}
	if r.Status == StatusLanding {
		out.NextOn = r.DueOn
	}
	for _, rule := range e.rules {
		if _, ok := out.Tables[rule.Table()]; !ok {
			out.Tables[rule.Table()] = Count{}
		}
	}
	return out
}

// domains are all that there are.
var domains = []string{"notify", "automation", "automation/settings", "automation/report", "survey"}

// kept is what stays by rule, and what nobody here goes through.
func (e *Eraser) kept() (out []Kept) {
	for _, rule := range e.rules {
		for _, c := range rule.Schema.Columns {
			if why := rule.Keeps[c.Name]; why != "" {
				out = append(out, Kept{rule.Table(), c.Name, why})
			}
		}
	}
	for _, name := range domains {
		if !slices.Contains(e.names(), name) {
			out = append(out, Kept{Table: "all of " + name, Why: "no service of this poller goes through it"})
		}
	}
	return out
}

// Preview tells what an erasure would do now.
func (e *Eraser) Preview(ctx context.Context, scope storage.Scope, p Person) (Report, error) {
	s, err := e.subject(ctx, scope, p)
	if err != nil {
		return Report{}, err
	}
	out, now := Report{Scope: scope, Tables: map[string]Count{}, Kept: e.kept()}, driver.Now(e.store)
	for _, rule := range e.rules {
		found := map[int64]Verdict{} // a row once, by however many ways
		for way := range rule.ways(s) {
			for after, more := int64(0), true; more; more = after != 0 {
				step, err := rule.plan(ctx, e.store, s, At{Now: now, Dry: true}, way, after)
				if err != nil {
					return Report{}, fmt.Errorf("%s: %w", rule.Table(), err)
				}
				maps.Copy(found, step.found)
				after = step.Next
			}
		}
		sum := out.Tables[rule.Table()]
		for _, v := range found {
			sum.count(v)
			if v == Wait {
				out.Waiting++
			}
		}
		out.Tables[rule.Table()] = sum
	}
	return out, nil
}

// mine reports whether this process has all parts that an erasure goes through.
func (e *Eraser) mine(r *request) bool {
	return strings.Join(r.Progress.Parts, ",") == strings.Join(e.names(), ",")
}
