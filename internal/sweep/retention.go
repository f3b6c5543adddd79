package sweep

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// walk is a row of retention: how far the sweep has come in one table, which is its Key
// and its Kind. DueOn is when to go on. One row more, with the key database, says
// whether the database was new when the sweep first saw it.
type walk struct {
	driver.Due
	After       int64     `db:"after_id"` // it goes on behind this id; 0: a new walk begins
	KeptFor     int64     `db:"kept_for"` // seconds, of the shortest retention that was announced
	AnnouncedOn time.Time `db:"announced_on"`
	BegunOn     time.Time `db:"begun_on"`
	FinishedOn  time.Time `db:"finished_on"`
	Tombstones  int       `db:"stubs"` // of the walk under way, or of the last one
	Deleted     int       `db:"deleted"`
}

var walks = driver.Define[walk]("retention").Grows(driver.Bounded).
	Kept(driver.Always, "one a table; how far the pass has come")

// The statuses of rows of retention, and the key of the one about the database.
const (
	statusReady    = "Ready"
	statusNew      = "New"      // stated defaults hold
	statusExisting = "Existing" // nothing goes unless the host says so
	databaseKey    = "database"
)

const (
	// notice is how long before the first deletion it is announced.
	notice = 7 * 24 * time.Hour
	// daily is how often a table is walked.
	daily = 24 * time.Hour
	// settled is how old the rows of a database are that is not new.
	settled = 24 * time.Hour
)

// Forever keeps the rows of a field of belfry.Retention.
const Forever time.Duration = -1

// Keeps says for how long rows stay, by the fields of belfry.Retention: zero is the
// default, Forever none.
type Keeps map[string]time.Duration

// retention walks tables for old rows. A rule that is silent goes by itself; the others
// begin a week after they were announced.
type retention struct {
	queue[walk]
	rules            []Rule // one a table
	silent           bool   // it goes by the silent ones alone, or by the others
	chosen, defaults Keeps
	prepared, isNew  atomic.Bool
}

func newRetention(store storage.Store, o Options, rules []Rule, silent bool) *retention {
	r := &retention{rules: onePerTable(rules), silent: silent, chosen: o.Chosen, defaults: o.Defaults}
	r.queue = queue[walk]{name: "retention", store: store, rows: walks, prepare: r.makeRows, mine: r.goes, step: r.next, logger: o.Logger}
	return r
}

// keep is for how long rows stay by the options.
func (r *retention) keep(of Rule) time.Duration {
	keep := r.chosen[of.by]
	if keep == 0 && r.isNew.Load() {
		keep = r.defaults[of.by]
	}
	return max(keep, 0)
}

// at is a look at this moment, by a retention.
func (r Rule) at(now time.Time, keep time.Duration, dry bool) At {
	return At{Now: now, Dry: dry, Keep: keep, Before: now.Add(-r.after(keep))}
}

// rule is that of a walk.
func (r *retention) rule(w *walk) (rule Rule, known bool) {
	for _, rule := range r.rules {
		if rule.Table == w.Key {
			return rule, true
		}
	}
	return Rule{}, false
}

// goes reports whether something goes by the rule of a walk some day, and here.
func (r *retention) goes(w *walk) bool {
	rule, known := r.rule(w)
	return known && rule.silent == r.silent && rule.after(r.keep(rule)) > 0
}

