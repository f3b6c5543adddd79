package automation_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/testlevel"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// I-22: an old scheduler and several processes race for 2,000 runs, while their
// settings move forth and back, processes die with their leases, transactions
// fail or lose their replies, and the host says again what it wants. Each run is
// delivered by exactly one side; by neither only if it is on hold, with a reason.
func TestI22_TheOldSchedulerAndPollersRaceForEachRun(t *testing.T) {
	t.Parallel()
	runs := map[string]int{"memory": 2000, "sqlite": 150, "postgres": 150}
	if testlevel.Has(t, testlevel.Nightly) {
		runs["sqlite"], runs["postgres"] = 2000, 2000
	}
	for name, open := range map[string]func(testing.TB, clock.Clock) storage.Store{
		"memory":   func(_ testing.TB, clk clock.Clock) storage.Store { return memory.New(&memory.Options{Clock: clk}) },
		"sqlite":   storetest.SQLite,
		"postgres": storetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := newHandClock()
			r := newRace(t, open(t, clk), clk, runs[name])
			for step := range 60 {
				r.step(uint64(step))
				clk.Add(time.Minute)
			}
			r.converge()
			r.check()
		})
	}
}

// race is a host that moves from an old scheduler to Belfry.
type race struct {
	*world
	hand  *handClock
	flaky *flaky
	spy   *storetest.Spy // whose transactions are flaky
	procs []*automation.Scheduler
	out   *notify.Notifier // of the first of them
	wants []automation.Candidate
	keys  []string // in the order of wants
	when  map[string]time.Time

	mu   sync.Mutex
	done map[string]bool // what the old scheduler knows to be over
	wild bool            // faults, kills and moves
	kept map[string]int  // what happened, to see that it did
}

const raceUnits = 5

func newRace(t *testing.T, store storage.Store, clk *handClock, n int) *race {
	r := &race{hand: clk, flaky: &flaky{drawn: map[int]int{}}, when: map[string]time.Time{}, done: map[string]bool{}, kept: map[string]int{}, wild: true}
	r.spy = &storetest.Spy{Store: store, Hook: r.flaky.hook}
	r.world = &world{t: t, ctx: t.Context(), store: store}
	for range 3 {
		out := notify.New(r.spy, nil)
		r.out = cmp.Or(r.out, out)
		s := automation.New(r.spy, out, &automation.Options{Logger: quiet})
		s.Register(certificates(func(t *automation.ReminderType) { t.Guarded = true }))
		r.procs = append(r.procs, s)
	}
	for i := range n {
		r.wants = append(r.wants, automation.Candidate{
			Type: "certificate", BusinessUnit: fmt.Sprint("u", i%raceUnits), Source: automation.Source{"employee", fmt.Sprint(i)}, Zone: "UTC",
			TargetDate: date(2026, 3, 1), SendAt: fmt.Sprintf("08:%02d", 5+i*50/n),
		})
	}
	for some := range slices.Chunk(r.wants, 500) {
		got, err := r.procs[0].Ensure(r.ctx, some...)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got {
			r.keys = append(r.keys, e.Key)
			r.when[e.Key] = e.ScheduledOn
		}
	}
	return r
}

func (r *race) saw(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[what]++
}

// step lets everybody act at once.
func (r *race) step(seed uint64) {
	r.flaky.arm(r.wild, seed)
	var all sync.WaitGroup
	for i, act := range []func(*rand.Rand){r.pollOne, r.pollOne, r.pollOne, r.oldOne, r.oldOne, r.moveOne, r.sayAgain, r.die} {
		all.Go(func() { act(rand.New(rand.NewPCG(seed, uint64(i)))) }) //nolint:gosec // a story that can be repeated
	}
	all.Wait()
}

func (r *race) pollOne(rnd *rand.Rand) {
	s := r.procs[rnd.IntN(len(r.procs))]
	if _, err := passOf(s, "automation").Runner(work.Options{Logger: quiet}).Poll(r.ctx, 10+rnd.IntN(90)); err != nil {
		r.saw("poll failed")
	}
}

