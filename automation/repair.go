package automation

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// repair brings the rows of sources to what they want, as HandleEvent does: it
// takes the sources' rows first, leaves alone those that have shown a newer
// version, records readings, compares once more, and then deactivates before it
// ensures.
func (p *scannedPage) repair(ctx context.Context, tx storage.Tx, different []*scannedSource) error {
	if err := p.stamp(ctx, tx, different); err != nil {
		return err
	}
	var fresh []*scannedSource
	for _, x := range different {
		if x.stale {
			continue
		}
		if err := p.reload(within(ctx, tx), x); err != nil {
			return err
		}
		if x.err == nil {
			fresh = append(fresh, x)
		}
	}
	var plans []plan
	for _, x := range fresh {
		plans = append(plans, readAt(x.event.Version, x.plan.plans)...)
	}
	if _, err := recordReadings(ctx, tx, plans); err != nil {
		return err
	}
	if err := p.compare(ctx, tx, fresh); err != nil {
		return err
	}
	if err := p.end(ctx, tx, fresh); err != nil {
		return err
	}
	return p.ensure(ctx, tx, fresh)
}

func (p *scannedPage) stamp(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	events := make([]Event, len(among))
	for i, x := range among {
		events[i] = x.event
	}
	got, err := stamp(ctx, tx, events...)
	for i, g := range got {
		among[i].stale = !g.fresh
	}
	return err
}

// reload asks again about a source without versions, which may have changed
// between the page and its row's lock.
func (p *scannedPage) reload(ctx context.Context, x *scannedSource) error {
	if x.event.Version != 0 {
		return nil
	}
	x.event.Data = nil
	if x.err = p.plan(ctx, x); x.err != nil {
		return ctx.Err()
	}
	return p.s.planSettings(ctx, x.event, route{}, &x.plan)
}

// end deactivates the rows that no source asks for.
func (p *scannedPage) end(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	reasons := map[string]Reason{}
	var keys []string
	for _, x := range among {
		for _, d := range x.found.differences {
			if d.Kind == WouldDeactivate {
				reasons[d.Key], keys = Reason(d.Detail), append(keys, d.Key)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	_, err := p.s.deactivate(ctx, tx, p.origin(), []storage.Cond{storage.In("key", keys)}, func(row *Schedule) (Reason, bool) {
		return reasons[row.Key], true
	})
	return err
}

// ensure makes sure of the wanted rows that are different.
func (p *scannedPage) ensure(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	var plans []plan
	for _, x := range among {
		different := map[string]bool{}
		for _, d := range x.found.differences {
			different[d.Key] = d.Kind != WouldDeactivate && !d.settled
		}
		for _, plan := range x.asked {
			if different[plan.want.Key] && !x.plan.off[plan.want.Setting] {
				plans = append(plans, plan)
			}
		}
	}
	if len(plans) == 0 {
		return nil
	}
	_, err := p.s.ensure(ctx, tx, plans, p.origin()) // a conflict has put its own row on hold
	return err
}

// origin is what the rows name as the event that wrote them.
func (p *scannedPage) origin() Event { return Event{Scope: p.scope, Type: EventReconcile} }

// findStale says which sources a repair would leave alone. It writes nothing.
func (p *scannedPage) findStale(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	keys := make([]string, len(among))
	bySource := map[string]*scannedSource{}
	for i, x := range among {
		state, err := newSourceState(x.event)
		if err != nil {
			return err
		}
		keys[i], bySource[x.event.Source.ID] = state.Key, x
	}
	shown, err := sources.Find(ctx, tx, p.scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
	for _, state := range shown {
		x := bySource[state.Source]
		x.stale = x.event.Version != 0 && x.event.Version < state.SourceVersion
	}
	return err
}
