package work

import (
	"context"
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// A line is a part of the due order that is claimed with cursors of its own. What
// keeps up shares one line. A kind with as many rows in flight as it may have, and
// a scope that floods a lane with one kind, get a line aside until they have caught
// up: nobody waits behind them, and nobody walks over their rows again and again.
type line struct {
	of    part
	kind  string        // of a line aside
	scope storage.Scope // of a flood

	lanes lanes
	open  lanes // those with room, as of the last turn
	young newcomers
	hot   bool // the last claim was full, so the next one needs no peek

	asked  time.Time     // when, for the last time
	peeked time.Duration // how long the last peek took
}

// part says which rows are of a line.
type part byte

const (
	everything part = iota // for a single poll
	theRest                // what no line aside has
	oneKind                // but for its floods
	flood                  // one kind in one scope
)

// maxFloods is how many lines of floods there are at most.
const maxFloods = 8

// seen is how long ago a row has to be due for a line to have seen it surely, when
// it came to the end of what is due: others may still commit younger ones.
const seen = 2 * time.Second

func (r *runner[R, A]) newLine(of part) *line {
	l := &line{of: of, lanes: newLanes(r.o.Lanes), young: newcomers{pace: lookBack{clock: r.mono}}}
	l.open = l.lanes
	for _, lane := range l.lanes {
		lane.look.clock = r.mono
	}
	return l
}

// aside gives a kind, or a flood, a line that goes on where another line is.
func (r *runner[R, A]) aside(of part, kind string, scope storage.Scope, from *line) {
	l := r.newLine(of)
	l.kind, l.scope, l.hot = kind, scope, of == flood
	for i, lane := range from.lanes {
		l.lanes[i].at, l.lanes[i].look.last = lane.at, r.mono.Now()
	}
	r.asides = append(r.asides, l)
	from.asked = time.Time{} // it has more, as far as anybody knows
	for _, lane := range from.lanes {
		lane.cutOff(r.now())
	}
}

// cutOff has a line that is behind look from the start for what is left of it, at once,
// and go on at the present. Between the two may be any number of rows of a line aside,
// over which a look-back walks beside the turns; a peek would keep everybody waiting.
func (l *lane) cutOff(now time.Time) {
	if at := now.Add(-recent); l.at.DueOn.Before(at) {
		l.at, l.look.last = driver.Cursor{DueOn: at}, time.Time{}
	}
}

// lines are all of them, the rest first.
func (r *runner[R, A]) lines() []*line { return append([]*line{r.rest}, r.asides...) }

func (r *runner[R, A]) isAside(of part, kind string, scope storage.Scope) bool {
	return slices.ContainsFunc(r.asides, func(l *line) bool { return l.of == of && l.kind == kind && l.scope == scope })
}

// floods are what has a line of its own in one scope.
func (r *runner[R, A]) floods() (all []driver.ScopedKind) {
	for _, l := range r.asides {
		if l.of == flood {
			all = append(all, driver.ScopedKind{Scope: l.scope, Kind: l.kind})
		}
	}
	return all
}

// floodsOf counts those of a kind, which share its room.
func (r *runner[R, A]) floodsOf(kind string) (n int) {
	for _, f := range r.floods() {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

// setAside gives each kind that has no room any more a line of its own.
func (r *runner[R, A]) setAside() {
	if r.spec.Types == nil {
		return // all rows count as one kind
	}
	for _, kind := range r.flights.kinds(r.full) {
		if !r.isAside(oneKind, kind, "") {
			r.aside(oneKind, kind, "", r.rest)
		}
	}
}

// full reports whether so many rows in flight leave no room for a batch: a whole
// one or none, so that a full pipeline does not claim in dribbles.
func (r *runner[R, A]) full(rows int) bool { return rows+r.o.Batch > r.o.InFlight }

// room is how many rows of a line the next claim may take.
func (r *runner[R, A]) room(l *line) int {
	switch l.of {
	case theRest:
		l.open = l.lanes.with(func(int16) bool { return r.spec.Types != nil || !r.full(r.flights.len()) })
	case oneKind:
		l.open = l.lanes.with(func(lane int16) bool { return !r.full(r.flights.ofKind(l.kind, lane)) })
	case flood:
		share, room := r.roomOf(l)
		if 2*room > share {
			l.open = l.lanes
			return room
		}
		l.open = l.lanes.with(func(lane int16) bool {
			return lane == storage.LaneUrgent && !r.full(r.flights.ofKind(l.kind, lane))
		})
	}
	if len(l.open) == 0 {
		return 0
	}
	return r.o.Batch
}

// roomOf is how many rows a flood may claim at a time, and how many now. Handlers have at
// most half of the rows that its kind may have in flight. What waits to be settled counts
// as well while others have rows, and does not leave its kind without room in any case.
func (r *runner[R, A]) roomOf(l *line) (share, room int) {
	has, floods := r.flights.ofScope(l.scope, l.kind), r.floodsOf(l.kind)
	half, whole := max(r.o.InFlight/2/floods, 1), max((r.o.InFlight-r.o.Batch)/floods, 1)
	if r.company() {
		share = min(half, max(r.o.Batch/4, 1))
		return share, min(half-has.all, share)
	}
	share = min(half, r.o.Batch)
	return share, min(half-has.unhandled, max(whole, half)-has.all, share)
}

// beside notes who has rows while there are floods.
func (r *runner[R, A]) beside(l *line, flooded bool) {
	switch {
	case l.of == flood:
		r.flood = r.mono.Now()
	case flooded:
		r.others = r.mono.Now()
	}
}

// company reports whether others than floods have rows these days: a flood claims less
// at a time then, so that they do not wait for long claims.
func (r *runner[R, A]) company() bool {
	return !r.others.IsZero() && r.mono.Since(r.others) < time.Second
}

// glance is how long others wait while a flood has rows and they had none: to ask them in
// each turn took a tenth of the flood's rate. Where a peek takes long, since it walks over
// what the flood has that is young, they wait for twenty times as long as one, at most for
// longGlance.
const (
	glance     = 50 * time.Millisecond
	longGlance = 250 * time.Millisecond
)

// pause is how long a line that had nothing is not asked again beside a flood, and a flood
// for what is urgent.
func (l *line) pause() time.Duration {
	if l.of == flood {
		return glance
	}
	return max(glance, min(20*l.peeked, longGlance))
}

// glanced is how long a line need not be asked again yet: it had nothing, beside a flood
// that is alone, or it is a flood that has room for what is urgent only.
func (r *runner[R, A]) glanced(l *line) time.Duration {
	quiet := !l.hot && r.mono.Since(r.flood) < l.pause()
	if l.of == flood {
		quiet = l.narrow()
	}
	if !quiet || r.company() {
		return 0
	}
	return l.pause() - r.mono.Since(l.asked)
}

// patient is the context for a line's claims: those of a flood go behind others.
func (l *line) patient(ctx context.Context) context.Context {
	if l.of == flood {
		return driver.Patient(ctx)
	}
	return ctx
}

// narrow reports whether a flood has room for what is urgent only. It asks by a peek then,
// and a claim that was full says nothing: it was of the other lanes.
func (l *line) narrow() bool { return l.of == flood && len(l.open) < len(l.lanes) }

// hungry reports whether a lane for which there was no room has some by now.
func (r *runner[R, A]) hungry() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.lines(), func(l *line) bool {
		had := len(l.open)
		r.room(l)
		return len(l.open) > had
	})
}

// rejoin ends a line aside that has caught up. What it passed over, since there
// was no room for its kind, is behind the cursors: a look-back finds it.
func (r *runner[R, A]) rejoin(l *line) {
	if l.hot || len(l.open) < len(l.lanes) || l.of == theRest || r.looks[l] != nil {
		return
	}
	r.asides = slices.DeleteFunc(r.asides, func(a *line) bool { return a == l })
	for _, lane := range r.rest.lanes {
		lane.look.hinted = true
	}
}

// flooding gives a kind that has a quarter of a full claim of a lane for one scope,
// or more, a line of its own there.
func (r *runner[R, A]) flooding(l *line, asked []driver.LaneClaim, rows []*R) {
	if r.spec.Types == nil || l.of != theRest && l.of != oneKind {
		return
	}
	type share struct {
		lane int16
		of   driver.ScopedKind
	}
	shares, got := map[share]int{}, map[int16]int{}
	for _, row := range rows {
		rec := r.rec(row)
		shares[share{rec.Lane, driver.ScopedKind{Scope: rec.Scope, Kind: rec.Kind}}]++
		got[rec.Lane]++
	}
	for s, n := range shares {
		limit := limitOf(asked, s.lane)
		big := limit >= max(r.o.Batch/4, 2) && got[s.lane] == limit && 4*n >= limit
		if big && len(r.floods()) < maxFloods && !r.isAside(flood, s.of.Kind, s.of.Scope) {
			r.aside(flood, s.of.Kind, s.of.Scope, l)
		}
	}
}

// narrowed is a claim of the rows of a line.
func (r *runner[R, A]) narrowed(l *line, c driver.Claim) driver.Claim {
	only := func(mine func(kind string) bool) {
		c.Kinds = slices.DeleteFunc(slices.Clone(c.Kinds), func(kind string) bool { return !mine(kind) })
	}
	switch l.of {
	case theRest:
		only(func(kind string) bool { return !r.isAside(oneKind, kind, "") })
		c.ExceptKinds = append(slices.Clip(c.ExceptKinds), r.floods()...)
	case oneKind:
		only(func(kind string) bool { return kind == l.kind })
		c.ExceptKinds = append(slices.Clip(c.ExceptKinds), r.floods()...)
	case flood:
		only(func(kind string) bool { return kind == l.kind })
		c.Scopes = []storage.Scope{l.scope}
	}
	return c
}

// passed moves the cursors of a line that came to the end of what is due, while
// lines aside have rows there that it would walk over again.
func (l *line) passed(now time.Time) {
	for _, lane := range l.lanes {
		if at := now.Add(-seen); lane.at.DueOn.Before(at) {
			lane.at = driver.Cursor{DueOn: at}
		}
	}
}
