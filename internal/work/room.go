package work

import (
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Who has room. Rows in flight are counted by kind, lane and tenant. A kind that has as many
// as InFlight in a lane, since its handlers are slow or hang, has no room there; a tenant
// that has a quarter of that has a backlog. Both get a queue of their own: others go on
// beside it, and it goes on from where it was when there is room again.

// backlog is how many rows in flight of one tenant, kind and lane are a backlog.
func (r *runner[R, A]) backlog() int { return max(r.o.InFlight/4, 1) }

// separate gives a queue of its own to each kind that has no room, and to each tenant that
// has a backlog.
func (r *runner[R, A]) separate() {
	if r.spec.Types == nil {
		return // all rows count as one kind
	}
	for _, c := range r.flights.backlogs(r.backlog()) {
		if r.own(oneTenant, c) == nil && r.inBacklogs(c) < 2*r.o.InFlight {
			r.setApart(oneTenant, c)
		}
	}
	for _, c := range r.flights.kinds() {
		if r.own(oneKind, c) == nil && !r.kindHasRoom(c) {
			r.setApart(oneKind, c)
		}
	}
}

// setApart adds a queue that goes on where its rows were claimed before.
func (r *runner[R, A]) setApart(of part, c class) {
	from := r.queues[0]
	if kind := r.own(oneKind, c); kind != nil {
		from = kind
	}
	at := *from.lanes.get(c.lane)
	q := &queue{of: of, kind: c.kind, lanes: lanes{&at}, full: true, restarted: r.mono.Now()}
	if of == oneTenant {
		q.scope = c.scope
	}
	// What else is due lies behind any number of its rows: the next look from the head, which
	// finds it, goes on beside the turns.
	from.full, from.until, from.took = false, time.Time{}, max(from.took, long+1)
	from.lanes.get(c.lane).ended(r.now())
	r.queues = append(r.queues, q)
}

// own is the queue that a kind, or a tenant, has in a lane; nil if it has none.
func (r *runner[R, A]) own(of part, c class) *queue {
	for _, q := range r.queues {
		if q.of == of && q.kind == c.kind && (of == oneKind || q.scope == c.scope) && q.lanes.get(c.lane) != nil {
			return q
		}
	}
	return nil
}

// rejoin ends the queues that have caught up. What is behind the place of the queue that
// its rows return to is found when that one starts again.
func (r *runner[R, A]) rejoin() {
	r.queues = slices.DeleteFunc(r.queues, func(q *queue) bool {
		switch {
		case q.full || q.closed || q.until.IsZero():
			return false
		case q.of == oneTenant:
			return r.flights.of(q.class()).all < r.backlog()
		}
		return q.of == oneKind
	})
}

// class is what is counted of a queue of one lane.
func (q *queue) class() class { return class{q.kind, q.lanes[0].number, q.scope} }

// within are the queues that have rows of another one's lane.
func (r *runner[R, A]) within(q *queue, lane int16) (own []*queue) {
	for _, o := range r.queues {
		in := q.of == shared && o.of != shared || q.of == oneKind && o.of == oneTenant && o.kind == q.kind
		if in && o.lanes.get(lane) != nil {
			own = append(own, o)
		}
	}
	return own
}

// without is a claim of one lane that leaves out what has queues of its own.
func without(c driver.Claim, own []*queue, lane driver.LaneClaim) driver.Claim {
	c.Lanes = []driver.LaneClaim{lane}
	c.Kinds = slices.Clone(c.Kinds)
	for _, o := range own {
		if o.of == oneTenant {
			c.ExceptKinds = append(c.ExceptKinds, driver.ScopedKind{Scope: o.scope, Kind: o.kind})
		} else {
			c.Kinds = slices.DeleteFunc(c.Kinds, func(kind string) bool { return kind == o.kind })
		}
	}
	return c
}

// room is how many rows of a queue the next claim may take.
func (r *runner[R, A]) room(q *queue) int {
	switch q.of {
	case oneKind:
		if !r.kindHasRoom(q.class()) {
			return 0
		}
	case oneTenant:
		return r.tenantsRoom(q.class())
	case shared:
		if r.spec.Types == nil && r.flights.len()+r.o.Batch > r.o.InFlight {
			return 0
		}
	}
	return r.o.Batch
}

// kindHasRoom reports whether a lane has room for a batch of a kind: a whole one or none, so
// that a full pipeline does not claim in dribbles. Tenants with queues of their own count
// apart.
func (r *runner[R, A]) kindHasRoom(c class) bool {
	n := r.flights.ofKind(c)
	for _, q := range r.queues {
		if q.of == oneTenant && q.kind == c.kind && q.class().lane == c.lane {
			n -= r.flights.of(q.class()).all
		}
	}
	return n+r.o.Batch <= r.o.InFlight
}

// tenantsRoom is what a tenant with a backlog may claim: at most half of what the other
// tenants with backlogs leave of InFlight may be in handlers' hands. So each that hangs
// leaves room for the next.
func (r *runner[R, A]) tenantsRoom(c class) int {
	mine := r.flights.of(c)
	limit := max((r.o.InFlight-r.inBacklogs(c))/2, 1)
	quarter := max(r.o.Batch/4, 1)
	room := min(limit-mine.unhandled, r.o.InFlight-mine.all, r.o.Batch)
	if room < min(limit, quarter) {
		return 0
	}
	if r.mono.Since(r.others) < time.Second {
		return min(room, quarter) // others wait less for short transactions
	}
	return room
}

// inBacklogs is how many rows of a kind in a lane are in handlers' hands, of all tenants
// with queues of their own but one.
func (r *runner[R, A]) inBacklogs(but class) (n int) {
	for _, q := range r.queues {
		if q.of == oneTenant && q.kind == but.kind && q.class().lane == but.lane && q.scope != but.scope {
			n += r.flights.of(q.class()).unhandled
		}
	}
	return n
}

// ready reports whether a queue that had no room has some by now, or one has something to
// claim that was found beside the turns.
func (r *runner[R, A]) ready() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.queues, func(q *queue) bool { return (q.full || q.closed) && r.room(q) > 0 })
}

// class is what rows in flight are counted by.
type class struct {
	kind  string
	lane  int16
	scope storage.Scope
}

func classOf(rec *driver.Due) class { return class{rec.Kind, rec.Lane, rec.Scope} }

// ofKind is a class of all tenants.
func (c class) ofKind() class { return class{kind: c.kind, lane: c.lane} }

// count is how many rows of a class are in flight, and how many of them a handler still
// has, or will have; the others wait to be settled.
type count struct{ all, unhandled int }
