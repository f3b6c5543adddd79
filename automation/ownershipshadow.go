package automation

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// inShadow reports whether the row stands for a run that the old scheduler
// does: it is never due.
func (r *Schedule) inShadow() bool {
	return r.Status == StatusDeactivated && r.ReasonCode == Shadow
}

// shade makes a row that does not exist yet one in shadow.
func (r *Schedule) shade(now time.Time) {
	r.Status, r.ReasonCode, r.EndedOn, r.DueOn = StatusDeactivated, Shadow, now, time.Time{}
}

// decideShadow is decideAt for a wanted row in shadow. What support stopped
// stays stopped.
func decideShadow(now time.Time, stored, want *Schedule) (storage.Outcome, bool) {
	switch {
	case stored.Status == StatusCancelled, stored.inShadow() && stored.sameMoment(want):
		return storage.Unchanged, false
	}
	stored.moveTo(want)
	stored.NextRetryOn = time.Time{}
	stored.dropExpiredLease(now)
	stored.deactivate(now, Shadow)
	return storage.Updated, true
}

// endShadows ends rows in shadow as endRows does those that are open.
func (s *Scheduler) endShadows(ctx context.Context, d *ending, where []storage.Cond) error {
	return s.eachShadow(ctx, d.tx, d.event.Scope, where, func(rows []*Schedule) error { return d.end(ctx, rows) })
}

// eachShadow visits the rows in shadow that where describes, page by page. The
// guard knows where they are, for no index of automation_scheduler does; without
// a type under the guard it costs nothing.
func (s *Scheduler) eachShadow(ctx context.Context, tx storage.Tx, scope Scope, where []storage.Cond, visit func([]*Schedule) error) error {
	if !s.registry.guardsAny() {
		return nil
	}
	guard := slices.DeleteFunc(slices.Clone(where), func(c storage.Cond) bool {
		return !slices.Contains([]string{"setting", "source_type", "source", "key"}, c.Column)
	})
	guard = append(guard, storage.Eq("owner_type", OldScheduler), storage.Null("ended_on"))
	for after := (*storage.Position)(nil); ; {
		found, err := ownerships.Find(ctx, tx, scope, storage.Query{Where: guard, Limit: deactivatePage, After: after})
		if err != nil || len(found) == 0 {
			return err
		}
		rows, err := shadowsAmong(ctx, tx, scope, found, where...)
		if err == nil && len(rows) > 0 {
			err = visit(rows)
		}
		if err != nil {
			return err
		}
		after = &storage.Position{ID: found[len(found)-1].ID}
	}
}

// shadowsAmong are the rows in shadow that stand for runs, if where holds.
func shadowsAmong(ctx context.Context, tx storage.Tx, scope Scope, of []*ownership, where ...storage.Cond) ([]*Schedule, error) {
	keys := make([]string, len(of))
	for i, o := range of {
		keys[i] = o.Key
	}
	where = append(slices.Clone(where), storage.In("key", keys), storage.Eq("status", StatusDeactivated), storage.Eq("reason_code", Shadow))
	return schedules.Find(ctx, tx, scope, storage.Query{Where: where, Limit: len(keys)})
}

// shadowSeries gives a copy of plans that says which of their series are the old
// scheduler's.
func (s *Scheduler) shadowSeries(ctx context.Context, tx storage.Tx, plans []plan) ([]plan, error) {
	out := slices.Clone(plans)
	var parts []RolloutPart
	for _, p := range out {
		if p.series != nil && s.registry.guards(p.want.Type) {
			parts = append(parts, p.want.rolloutPart())
		}
	}
	stages, err := loadStages(ctx, tx, parts)
	for i := range out {
		p := &out[i]
		p.shadow = p.series != nil && s.registry.guards(p.want.Type) && !stages.of(p.want.rolloutPart()).runs(p.want.Key)
	}
	return out, err
}

// shade puts the wanted rows of a reconciliation into shadow where Ensure would.
func (p *scannedPage) shade(ctx context.Context, tx storage.Tx, among []*scannedSource) error {
	var wants []*Schedule
	for _, x := range among {
		x.asked = slices.Clone(x.asked)
		for i := range x.asked {
			wants = append(wants, &x.asked[i].want)
		}
	}
	guard, err := p.s.lookUpOwners(ctx, tx, wants)
	guard.shape(wants)
	return err
}
