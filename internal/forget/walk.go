package forget

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/internal/hush"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// walk is a row of retention: how far the pass has come in one table, which is its Key
// and its Kind. DueOn is when to go on. One row more, with the key database, says
// whether the database was new when the pass first saw it.
type walk struct {
	storage.Record
	After       int64     `db:"after_id"` // it goes on behind this id; 0: a new walk begins
	KeptFor     int64     `db:"kept_for"` // seconds, of the shortest retention that was announced
	AnnouncedOn time.Time `db:"announced_on"`
	BegunOn     time.Time `db:"begun_on"`
	FinishedOn  time.Time `db:"finished_on"`
	Stubs       int       `db:"stubs"` // of the walk under way, or of the last one
	Deleted     int       `db:"deleted"`
}

var walks = driver.Define[walk]("retention").Grows(driver.Bounded).
	Kept(driver.Always, "one a table; how far the pass has come")

// Schemas lists the table of this package.
func Schemas() []*driver.Schema { return []*driver.Schema{&walks.Schema} }

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
	// every is how often a table is walked, again how soon a step that failed is tried
	// again, and look how often a poller asks whether either is due.
	every = 24 * time.Hour
	again = 15 * time.Minute
	look  = time.Minute
	// settled is how old the rows of a database are that is not new.
	settled = 24 * time.Hour
	// pace is the pause after a page, by the machine's clock, in which the database tidies
	// up behind it.
	pace = 50 * time.Millisecond
)

// Forever keeps the rows of a field of belfry.Retention.
const Forever time.Duration = -1

// Keeps says for how long rows stay, by the fields of belfry.Retention: zero is the
// default, Forever none.
type Keeps map[string]time.Duration

// Settings are what a host chose, and the defaults of new databases.
type Settings struct{ Chosen, Defaults Keeps }

// realClock paces what a mock clock must not stop.
var realClock = clock.New()

// pass walks the tables of rules; work.Pass of one service alone, where Settings are
// empty.
type pass struct {
	name  string
	store storage.Store
	rules func() []Rule
}

// Pass is the part of a service in the pass of a poller; see [RulesOf]. By itself it
// forgets what the rules say without the options of a poller.
func Pass(store storage.Store, name string, rules func() []Rule) work.Pass {
	return pass{name, store, rules}
}

func (p pass) Name() string { return p.name }

func (p pass) Runner(o work.Options) work.Runner {
	return NewRunner(p.store, o, Settings{}, p.rules)
}

// RulesOf are the rules of a pass; false if it is another one.
func RulesOf(p work.Pass) (rules func() []Rule, ok bool) {
	of, ok := p.(pass)
	return of.rules, ok
}

// Runner is the pass in one poller: any number of pollers may walk one database, for a
// page is written in one transaction with the place that it was read from.
type Runner struct {
	store    storage.Store
	settings Settings
	rules    func() []Rule
	logger   *slog.Logger
	lookOn   atomic.Pointer[time.Time] // it asks for nothing before; nil: it has not asked yet
	made     atomic.Int32              // so many rules have their rows
	isNew    atomic.Bool               // the database was new
}

// NewRunner makes the pass over rules.
func NewRunner(store storage.Store, o work.Options, settings Settings, rules func() []Rule) *Runner {
	return &Runner{store: store, settings: settings, rules: rules, logger: cmp.Or(o.Logger, slog.Default())}
}

// rest asks for nothing for a while, once there was nothing to do.
func (r *Runner) rest() {
	on := r.store.Clock().Now().Add(look)
	r.lookOn.Store(&on)
}

// all are the rules, one for each table, however many services share it.
func (r *Runner) all() (out []Rule) {
	for _, rule := range r.rules() {
		if !slices.ContainsFunc(out, func(o Rule) bool { return o.Table == rule.Table }) {
			out = append(out, rule)
		}
	}
	return out
}

// keep is for how long rows stay by the options.
func (r *Runner) keep(of Rule) time.Duration {
	chosen := r.settings.Chosen[of.By]
	if chosen == 0 && r.isNew.Load() {
		chosen = r.settings.Defaults[of.By]
	}
	return max(chosen, 0)
}

// active are the rules by which something goes some day.
func (r *Runner) active() (out []Rule) {
	for _, rule := range r.all() {
		if rule.after(r.keep(rule)) > 0 {
			out = append(out, rule)
		}
	}
	return out
}

