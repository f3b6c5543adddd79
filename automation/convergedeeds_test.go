package automation_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// deed is one thing that happens in a story. N and M say to whom and how.
type deed struct {
	Do    string
	N, M  int
	Fault int  // which of its transactions fails; zero: none
	Lost  bool // its commit happened, and only the answer is lost
	Then  []deed
}

// chores are the deeds. Those before inside may happen while a row is with its
// handler.
var chores = strings.Fields(`tell change poll support wait rule tell
	die scan change tell poll wait support change poll break tell reconcile poll pause rule wait`)

const inside = 7

// stories are whatever may happen, in any order.
var stories = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deed {
	d := aDeed(t, chores)
	if d.Do == "poll" {
		d.Then = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deed { return aDeed(t, chores[:inside]) }), 0, 2).Draw(t, "then")
	}
	d.Fault, d.Lost = max(rapid.IntRange(-4, 4).Draw(t, "fault"), 0), rapid.Bool().Draw(t, "lost")
	return d
}), 12, 30)

func aDeed(t *rapid.T, among []string) deed {
	return deed{Do: among[evenly.Draw(t, "do")%len(among)], N: evenly.Draw(t, "n"), M: evenly.Draw(t, "m")}
}

// evenly is any number below 64: rapid's own ranges prefer the small ones, and
// stories would be about ada alone.
var evenly = rapid.Custom(func(t *rapid.T) (n int) {
	for range 6 {
		n <<= 1
		if rapid.Bool().Draw(t, "bit") {
			n++
		}
	}
	return n
})

// happen does d under its fault.
func (c *chaos) happen(d deed) {
	if d.Fault > 0 {
		c.store.SetHook(storetest.Lose(c.store.Begun()+d.Fault, d.Lost))
	}
	c.then = d.Then
	c.do(d)
	c.then = nil
	c.store.SetHook(nil)
	c.look()
}

func (c *chaos) do(d deed) {
	map[string]func(deed){
		"change": c.change, "tell": c.tell, "rule": c.rule, "wait": c.wait, "support": c.support, "poll": c.poll,
		"die": c.die, "scan": c.scan, "break": c.breakDown, "pause": c.pause, "reconcile": c.reconcile,
	}[d.Do](d)
}

// change is something that the host commits; its event is on its way from then
// on, and may arrive at any time, in any order, several times or never.
func (c *chaos) change(d deed) {
	id := []string{"ada", "bob", "eve"}[d.N%3] // eve has no versions
	p := c.host.pupils[id]
	switch d.M % 4 {
	case 0, 1:
		p.exam = d.M % 9
	case 2:
		p.lessons = manyLessons - 1 + d.M/4%3
	case 3:
		p.gone = !p.gone
	}
	p.changed = c.clk.Now()
	e := automation.Event{Scope: c.host.scope, ID: "e", Type: "pupil-changed", Source: automation.Source{"pupil", id}}
	if id != "eve" {
		p.version++
		e.Version, e.Data = p.version, p
	}
	c.host.pupils[id] = p
	c.events = append(c.events, e)
}

// tell prefers the latest events. The newest one leaves the rows as wanted, and
// one that is older than what was told changes nothing.
func (c *chaos) tell(d deed) {
	if len(c.events) == 0 {
		return
	}
	e := c.events[len(c.events)-1-d.N*d.N/128%len(c.events)]
	before, id := c.rows(), e.Source.ID
	got, err := c.process(d.M).s.HandleEvent(c.ctx, e)
	if errors.Is(err, automation.ErrStaleEvent) {
		err = nil
	}
	c.mayFail("an event", err)
	for _, x := range got.Deactivated {
		c.ended[x.Key] = true
	}
	switch {
	case err != nil:
	case e.Version < c.told[id]:
		if diff := cmp.Diff(before, c.rows()); diff != "" || got.Outcome != automation.EventStale {
			c.wrong("an event that is older than %d: %+v: %s", c.told[id], e, diff)
		}
	case e.Version == c.host.pupils[id].version:
		c.asWanted(id)
	}
	if err == nil {
		c.told[id] = max(c.told[id], e.Version)
	}
}

// asWanted checks that the open rows of a pupil are those that the host wants
// now, at their moments; others have ended, or wait for support.
func (c *chaos) asWanted(id string) {
	rows, wishes := c.rows(), c.host.wishes()
	for key, row := range rows {
		moment, wished := wishes[key]
		switch {
		case row.Source != id, !wished && c.revived[key]:
		case wished && !row.IsOpen() && row.Status != automation.StatusCompleted && !row.IsOnSupportHold, !wished && row.IsOpen():
			c.wrong("%s is wanted %v, and is %s %s", key, wished, row.Status, row.ReasonCode)
		case row.Status == automation.StatusPending && !moment.IsZero() && !row.ScheduledOn.Equal(moment):
			c.wrong("%s is due on %s, wanted %s", key, row.ScheduledOn, moment)
		}
	}
	for key := range wishes {
		if _, made := rows[key]; !made && strings.Contains(key, ":pupil:"+id+":") {
			c.wrong("%s is wanted, and there is no row", key)
		}
	}
}

