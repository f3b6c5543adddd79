package automation_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// auditor notes every change of a status in automation_scheduler that was
// committed, as an audit trigger would.
type auditor struct {
	t     *testing.T
	mu    sync.Mutex
	last  map[int]map[int64]string // by transaction and id
	seen  map[int][]states.Edge    // by transaction
	edges []states.Edge
}

// look is the hook of a store.
func (a *auditor) look(c storetest.Call) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case c.Tx != nil:
		a.compare(c)
	case c.Verb == storetest.Committed:
		a.edges = append(a.edges, a.seen[c.Number]...)
	}
	return nil
}

// compare notes what the verb before has changed.
func (a *auditor) compare(c storetest.Call) {
	rows, err := automation.Schedules.Everywhere().Find(a.t.Context(), c.Tx, driver.Query{Limit: 10000})
	if err != nil {
		a.t.Error(err)
	}
	now := map[int64]string{}
	for _, r := range rows {
		now[r.ID] = r.Status
		if from, known := a.last[c.Number][r.ID]; known {
			a.seen[c.Number] = append(a.seen[c.Number], states.Edge{From: from, To: r.Status})
		}
	}
	a.last[c.Number] = now
}

// taken lists what happened, each edge once.
func (a *auditor) taken() []states.Edge {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []states.Edge
	for _, e := range a.edges {
		if e.From != e.To && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// player is a world whose recipients, source and setting do what a story says.
type player struct {
	*world
	history *auditor
	triggers
	during func()       // runs while a worker has the row
	to     func() error // the error of resolving recipients
	valid  bool         // the source
	event  int64        // the version of the last event
}

func newPlayer(t *testing.T) *player {
	clk := clock.NewMock()
	clk.Set(start)
	history := &auditor{t: t, last: map[int]map[int64]string{}, seen: map[int][]states.Edge{}}
	spy := &storetest.Spy{Store: memory.New(&memory.Options{Clock: clk}), Hook: history.look}
	p := &player{world: newWorld(t, spy, clk, nil), history: history, valid: true}
	p.s.Register(certificates(func(t *automation.ReminderType) {
		t.Triggers = p
		t.Validator = automation.ValidatorFunc(func(context.Context, automation.Due) (automation.Validity, error) { return validIf(p.valid), nil })
		t.Recipients = automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
			if p.during != nil {
				p.during()
			}
			if p.to != nil {
				return nil, p.to()
			}
			return []notify.Recipient{sam}, nil
		})
	}))
	return p
}

// tell sends the next event, which wants the row or not.
func (p *player) tell(wanted bool) {
	p.set()
	if wanted {
		p.set(offsets(date(2026, 5, 1), 30)...)
	}
	p.event++
	p.handle(changed(p.event))
}

// due moves the clock to where the row is due and polls.
func (p *player) due() {
	p.t.Helper()
	if row := p.row(certificateKey); row.DueOn.After(driver.Now(p.store)) {
		p.clk.Set(row.DueOn)
	}
	p.poll()
}

func (p *player) is(status string) {
	p.t.Helper()
	if row := p.row(certificateKey); row.Status != status {
		p.t.Fatalf("is %s, want %s: %+v", row.Status, status, row)
	}
}

// Every story ends in the status that it is named after; together they take
// every edge of the table, and no other.
func TestI15_I16_EveryEdgeOfTheTableIsTakenAndNoOther(t *testing.T) {
	t.Parallel()
	fails := func() error { return automation.Permanent(errBoom) }
	var taken []states.Edge
	for _, story := range []struct {
		ends string
		play func(p *player)
	}{
		{automation.StatusCompleted, func(p *player) { p.due() }},
		{automation.StatusPending, func(p *player) { p.to = func() error { return errBoom }; p.due() }},
		{automation.StatusFailed, func(p *player) { p.to = fails; p.due() }},
		{automation.StatusDeactivated, func(p *player) { p.valid = false; p.due() }},
		{automation.StatusDeactivated, func(p *player) { p.tell(false) }},
		{automation.StatusDeactivated, func(p *player) { p.during = func() { p.tell(false) }; p.due() }},
		{automation.StatusDeactivated, func(p *player) { p.to = fails; p.due(); p.tell(false) }},
		{automation.StatusPending, func(p *player) { p.tell(false); p.tell(true) }},
		{automation.StatusPending, func(p *player) { p.to = fails; p.due(); p.do(p.s.Support().Release) }},
		{automation.StatusCancelled, func(p *player) { p.do(p.s.Support().Cancel) }},
		{automation.StatusPending, func(p *player) { p.do(p.s.Support().Cancel); p.do(p.s.Support().Release) }},
		{automation.StatusCancelled, func(p *player) { p.during = func() { p.do(p.s.Support().Cancel) }; p.due() }},
		{automation.StatusCancelled, func(p *player) { p.to = fails; p.due(); p.do(p.s.Support().Cancel) }},
		{automation.StatusCancelled, func(p *player) { p.tell(false); p.do(p.s.Support().Cancel) }},
		{automation.StatusPending, func(p *player) { p.clk.Set(day(2026, 4, 1, 9)); p.claim(time.Minute); p.clk.Add(time.Minute); p.poll() }},
	} {
		p := newPlayer(t)
		p.tell(true)
		p.is(automation.StatusPending)
		story.play(p)
		p.is(story.ends)
		taken = append(taken, p.history.taken()...)
	}
	inTable := map[string]bool{}
	for _, e := range automation.States()[0].Edges {
		inTable[e.From+" to "+e.To] = true
	}
	happened := map[string]bool{}
	for _, e := range taken {
		happened[e.From+" to "+e.To] = true
	}
	if diff := cmp.Diff(inTable, happened); diff != "" {
		t.Errorf("the table (-) and what happened (+): %s", diff)
	}
}