// oldOne is a pass of the old scheduler: it asks for what is due, and delivers
// what it is granted, each in a transaction of its own.
func (r *race) oldOne(rnd *rand.Rand) {
	var due []string
	r.mu.Lock()
	for _, key := range r.keys {
		if !r.when[key].After(r.hand.Now()) && !r.done[key] {
			due = append(due, key)
		}
	}
	r.mu.Unlock()
	rnd.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	due = due[:min(len(due), 60)]
	known, err := r.whoHas(due)
	if err != nil {
		r.saw("old failed")
		return
	}
	for _, key := range due {
		o := known[key]
		switch {
		case o != nil && o.Status == cutover.DeliveryCreated:
			r.over(key)
		case o == nil || o.Owner == cutover.OldScheduler || rnd.IntN(4) == 0: // sometimes it tries what is not its own
			r.oldDelivers(key, r.wild && rnd.IntN(5) == 0)
		}
	}
}

// whoHas reads the guard, as the published SQL does, in one transaction: of sixty nearly
// always one would fail, and the old scheduler would hardly get to do anything.
func (r *race) whoHas(runs []string) (map[string]*automation.OwnershipRow, error) {
	out := map[string]*automation.OwnershipRow{}
	err := r.spy.InTx(r.ctx, func(tx storage.Tx) error {
		for _, key := range runs {
			o, err := automation.Ownerships.Get(r.ctx, tx, "", key)
			switch {
			case err == nil:
				out[key] = o
			case !errors.Is(err, storage.ErrNotFound):
				return err
			}
		}
		return nil
	})
	return out, err
}

func (r *race) over(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[key] = true
}

// oldDelivers marks the run and creates the old scheduler's own delivery, unless
// it dies in between.
func (r *race) oldDelivers(key string, dies bool) {
	s := r.procs[0]
	err := r.spy.InTx(r.ctx, func(tx storage.Tx) error {
		got, err := s.WithTx(tx).Rollout().DeliverForOldScheduler(r.ctx, "", cutover.OldRun{Key: key, Coordinates: []byte(`{"old":true}`)})
		switch {
		case err != nil || !got[0].Granted:
			return err
		case dies:
			return errBoom
		}
		_, err = r.out.EnsureNotificationJob(r.ctx, tx, notify.Job{
			Type: "certificate", PartitionKey: "old", RowKey: key, EntityType: "run", Entity: "old", InputHash: "h", SourceKey: key,
		})
		r.saw("old delivers")
		return err
	})
	if errors.Is(err, errBoom) {
		r.saw("old dies")
	}
}

// moveOne moves a unit a step on, or back by any number, and may be cut off.
func (r *race) moveOne(rnd *rand.Rand) {
	part := cutover.Part{Type: "certificate", BusinessUnit: fmt.Sprint("u", rnd.IntN(raceUnits))}
	s := r.procs[rnd.IntN(len(r.procs))]
	for range 3 {
		dry, err := s.Rollout().MoveRollout(r.ctx, part, cutover.StageDesign, ann, &automation.ActionOptions{DryRun: true})
		if err != nil {
			r.saw("move failed")
			return
		}
		to := min(dry.From+1, cutover.StageCutOver)
		if rnd.IntN(4) == 0 {
			to = cutover.Stage(rnd.IntN(int(dry.From) + 1))
		}
		m, err := s.Rollout().MoveRollout(r.ctx, part, to, ann, nil)
		if err != nil && !errors.Is(err, automation.ErrActionRefused) {
			r.saw("move failed")
		}
		if m.Taken > 0 {
			r.saw("taken")
		}
		if m.Returned > 0 {
			r.saw("returned")
		}
	}
}

// sayAgain is a repeated event.
func (r *race) sayAgain(rnd *rand.Rand) {
	from := rnd.IntN(len(r.wants))
	_, _ = r.procs[rnd.IntN(len(r.procs))].Ensure(r.ctx, r.wants[from:min(from+20, len(r.wants))]...)
}

// die is a process that claims rows and is killed.
func (r *race) die(*rand.Rand) {
	if !r.wild {
		return
	}
	err := r.spy.InTx(r.ctx, func(tx storage.Tx) error {
		now := driver.Now(r.store)
		rows, err := automation.Schedules.Claim(r.ctx, tx, driver.Claim{
			Statuses: []string{automation.StatusPending}, Busy: automation.StatusProcessing, Token: fmt.Sprint("dead ", now.UnixMicro()),
			Lanes: []driver.LaneClaim{{Limit: 3}}, Now: now, LeaseUntil: now.Add(2 * time.Minute),
		})
		if len(rows) > 0 {
			r.saw("killed")
		}
		return err
	})
	if err != nil {
		r.saw("claim failed")
	}
}

