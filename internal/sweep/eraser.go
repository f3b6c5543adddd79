package sweep

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

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

// Eraser erases and shows people, by the rules of all domains of a poller. Its queue are
// erasures under way.
type Eraser struct {
	queue[request]
	hooks   Hooks
	domains []Rules
	names   []string
	rules   []Rule
}

// newEraser makes one; of two domains with one name the first counts.
func newEraser(store storage.Store, o Options, from []Rules) *Eraser {
	e := &Eraser{hooks: o.Hooks}
	for _, d := range from {
		if !slices.Contains(e.names, d.Domain) {
			e.domains, e.names, e.rules = append(e.domains, d), append(e.names, d.Domain), append(e.rules, d.People...)
		}
	}
	e.queue = queue[request]{name: "erasure", store: store, rows: requests, mine: e.mine, step: e.next, logger: o.Logger}
	return e
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
	return s, s.Check()
}

// Begin asks for an erasure. From here on nothing that comes again for the person is
// sent, and any process with a [Sweep] finishes the erasure.
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
			Due:    driver.Due{Record: storage.Record{Scope: scope, Key: id, Status: StatusOpen}, DueOn: now},
			Person: s.Person, Progress: progress{Parts: e.names, Tables: map[string]Count{}}, BegunOn: now,
		}
		if _, err := requests.Insert(ctx, tx, row); err != nil {
			return err
		}
		for _, d := range e.domains {
			if d.Mark != nil {
				if err := d.Mark(ctx, tx, s); err != nil {
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
	if err := cmp.Or(by.Check(), s.Check()); err != nil {
		return err
	}
	return e.store.InTx(ctx, func(tx storage.Tx) error {
		for _, d := range e.domains {
			if d.Unmark != nil {
				if err := d.Unmark(ctx, tx, s, by); err != nil {
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
		if err := e.next(ctx, r); err != nil && !overtaken(err) {
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

// report is what a row says.
func (e *Eraser) report(r *request) Report {
	out := Report{ID: r.Key, Scope: r.Scope, Status: r.Status, Tables: r.Progress.clone().Tables, Waiting: r.Progress.waiting(), Kept: e.kept()}
	if r.Status == StatusLanding {
		out.NextOn = r.DueOn
	}
	for _, rule := range e.rules {
		if _, ok := out.Tables[rule.Table]; !ok {
			out.Tables[rule.Table] = Count{}
		}
	}
	return out
}

// allDomains are all that there are.
var allDomains = []string{"notify", "automation", "automation/settings", "automation/report", "survey"}

// kept is what stays by rule, and what no service of this process covers.
func (e *Eraser) kept() (out []Kept) {
	for _, rule := range e.rules {
		for _, c := range rule.schema.Columns {
			if why := rule.keeps[c.Name]; why != "" {
				out = append(out, Kept{rule.Table, c.Name, why})
			}
		}
	}
	for _, name := range allDomains {
		if !slices.Contains(e.names, name) {
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
				step, err := rule.plan(ctx, e.store, At{Now: now, Dry: true, subject: s}, way, after)
				if err != nil {
					return Report{}, fmt.Errorf("%s: %w", rule.Table, err)
				}
				maps.Copy(found, step.found)
				after = step.next
			}
		}
		sum := out.Tables[rule.Table]
		for _, v := range found {
			sum.count(v)
			if v == Wait {
				out.Waiting++
			}
		}
		out.Tables[rule.Table] = sum
	}
	return out, nil
}
