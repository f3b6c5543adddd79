package automation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// healthLimit is how many rows Health counts of each lane and hold reason.
const healthLimit = 1000

// Health tells how the due work of those scopes is doing; none means all of
// them. It is for dashboards and alerts: however many rows there are, it counts
// no more than the thousand of each lane that are due for longest, and a
// thousand holds of each reason, over all scopes, and says where that was not
// all. It writes nothing.
func (s *Scheduler) Health(ctx context.Context, scopes ...Scope) (Health, error) {
	var h Health
	err := s.inTx(ctx, func(tx storage.Tx) error {
		h = Health{On: s.now(), Scopes: slices.Clone(scopes), LeaseLosses: s.registry.leaseLosses.Load()}
		for _, look := range []func(context.Context, storage.Tx, *Health) error{s.lookAtDue, s.lookAtHolds, s.lookAtSeries} {
			if err := look(ctx, tx, &h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Health{}, fmt.Errorf("automation: Health: %w", err)
	}
	return h, nil
}

// covers reports whether the scope is one that was asked for.
func (h *Health) covers(scope Scope) bool {
	return len(h.Scopes) == 0 || slices.Contains(h.Scopes, scope)
}

// lookAtDue counts what is due, lane by lane.
func (s *Scheduler) lookAtDue(ctx context.Context, tx storage.Tx, h *Health) error {
	byType := map[string]*DueRows{}
	for lane, more, err := firstLane(ctx, tx, math.MinInt16); more || err != nil; lane, more, err = firstLane(ctx, tx, lane+1) {
		if err != nil {
			return err
		}
		if err := s.lookAtLane(ctx, tx, h, lane, byType); err != nil {
			return err
		}
		if lane == math.MaxInt16 {
			break
		}
	}
	for _, d := range byType {
		h.Due = append(h.Due, *d)
	}
	slices.SortFunc(h.Due, func(a, b DueRows) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Type, b.Type))
	})
	return nil
}

// firstLane finds the first lane, from that one on, that holds open rows, so
// that rows of a lane that no poller lists are seen as well.
func firstLane(ctx context.Context, tx storage.Tx, from int16) (lane int16, found bool, err error) {
	got, err := schedules.Tally(ctx, tx, storage.AnyScope, storage.Tally{
		By: []string{"lane"}, Where: []storage.Cond{storage.AtLeast("lane", from), storage.NotNull("due_on")},
		OrderBy: "lane", Limit: 1,
	})
	if err != nil || len(got) == 0 {
		return 0, false, err
	}
	return got[0].Row.Lane, true, nil
}

// lookAtLane counts the rows of a lane. Those of one claim share the end of
// their lease, so that groups stay few.
func (s *Scheduler) lookAtLane(ctx context.Context, tx storage.Tx, h *Health, lane int16, byType map[string]*DueRows) error {
	got, err := schedules.Tally(ctx, tx, storage.AnyScope, storage.Tally{
		By:      []string{"scope", "type", "lease_expires_on"},
		Where:   []storage.Cond{storage.Eq("lane", lane), storage.AtMost("due_on", h.On)},
		OrderBy: "due_on", Limit: healthLimit,
	})
	seen := 0
	for _, g := range got {
		seen += g.N
		if h.covers(g.Row.Scope) {
			h.add(byType, g.Row, g.N, s.registry.serves(g.Row.Type))
		}
	}
	h.DueCapped = h.DueCapped || seen == healthLimit
	return err
}

// add counts n rows like one, which is the one due for longest.
func (h *Health) add(byType map[string]*DueRows, row *Schedule, n int, served bool) {
	d := byType[row.Type]
	if d == nil {
		d = &DueRows{Type: row.Type, Served: served}
		byType[row.Type] = d
	}
	switch {
	case row.LeaseExpiresOn.After(h.On):
		d.Held += n
		return
	case !row.LeaseExpiresOn.IsZero():
		d.Abandoned += n
	}
	d.Rows += n
	d.OldestDueOn = earliest(d.OldestDueOn, row.DueOn)
	h.OldestDueOn = earliest(h.OldestDueOn, row.DueOn)
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// lookAtHolds counts what waits for a person.
func (s *Scheduler) lookAtHolds(ctx context.Context, tx storage.Tx, h *Health) error {
	for _, reason := range holdReasons {
		got, err := schedules.Tally(ctx, tx, storage.AnyScope, storage.Tally{
			By:      []string{"scope"},
			Where:   []storage.Cond{storage.Eq("is_on_support_hold", true), storage.Eq("hold_reason", reason)},
			OrderBy: "id", Limit: healthLimit,
		})
		if err != nil {
			return err
		}
		held, seen := HeldRows{Reason: reason}, 0
		for _, g := range got {
			seen += g.N
			if h.covers(g.Row.Scope) {
				held.Rows += g.N
			}
		}
		held.Capped = seen == healthLimit
		if held.Rows > 0 || held.Capped {
			h.Holds = append(h.Holds, held)
		}
	}
	return nil
}