// makeRows makes the rows of rules that have none, and finds out whether the database is
// new: whether all that it has was made within a day.
func (r *retention) makeRows(ctx context.Context) error {
	if r.prepared.Load() {
		return nil
	}
	var status string
	err := r.store.View(ctx, func(from driver.Reader) error {
		before := driver.Now(r.store).Add(-settled)
		status = statusNew
		for _, rule := range r.rules {
			if rule.hasOld == nil {
				continue
			}
			old, err := rule.hasOld(ctx, from, before)
			if err != nil {
				return err
			}
			if old {
				status = statusExisting
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = r.store.InTx(ctx, func(tx storage.Tx) error {
		rows := []*walk{{Due: driver.Due{Record: storage.Record{Key: databaseKey, Status: status}}}}
		for _, rule := range r.rules {
			rows = append(rows, &walk{Due: driver.Due{Record: storage.Record{Key: rule.Table, Kind: rule.Table, Status: statusReady}, DueOn: driver.Now(r.store)}})
		}
		if _, err := walks.Insert(ctx, tx, rows...); err != nil {
			return err
		}
		stored, err := walks.Get(ctx, tx, "", databaseKey)
		if err == nil {
			r.isNew.Store(stored.Status == statusNew)
		}
		return err
	})
	r.prepared.Store(err == nil)
	return err
}

// next goes on in one table: it announces what it finds, or, a week later, forgets it in
// the transaction that notes how far it came.
func (r *retention) next(ctx context.Context, w *walk) error {
	rule, _ := r.rule(w)
	now, keep, next := driver.Now(r.store), r.keep(rule), *w
	if !rule.silent {
		next.shorten(int64(rule.after(keep) / time.Second))
	}
	if from := next.AnnouncedOn.Add(notice); !next.AnnouncedOn.IsZero() && from.After(now) {
		next.DueOn = from
		return r.commit(ctx, planned{}, next.with)
	}
	quiet := !rule.silent && next.AnnouncedOn.IsZero()
	step, err := rule.plan(ctx, r.store, rule.at(now, keep, quiet), 0, next.After)
	if err != nil {
		return err
	}
	if step.refused != nil {
		r.logger.WarnContext(ctx, "belfry: old rows could not be archived, so they stay", "table", rule.Table, "rows", step.unarchived, "error", step.refused)
	}
	if next.After == 0 {
		next.BegunOn, next.Tombstones, next.Deleted = now, 0, 0
	}
	if quiet && step.count().Any() {
		return r.announce(ctx, next, now, rule.after(keep))
	}
	next.After, next.DueOn = step.next, now
	if step.next == 0 && !step.again {
		next.FinishedOn, next.DueOn = now, now.Add(rule.every)
	}
	return r.commit(ctx, step, next.with)
}

// announce says that rows will go, of which none has gone yet.
func (r *retention) announce(ctx context.Context, w walk, now time.Time, keptFor time.Duration) error {
	w.AnnouncedOn, w.DueOn, w.After = now, now.Add(notice), 0
	if err := r.commit(ctx, planned{}, w.with); err != nil {
		return err
	}
	r.logger.WarnContext(loglimit.Always(ctx), "belfry: old rows will be forgotten", "table", w.Key, "from", w.DueOn, "kept for", keptFor)
	return nil
}

// shorten has a retention announced that is shorter than what was.
func (w *walk) shorten(keptFor int64) {
	if w.KeptFor == 0 || keptFor < w.KeptFor {
		w.AnnouncedOn, w.After = time.Time{}, 0
	}
	w.KeptFor = keptFor
}

// with is w with what was done.
func (w walk) with(got applied) walk {
	w.Tombstones, w.Deleted = w.Tombstones+got.done.Emptied, w.Deleted+got.done.Deleted
	return w
}

// Retained tells how the sweep is doing in each table that something goes from some day.
func (s *Sweep) Retained(ctx context.Context) ([]health.Retention, error) {
	var out []health.Retention
	err := s.old.store.View(ctx, func(from driver.Reader) error {
		out = nil
		rows, err := walks.Find(ctx, from, "", driver.Query{Where: []driver.Cond{driver.Eq("status", statusReady)}, OrderBy: "key", Limit: 1000})
		for _, w := range rows {
			if w.KeptFor > 0 {
				out = append(out, w.health())
			}
		}
		return err
	})
	return out, err
}

func (w *walk) health() health.Retention {
	h := health.Retention{
		Table: w.Key, KeptFor: time.Duration(w.KeptFor) * time.Second, AnnouncedOn: w.AnnouncedOn,
		BegunOn: w.BegunOn, FinishedOn: w.FinishedOn, Running: w.After > 0, Tombstones: w.Tombstones, Deleted: w.Deleted,
	}
	if !w.AnnouncedOn.IsZero() {
		h.From = w.AnnouncedOn.Add(notice)
	}
	return h
}

// PreviewRetention tells what each table would lose now, if nothing had to be announced.
func (s *Sweep) PreviewRetention(ctx context.Context) (out []health.Retention, err error) {
	if err := s.old.makeRows(ctx); err != nil {
		return nil, err
	}
	for _, rule := range s.old.rules {
		keep := s.old.keep(rule)
		if rule.silent || rule.after(keep) <= 0 {
			continue
		}
		done, err := rule.Now(ctx, s.old.store, keep, true)
		if err != nil {
			return nil, err
		}
		out = append(out, health.Retention{Table: rule.Table, KeptFor: rule.after(keep), Tombstones: done.Emptied, Deleted: done.Deleted})
	}
	return out, nil
}

// Walked is what a walk over a whole table did, or would do.
type Walked struct {
	Count
	Kept       int // old enough, but their key may be asked for
	Unarchived int // could not be archived
}

// Now walks a whole table at once, whatever was announced, and tells what it did also
// where there is an error: that of an Archive, or one that ended the walk. A dry one
// tells what would go.
func (r Rule) Now(ctx context.Context, store storage.Store, keep time.Duration, dry bool) (sum Walked, refused error) {
	if r.after(keep) <= 0 {
		return sum, nil
	}
	at := r.at(driver.Now(store), keep, dry)
	for after, more := int64(0), true; more; more = after != 0 {
		step, err := r.plan(ctx, store, at, 0, after)
		if err != nil {
			return sum, err
		}
		got := applied{done: step.count()}
		if !dry && got.done.Any() {
			err = store.InTx(ctx, func(tx storage.Tx) (err error) {
				got, err = step.write(ctx, tx)
				return err
			})
			if err != nil {
				return sum, err
			}
		}
		sum.Count, sum.Kept, sum.Unarchived = sum.Add(got.done), sum.Kept+len(step.with(Keep)), sum.Unarchived+step.unarchived
		refused, after = errors.Join(refused, step.refused), step.next
	}
	return sum, refused
}

// onePerTable leaves out the rules of tables that have one, however many domains share it.
func onePerTable(rules []Rule) (out []Rule) {
	for _, rule := range rules {
		if !slices.ContainsFunc(out, func(o Rule) bool { return o.Table == rule.Table }) {
			out = append(out, rule)
		}
	}
	return out
}