// converge ends the faults and lets both sides finish: some units are cut
// over, the others are back.
func (r *race) converge() {
	r.wild = false
	r.flaky.arm(false, 0)
	r.world.s = r.procs[0]
	for n := range raceUnits {
		part := cutover.Part{Type: "certificate", BusinessUnit: fmt.Sprint("u", n)}
		r.bring(part, []cutover.Stage{cutover.StageCutOver, cutover.StageShadow}[n%2])
	}
	for step := range 60 {
		for _, act := range []func(*rand.Rand){r.pollOne, r.pollOne, r.oldOne, r.oldOne} {
			act(rand.New(rand.NewPCG(uint64(step), 1000))) //nolint:gosec // a story that can be repeated
		}
		r.hand.Add(5 * time.Minute)
	}
}

// bring finishes what was cut off, and moves the part to a stage.
func (r *race) bring(part cutover.Part, stage cutover.Stage) {
	list, err := r.s.Rollout().Rollouts(r.ctx, "")
	if err != nil {
		r.t.Fatal(err)
	}
	now := cutover.Status{}
	for _, p := range list {
		if p.Part == part {
			now = p
		}
	}
	if now.Moving {
		if _, err := r.s.Rollout().MoveRollout(r.ctx, part, now.Stage, ann, nil); err != nil {
			r.t.Fatal(err)
		}
	}
	if now.Stage != stage {
		r.to(part, stage)
	}
}

// check counts the deliveries of each run.
func (r *race) check() {
	delivered := map[string]int{}
	sides := map[string]int{}
	for _, schema := range notify.Schemas() {
		if schema.Name != "notification_job" {
			continue
		}
		err := r.store.InTx(r.ctx, func(tx storage.Tx) error {
			rows, err := tx.Select(r.ctx, schema, driver.Within(""), driver.Query{Limit: 10000})
			for _, row := range rows {
				delivered[textOf(schema, row, "source_key")]++
				sides[map[bool]string{true: "old", false: "new"}[textOf(schema, row, "partition_key") == "old"]]++
			}
			return err
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	rows := r.rows()
	held := 0
	for _, key := range r.keys {
		row := rows[key]
		switch n := delivered[key]; {
		case n > 1:
			r.t.Errorf("%s was delivered %d times: %+v", key, n, row)
		case n == 0 && (!row.IsOnSupportHold || row.HoldReason == ""):
			r.t.Errorf("%s was delivered by neither, and is not on hold: %s %s, %s", key, row.Status, row.ReasonCode, r.owner(key))
		case n == 0:
			held++
		}
	}
	r.t.Logf("delivered %v, held %d of %d, %v", sides, held, len(r.keys), r.kept)
	if held*10 > len(r.keys) || sides["old"] == 0 || sides["new"] == 0 {
		r.t.Errorf("this was no race: delivered %v, held %d", sides, held)
	}
	for _, what := range []string{"taken", "returned", "killed", "old dies"} {
		if r.kept[what] == 0 {
			r.t.Errorf("it never happened: %s", what)
		}
	}
}

// flaky fails one transaction in forty before it begins, and loses the reply of
// one in forty, while it is armed.
type flaky struct {
	mu    sync.Mutex
	rnd   *rand.Rand
	drawn map[int]int // by transaction
}

func (f *flaky) hook(c storetest.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case c.Verb == storetest.Begin && f.rnd != nil:
		f.drawn[c.Number] = 1 + f.rnd.IntN(40)
		if f.drawn[c.Number] == 1 {
			return fmt.Errorf("crash before: %w", storage.ErrUnavailable)
		}
	case c.Verb == storetest.Committed && f.drawn[c.Number] == 2:
		return fmt.Errorf("crash after: %w", storage.ErrOutcomeUnknown)
	}
	return nil
}

func (f *flaky) arm(on bool, seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rnd = nil
	if on {
		f.rnd = rand.New(rand.NewPCG(seed, 77)) //nolint:gosec // a story that can be repeated
	}
}
