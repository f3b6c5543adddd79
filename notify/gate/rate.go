package gate

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Rate limits how fast all processes together use a channel: Limit calls per Per in the
// long run, and Burst at once. Messages over the limit wait for about as long as needed.
type Rate struct {
	Channel string        // the key: "sms:twilio"; required
	Limit   int           // 1 to 10,000
	Per     time.Duration // a millisecond to a day
	// Burst is how many calls may be made at once after a pause, 1 to 10,000; default: the
	// calls of a second, at least 1. A tenth of it, rounded down, is reserved for urgent
	// messages.
	Burst int
	// PerScope gives each scope its own limit. Otherwise all scopes share one, and scopes
	// with waiting messages get equal parts.
	PerScope bool
}

// check returns the limit with its defaults, and panics on an invalid one.
func (l Rate) check() Rate {
	if l.Channel == "" || l.Limit < 1 || l.Limit > 10_000 || l.Per < time.Millisecond || l.Per > 24*time.Hour || l.Burst < 0 || l.Burst > 10_000 {
		panic(fmt.Sprintf("gate: New: a rate of %d calls per %v, burst %d, of channel %q: see Rate", l.Limit, l.Per, l.Burst, l.Channel))
	}
	if l.Burst == 0 {
		l.Burst = min(max(int(time.Duration(l.Limit)*time.Second/l.Per), 1), 10_000)
	}
	return l
}

// cost is how long it takes until n more calls are allowed. A call costs whole
// microseconds, the stored unit, rounded up.
func (l Rate) cost(n int) time.Duration {
	micros := (l.Per + time.Duration(l.Limit)*time.Microsecond - 1) / (time.Duration(l.Limit) * time.Microsecond)
	return time.Duration(n) * micros * time.Microsecond
}

// rateBucket stores how much of a limit is used, and how long the messages of its scope
// wait. Its Key is the channel. Scopes that share a limit use the bucket of the empty
// scope. It is never due.
type rateBucket struct {
	storage.Record
	// TakenUntil is when the bucket is full again. It is empty as long as Burst calls before
	// that.
	TakenUntil time.Time `db:"taken_until"`
	// PromisedUntil is when the last waiting message of the scope is retried.
	PromisedUntil time.Time `db:"promised_until"`
}

var rateBuckets = driver.Define[rateBucket]("rate_bucket").Grows(driver.Bounded).
	Kept(driver.Always, "one a channel and tenant")

// take lets one call through, or reports that the limit is reached.
func (b *rateBucket) take(l Rate, now time.Time, urgent bool) bool {
	taken := later(b.TakenUntil, now).Add(l.cost(1))
	room := l.Burst
	if !urgent {
		room -= l.Burst / 10
	}
	if taken.Sub(now) > l.cost(room) {
		return false
	}
	b.TakenUntil = taken
	return true
}

// maxPromise is how far ahead waiting messages are scheduled. Messages beyond it are
// retried at that time and scheduled again.
const maxPromise = time.Hour

// promise is when a message over the limit of bucket from is retried: after the waiting
// messages of its scope b, with room between them for the messages of other waiting
// scopes.
func (b *rateBucket) promise(l Rate, from *rateBucket, waiting int, now time.Time, id string) time.Time {
	next := later(b.PromisedUntil, later(from.TakenUntil.Add(-l.cost(l.Burst)), now)).Add(l.cost(max(waiting, 1)))
	if next.Sub(now) > maxPromise {
		return driver.Time(now.Add(maxPromise/2 + spread(id, maxPromise/2)))
	}
	b.PromisedUntil = next
	return next
}

// rateReservation records that an attempt was let through, so that it is not counted
// again. It is only inserted, and deleted after an hour.
type rateReservation struct {
	storage.Record           // Key: channel, message id and number of the attempt
	ReservedOn     time.Time `db:"reserved_on,fixed"`
}

var rateReservations = driver.Define[rateReservation]("rate_reservation").Grows(driver.WithWork).
	Kept("an hour", "a try that was let through is not counted again")