// prepare makes the rows of rules that have none, and finds out whether the database is
// new: whether all that it has was made within a day.
func (r *Runner) prepare(ctx context.Context) error {
	all := r.all()
	if int(r.made.Load()) == len(all) {
		return nil
	}
	old := false
	err := r.store.View(ctx, func(from driver.Reader) error {
		before := driver.Now(r.store).Add(-settled)
		old = false
		for _, rule := range all {
			has, err := rule.hasOld(ctx, from, before)
			if err != nil {
				return err
			}
			old = old || has
		}
		return nil
	})
	if err != nil {
		return err
	}
	status := statusNew
	if old {
		status = statusExisting
	}
	err = r.store.InTx(ctx, func(tx storage.Tx) error {
		rows := []*walk{{Record: storage.Record{Key: databaseKey, Status: status}}}
		for _, rule := range all {
			rows = append(rows, &walk{Record: storage.Record{Key: rule.Table, Kind: rule.Table, Status: statusReady, DueOn: driver.Now(r.store)}})
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
	if err == nil {
		r.made.Store(int32(len(all)))
	}
	return err
}

// Poll takes one step in each table that is due.
func (r *Runner) Poll(ctx context.Context, _ int) (report work.Report, err error) {
	if on := r.lookOn.Load(); on != nil && r.store.Clock().Now().Before(*on) {
		return report, nil
	}
	if len(r.settings.Defaults) == 0 && len(r.active()) == 0 {
		return report, nil // and nothing is asked for
	}
	if err := r.prepare(ctx); err != nil {
		return report, err
	}
	due, err := r.due(ctx)
	if err != nil {
		return report, err
	}
	var errs []error
	for _, rule := range r.active() {
		w := due[rule.Table]
		if w == nil {
			continue
		}
		report.Claimed++
		switch err := r.step(ctx, rule, w); {
		case err == nil:
			report.Settled++
		case errors.Is(err, storage.ErrStale):
			report.Stale++ // another poller has been here
		default:
			report.Failed++
			errs = append(errs, err)
		}
	}
	if report.Settled == 0 {
		r.rest()
	}
	return report, errors.Join(errs...)
}

// due are the rows of tables to go on in.
func (r *Runner) due(ctx context.Context) (map[string]*walk, error) {
	out := map[string]*walk{}
	err := r.store.View(ctx, func(from driver.Reader) error {
		clear(out)
		rows, err := walks.Find(ctx, from, "", driver.Query{
			Where: []driver.Cond{driver.Eq("lane", storage.LaneNormal), driver.AtMost("due_on", driver.Now(r.store))}, OrderBy: "due_on", Limit: 1000,
		})
		for _, w := range rows {
			out[w.Key] = w
		}
		return err
	})
	return out, err
}

// step goes on in one table: it announces what it finds, or, a week later, forgets it in
// the transaction that notes how far it came.
func (r *Runner) step(ctx context.Context, rule Rule, w *walk) error {
	now, keep := driver.Now(r.store), r.keep(rule)
	at := rule.at(now, keep)
	next := *w
	next.shorten(int64(rule.after(keep) / time.Second))
	if from := next.AnnouncedOn.Add(notice); !next.AnnouncedOn.IsZero() && from.After(now) {
		next.DueOn = from
		return r.save(ctx, next, Step{})
	}
	step, err := rule.plan(ctx, r.store, at, w.After, next.AnnouncedOn.IsZero())
	if err != nil {
		r.postpone(ctx, w)
		return err
	}
	if step.Refused != nil {
		hush.Warn(ctx, r.logger, "belfry: old rows could not be archived, so they stay", "table", rule.Table, "rows", step.Unarchived, "error", step.Refused)
	}
	if w.After == 0 {
		next.BegunOn, next.Stubs, next.Deleted = now, 0, 0
	}
	if next.AnnouncedOn.IsZero() && step.Found.Any() {
		next.AnnouncedOn, next.DueOn, next.After = now, now.Add(notice), 0
		if err := r.save(ctx, next, Step{}); err != nil {
			return err
		}
		r.logger.WarnContext(ctx, "belfry: old rows will be forgotten", "table", rule.Table, "from", now.Add(notice), "kept for", rule.after(keep))
		return nil
	}
	next.After, next.DueOn = step.Next, now
	if step.Next == 0 {
		next.FinishedOn, next.DueOn = now, now.Add(every)
	}
	return r.save(ctx, next, step)
}

// shorten has a retention announced that is shorter than what was.
func (w *walk) shorten(keptFor int64) {
	if w.KeptFor == 0 || keptFor < w.KeptFor {
		w.AnnouncedOn, w.After = time.Time{}, 0
	}
	w.KeptFor = keptFor
}

// save writes a step and the place behind it; an ErrStale, and nothing, if another
// poller has been here.
func (r *Runner) save(ctx context.Context, w walk, step Step) error {
	return r.store.InTx(ctx, func(tx storage.Tx) error {
		done, err := step.write(ctx, tx)
		if err != nil {
			return err
		}
		w := w // the transaction may run again
		w.Stubs, w.Deleted = w.Stubs+done.Stubs, w.Deleted+done.Deleted
		return walks.Save(ctx, tx, &w)
	})
}

// postpone tries a step that failed later, if the database lets it.
func (r *Runner) postpone(ctx context.Context, w *walk) {
	later := *w
	later.DueOn = driver.Now(r.store).Add(again)
	_ = r.save(ctx, later, Step{})
}

// Drain goes on for as long as there is something to do now.
func (r *Runner) Drain(ctx context.Context) error {
	for {
		report, err := r.Poll(ctx, 1)
		if err != nil || report.Settled == 0 {
			return err
		}
	}
}

// Run looks at once, and then once a minute, and goes on for as long as there is something
// to do.
func (r *Runner) Run(ctx context.Context) error {
	for {
		report, err := r.Poll(ctx, 1)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			hush.Warn(ctx, r.logger, "belfry: poll failed", "pass", "retention", "error", err)
		}
		by, wait := r.store.Clock(), look
		if report.Settled > 0 {
			by, wait = realClock, pace
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-by.After(wait):
		}
	}
}

// Pulse is none: a chore of once a day says nothing about the poller.
func (r *Runner) Pulse() []work.Pulse { return nil }
