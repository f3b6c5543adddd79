package automation

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// page is some sources on their way from a question to their rows: the one of an event or
// of [Reminders.Set], a page of a scan or of a re-plan, or one that is explained. What they
// want is planned ahead of the transaction, taken into it behind the sources' rows, and
// compared with the rows: applied, or only told.
type page struct {
	s          *core
	t          ReminderType
	scope      Scope
	sourceType string   // of all sources
	origin     string   // the Type of the event that its writes name
	setting    string   // whose open rows it was made of; empty but in a re-plan
	units      []string // those of other business units stay as they are; none: all are meant
	now        time.Time
	sources    []*pageSource
	next       string
	done       bool
	patient    bool // it fails if none of several sources can be planned
	explains   bool // it says of each plan why there is a row, or none
	// asks says what the source of an event, or of a Set, wants; nil: the provider of t does.
	asks func(ctx context.Context, x *pageSource)
	// given says that asks depends on nothing of the source, so that it need not be asked again
	// behind its row.
	given  bool
	epochs epochs // in which its sources were planned ahead
}

// pageSource is a source with what it wants and what is different.
type pageSource struct {
	event Event
	plan  eventPlan
	found found
	asked []plan  // those of plan, measured
	err   error   // of its provider; nothing of it is compared
	at    stamped // its row, once that is taken
	stale bool    // it has shown a newer version
}

// planAhead plans all sources before the transaction. An event without a version is asked
// about inside it alone.
func (p *page) planAhead(ctx context.Context) (err error) {
	if p.asks != nil && !p.given && p.sources[0].event.Version == 0 {
		return nil
	}
	ahead := p.s.epochsAhead
	switch {
	case p.given:
		ahead = p.s.epochsOfUnits
	case p.origin == EventReplan: // the mark is newer than what is remembered
		ahead = p.s.epochsNow
	}
	if p.epochs, err = ahead(ctx, p.scope); err == nil {
		err = p.plan(remembering(ctx), p.sources)
	}
	if err != nil || p.asks != nil && versioned(p.sources[0].plan.plans) {
		return err // the settings are loaded behind the row of the source
	}
	_, err = p.loadSettings(ctx, p.sources)
	return err
}

// plan asks what sources want. A source whose provider fails stands for itself; the error
// is for all of them.
func (p *page) plan(ctx context.Context, among []*pageSource) error {
	for _, x := range among {
		x.plan, x.err = eventPlan{}, nil
	}
	p.ask(ctx, among)
	for _, x := range among {
		if x.err == nil {
			x.err = p.elsewhere(x)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// loadSettings notes which settings of sources are off.
func (p *page) loadSettings(ctx context.Context, among []*pageSource) ([]Setting, error) {
	var spoken []string
	for _, x := range among {
		spoken = append(spoken, x.plan.spoken...)
	}
	slices.Sort(spoken)
	loaded, err := p.s.settings(ctx, p.scope, slices.Compact(spoken))
	off := offAmong(loaded)
	for _, x := range among {
		x.plan.off = off
	}
	return loaded, err
}

// ask asks what sources want. In a re-plan the open rows of its setting end if that is off,
// whether or not the provider speaks for it.
func (p *page) ask(ctx context.Context, among []*pageSource) {
	if p.asks != nil {
		p.asks(ctx, among[0])
		return
	}
	now, errs := make([]desired, len(among)), make([]error, len(among))
	if p.t.Triggers != nil {
		of := make([]Request, len(among))
		for i, x := range among {
			of[i] = Request{Scope: p.scope, Source: x.event.Source}
			if p.origin == EventReconcile {
				of[i].Event = x.event
			}
		}
		now, errs = p.s.planner().desired(ctx, p.t, of)
	}
	for i, x := range among {
		if x.err = errs[i]; x.err != nil {
			continue
		}
		x.plan.plans, x.plan.spoken = now[i].plans, now[i].spoken
		if p.origin != EventReconcile {
			x.event.Version = now[i].version
		}
		if p.setting != "" && !slices.Contains(x.plan.spoken, p.setting) {
			x.plan.spoken, x.plan.keeps = append(x.plan.spoken, p.setting), p.setting
		}
	}
}

// take takes the rows of sources until the transaction ends, and gives those that have not
// shown a newer version. What was planned ahead with something that has changed meanwhile is
// planned again, and so are sources without versions: they may have changed between the
// question and the lock of their row.
func (p *page) take(ctx context.Context, tx storage.Tx, among []*pageSource) (fresh []*pageSource, err error) {
	events := make([]Event, len(among))
	for i, x := range among {
		events[i] = x.event
	}
	got, err := stamp(ctx, tx, events...)
	for i, g := range got {
		x := among[i]
		if x.at, x.stale = g, !g.fresh; g.fresh {
			fresh = append(fresh, x)
		}
	}
	if err != nil || len(fresh) == 0 {
		return fresh, err
	}
	ctx = remembering(within(ctx, tx))
	again, err := p.outdated(ctx, tx, fresh)
	if err == nil && len(again) > 0 {
		if err = p.plan(ctx, again); err == nil {
			_, err = p.loadSettings(ctx, again)
		}
	}
	return fresh, err
}

// outdated are the sources that have to be asked about once more. A setting may also be
// newer than a plan says that it was made with.
func (p *page) outdated(ctx context.Context, tx storage.Tx, among []*pageSource) (again []*pageSource, err error) {
	outdated, err := p.s.outdated(ctx, tx, p.epochs)
	if err != nil {
		return nil, err
	}
	var ahead []*pageSource
	for _, x := range among {
		unversioned := !p.given && (x.event.Version == 0 || x.at.others)
		if unversioned && p.origin == EventReconcile {
			x.event.Data = nil
		}
		switch {
		case outdated || unversioned:
			again = append(again, x)
		case versioned(x.plan.plans):
			ahead = append(ahead, x)
		}
	}
	if len(ahead) == 0 {
		return again, nil
	}
	loaded, err := p.loadSettings(ctx, ahead)
	for _, x := range ahead {
		if older(loaded, x.plan.plans) {
			again = append(again, x)
		}
	}
	return again, err
}

// planned are the sources that can be compared.
func (p *page) planned() []*pageSource {
	return p.pick(func(x *pageSource) bool { return x.err == nil })
}

func (p *page) pick(wanted func(*pageSource) bool) []*pageSource {
	var out []*pageSource
	for _, x := range p.sources {
		if wanted(x) {
			out = append(out, x)
		}
	}
	return out
}