// rateGate enforces the rates. In a process one group counts at a time, so only processes
// contend for a bucket.
type rateGate struct {
	store  storage.Store
	limits map[string]Rate // by channel
	turn   chan struct{}

	// The fields below are guarded by turn.
	waiting map[string]scopesWaiting // by channel that scopes share
	made    int                      // reservations since the last sweep
	sweptOn time.Time                // when that was; zero: not yet
}

// newRateGate panics on an invalid limit, and on two limits of one channel.
func newRateGate(store storage.Store, limits []Rate) *rateGate {
	g := &rateGate{store: store, limits: map[string]Rate{}, turn: make(chan struct{}, 1), waiting: map[string]scopesWaiting{}}
	for _, l := range limits {
		if _, taken := g.limits[l.Channel]; taken {
			panic(fmt.Sprintf("gate: New: two rates of channel %q", l.Channel))
		}
		g.limits[l.Channel] = l.check()
	}
	return g
}

func (*rateGate) Name() string { return "rate" }

func (g *rateGate) Ask(ctx context.Context, a []Attempt) (out []Verdict, err error) {
	out = make([]Verdict, len(a))
	var limited []int
	for i := range a {
		if _, ok := g.limits[a[i].Channel]; ok {
			limited = append(limited, i)
		}
	}
	if len(limited) == 0 {
		return out, nil
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var round *rateRound
	err = counting(ctx, g.store, a[0].DryRun, func(from driver.Reader) (err error) {
		round, err = g.count(ctx, from, a, limited, out)
		return err
	}, func(tx storage.Tx) error { return round.write(ctx, tx) })
	if err == nil && !a[0].DryRun {
		g.sweep(ctx, len(round.made))
	}
	return out, err
}

// count decides, with two statements to read the rows.
func (g *rateGate) count(ctx context.Context, from driver.Reader, a []Attempt, limited []int, out []Verdict) (*rateRound, error) {
	round := &rateRound{limits: g.limits, waiting: g.waiting}
	if err := round.load(ctx, from, a, limited); err != nil {
		return nil, err
	}
	for _, i := range limited {
		if err := g.countWaiting(ctx, from, &a[i]); err != nil {
			return nil, err
		}
	}
	for n, i := range limited {
		out[i] = round.answer(&a[i], round.attempts[n])
	}
	return round, nil
}

// scopesWaiting is how many scopes had messages waiting for a channel, and when.
type scopesWaiting struct {
	n  int
	on time.Time
}

// maxScopes is the limit of counted waiting scopes.
const maxScopes = 1000

// countWaiting counts the scopes that wait for a shared channel, once a second.
func (g *rateGate) countWaiting(ctx context.Context, from driver.Reader, a *Attempt) error {
	since := a.Now.Sub(g.waiting[a.Channel].on)
	if g.limits[a.Channel].PerScope || since >= 0 && since < time.Second {
		return nil
	}
	n, err := rateBuckets.Everywhere().Count(ctx, from, maxScopes, driver.Eq("key", a.Channel), driver.Greater("promised_until", a.Now))
	if err == nil {
		g.waiting[a.Channel] = scopesWaiting{n, a.Now}
	}
	return err
}

// rateRound is the state of one counting transaction.
type rateRound struct {
	limits   map[string]Rate
	attempts []driver.ScopedKey // of the reservations, in the order of the attempts
	reserved map[driver.ScopedKey]*rateReservation
	buckets  map[driver.ScopedKey]*rateBucket
	waiting  map[string]scopesWaiting // by channel
	touched  map[*rateBucket]bool
	made     []*rateReservation
}

func (r *rateRound) load(ctx context.Context, from driver.Reader, a []Attempt, limited []int) (err error) {
	var buckets []driver.ScopedKey
	for _, i := range limited {
		r.attempts = append(r.attempts, driver.ScopedKey{Scope: a[i].Scope, Key: a[i].Key()})
		buckets = append(buckets, r.bucketOf(&a[i]), ofScope(&a[i]))
	}
	if r.reserved, err = rateReservations.GetMany(ctx, from, r.attempts); err != nil {
		return err
	}
	if r.buckets, err = rateBuckets.GetMany(ctx, from, buckets); err != nil {
		return err
	}
	r.touched = map[*rateBucket]bool{}
	for _, p := range buckets {
		if r.buckets[p] == nil {
			r.buckets[p] = &rateBucket{Record: storage.Record{Scope: p.Scope, Key: p.Key}}
		}
	}
	return nil
}

// bucketOf is the key of an attempt's bucket.
func (r *rateRound) bucketOf(a *Attempt) driver.ScopedKey {
	if r.limits[a.Channel].PerScope {
		return ofScope(a)
	}
	return driver.ScopedKey{Scope: "", Key: a.Channel}
}

// ofScope is the key of the row that stores how long the messages of an attempt's scope
// wait.
func ofScope(a *Attempt) driver.ScopedKey {
	return driver.ScopedKey{Scope: a.Scope, Key: a.Channel}
}

func (r *rateRound) answer(a *Attempt, at driver.ScopedKey) Verdict {
	if r.reserved[at] != nil {
		return Proceed()
	}
	l, b := r.limits[a.Channel], r.buckets[r.bucketOf(a)]
	r.touched[b] = true
	if !b.take(l, a.Now, a.Urgent) {
		own := r.buckets[ofScope(a)]
		r.touched[own] = true
		return Defer(own.promise(l, b, r.waiting[a.Channel].n, a.Now, a.MessageID), reasons.RateLimit)
	}
	made := &rateReservation{Record: storage.Record{Scope: at.Scope, Key: at.Key}, ReservedOn: a.Now}
	r.reserved[at], r.made = made, append(r.made, made)
	return Proceed()
}

// write stores the changed buckets and reservations, in at most three statements.
func (r *rateRound) write(ctx context.Context, tx storage.Tx) error {
	if err := upsert(ctx, tx, rateBuckets, slices.Collect(maps.Keys(r.touched))); err != nil {
		return err
	}
	_, err := rateReservations.Insert(ctx, tx, r.made...)
	return err
}

// A reservation is kept for longer than any lease. Old ones are deleted, some hundreds at
// a time, whenever new ones are made and an hour has passed since the last deletion.
const (
	reservationAge = time.Hour
	sweepAfter     = 250
)

// sweep deletes old reservations of all scopes if it is time. The next call finds the
// rest, so errors are ignored.
func (g *rateGate) sweep(ctx context.Context, made int) {
	g.made += made
	now := driver.Now(g.store)
	if g.made < sweepAfter && now.Sub(g.sweptOn) < reservationAge {
		return
	}
	more := false
	err := g.store.InTx(ctx, func(tx storage.Tx) (err error) {
		more, err = sweepOnce(ctx, tx, now.Add(-reservationAge))
		return err
	})
	if err == nil && !more {
		g.made, g.sweptOn = 0, now
	}
}

// sweepOnce reads the first rows of the table, which are the oldest or nearly so; this
// needs no index on a time. It reports whether there may be more.
func sweepOnce(ctx context.Context, tx storage.Tx, before time.Time) (more bool, err error) {
	first, err := rateReservations.Everywhere().Find(ctx, tx, driver.Query{Columns: []string{"version", "reserved_on"}, Limit: 2 * sweepAfter})
	if err != nil {
		return false, err
	}
	old := slices.DeleteFunc(first, func(r *rateReservation) bool { return !r.ReservedOn.Before(before) })
	err = rateReservations.Delete(ctx, tx, old...)
	if errors.Is(err, storage.ErrStale) { // another process has deleted them
		err = nil
	}
	return len(old) == 2*sweepAfter, err
}

// spread is a duration from zero to less than limit, derived from text.
func spread(text string, limit time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // a hash never fails
	return time.Duration(h.Sum64() % uint64(max(limit, 1)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return driver.Time(a)
	}
	return b
}