// unseen is a difference that no scan is told of, since the source has not
// changed: of a row that support made due although nobody asks for it, which ends
// when it is due.
func (c *chaos) unseen(d automation.Difference) bool {
	return d.Kind == "WouldDeactivate" && c.revived[d.Key]
}

// rule changes a setting, which no event tells: the host counts it as a change of
// all pupils.
func (c *chaos) rule(d deed) {
	setting := slices.Sorted(maps.Keys(c.host.rules))[d.N%len(c.host.rules)]
	r := c.host.rules[setting]
	switch d.M % 3 {
	case 0:
		r.offsets = nil
		for n := range 3 {
			if d.M/3>>n&1 == 1 {
				r.offsets = append(r.offsets, n)
			}
		}
	case 1:
		r.hour = d.M % 24
	case 2:
		r.off = !r.off
	}
	c.host.rules[setting] = r
	for id, p := range c.host.pupils {
		p.changed = c.clk.Now()
		c.host.pupils[id] = p
	}
}

func (c *chaos) wait(d deed) {
	c.clk.Add([]time.Duration{time.Second, 2 * time.Minute, 20 * time.Minute, 2 * time.Hour, 9 * time.Hour, 30 * time.Hour}[d.N%6])
}

func (c *chaos) poll(d deed) {
	clear(c.ended)
	report, err := c.process(d.N).due.Poll(c.ctx, 1+d.M%20)
	c.mayFail("a poll", err)
	if c.paused && len(c.then) == 0 && report.Claimed > 0 {
		c.wrong("a poll claims %d rows in a pause", report.Claimed)
	}
}

// die claims like a worker that is never heard of again.
func (c *chaos) die(d deed) {
	now := driver.Now(c.store)
	err := c.store.InTx(c.ctx, func(tx storage.Tx) error {
		_, err := automation.Schedules.Claim(c.ctx, tx, driver.Claim{
			Statuses: []string{automation.StatusPending}, Busy: automation.StatusProcessing, Kinds: slices.Sorted(maps.Keys(c.host.rules)),
			Token: "dead", Lanes: []driver.LaneClaim{{Limit: 1 + d.N%4}}, Now: now, LeaseUntil: now.Add(time.Minute),
		})
		return err
	})
	c.mayFail("a claim", err)
}

func (c *chaos) scan(d deed) {
	for range 1 + d.M%4 {
		_, err := c.process(d.N).scan.Poll(c.ctx, 1+d.M%3)
		c.mayFail("a scan", err)
	}
}

func (c *chaos) reconcile(d deed) {
	setting := slices.Sorted(maps.Keys(c.host.rules))[d.N%len(c.host.rules)]
	_, err := c.process(d.M).s.Maintenance().Reconcile(c.ctx, c.host.scope, setting, &automation.ReconcileOptions{FromStart: d.M%3 == 0, DryRun: d.M%5 == 0})
	c.mayFail("a reconciliation", err)
}

func (c *chaos) breakDown(deed) { c.host.broken = !c.host.broken }

func (c *chaos) pause(deed) {
	act := c.process(0).s.Support().Resume
	if !c.paused {
		act = func(ctx context.Context, e automation.Extent, by automation.By) error {
			return c.process(0).s.Support().Pause(ctx, e, time.Time{}, by)
		}
	}
	err := act(c.ctx, automation.Extent{Scope: c.host.scope}, ann)
	if err != nil { // support looks whether it was done
		c.store.SetHook(nil)
		held, lookErr := c.process(0).s.Support().Pauses(c.ctx, c.host.scope)
		c.mayFail("a look at pauses", lookErr)
		c.paused = len(held) > 0
		return
	}
	c.paused = !c.paused
}

// support acts on any row, and looks what came of it.
func (c *chaos) support(d deed) {
	keys := slices.Sorted(maps.Keys(c.rows()))
	if len(keys) == 0 {
		return
	}
	key, s := keys[d.N%len(keys)], c.process(d.M).s
	acts := []func(context.Context, automation.Scope, string, automation.By) error{s.Support().Hold, s.Support().Release, s.Support().Retry, s.Support().Cancel}
	err := acts[d.M/2%4](c.ctx, c.host.scope, key, ann)
	if !errors.Is(err, automation.ErrActionRefused) {
		c.mayFail("support", err)
	}
	c.store.SetHook(nil)
	row := c.rows()[key]
	if delete(c.stopped, key); row.HoldReason == reasons.HeldBySupport || row.HoldReason == reasons.CancelledBySupport {
		c.stopped[key] = row.HoldReason
	}
	c.revived[key] = c.revived[key] || d.M/2%4 == 1 || d.M/2%4 == 2
	want := []automation.Reason{reasons.HeldBySupport, "", "", reasons.CancelledBySupport}[d.M/2%4]
	if err == nil && c.stopped[key] != want {
		c.wrong("support did %d to %s, which is %+v", d.M/2%4, key, row)
	}
}

// mayFail accepts an error where a fault was planted.
func (c *chaos) mayFail(what string, err error) {
	if err != nil && !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrOutcomeUnknown) {
		c.wrong("%s: %v", what, err)
	}
}

// options make a poll one thing after the other.
func (c *chaos) options() work.Options { return work.Options{Logger: quiet, Concurrency: 1} }
