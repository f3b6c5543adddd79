package notify

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// rateGate keeps the rate limits. In one process one group counts at a time, so
// that a bucket is contended by processes only.
type rateGate struct {
	store  storage.Store
	limits map[string]RateLimit // by channel
	turn   chan struct{}

	mu   sync.Mutex
	owed map[Scope]int // reservations made since the last sweep
}

// newRateGate panics on a limit that is none, and on two of one channel.
func newRateGate(store storage.Store, limits []RateLimit) *rateGate {
	g := &rateGate{store: store, limits: map[string]RateLimit{}, turn: make(chan struct{}, 1), owed: map[Scope]int{}}
	for _, l := range limits {
		if _, taken := g.limits[l.Channel]; taken {
			panic(fmt.Sprintf("notify: Gates: two rates of channel %q", l.Channel))
		}
		g.limits[l.Channel] = l.check()
	}
	return g
}

func (*rateGate) name() string { return "rate" }

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
	var made []*rateReservation
	err = counting(ctx, g.store, func(tx storage.Tx) (err error) {
		made, err = g.count(ctx, tx, a, limited, out)
		return err
	})
	if err == nil {
		g.sweep(ctx, made)
	}
	return out, err
}

// count answers in one transaction, with two statements a scope for what is known
// and three for what is new.
func (g *rateGate) count(ctx context.Context, tx storage.Tx, a []Attempt, limited []int, out []Verdict) ([]*rateReservation, error) {
	round := &rateRound{limits: g.limits}
	if err := round.load(ctx, tx, a, limited); err != nil {
		return nil, err
	}
	for n, i := range limited {
		out[i] = round.answer(&a[i], round.attempts[n])
	}
	if a[0].DryRun {
		return nil, nil
	}
	if err := upsert(ctx, tx, rateBuckets, round.changed()); err != nil {
		return nil, err
	}
	_, err := rateReservations.Insert(ctx, tx, round.made...)
	return round.made, err
}

// rateRound is one transaction of counting.
type rateRound struct {
	limits   map[string]RateLimit
	attempts []place // of the reservations, in the order of the attempts
	reserved map[place]*rateReservation
	buckets  map[place]*rateBucket
	touched  map[*rateBucket]bool
	made     []*rateReservation
}

func (r *rateRound) load(ctx context.Context, tx storage.Tx, a []Attempt, limited []int) (err error) {
	var buckets []place
	for _, i := range limited {
		key := joined(keyPart(a[i].Channel), keyPart(a[i].MessageID), strconv.Itoa(a[i].Number))
		r.attempts = append(r.attempts, place{a[i].Scope, key})
		buckets = append(buckets, r.bucketOf(&a[i]))
	}
	if r.reserved, err = loadPlaces(ctx, tx, rateReservations, r.attempts); err != nil {
		return err
	}
	if r.buckets, err = loadPlaces(ctx, tx, rateBuckets, buckets); err != nil {
		return err
	}
	r.touched = map[*rateBucket]bool{}
	for _, p := range buckets {
		if r.buckets[p] == nil {
			r.buckets[p] = &rateBucket{Record: storage.Record{Scope: p.scope, Key: p.key}}
		}
	}
	return nil
}

// bucketOf is where the bucket of an attempt is.
func (r *rateRound) bucketOf(a *Attempt) place {
	if r.limits[a.Channel].PerScope {
		return place{a.Scope, a.Channel}
	}
	return place{"", a.Channel}
}

func (r *rateRound) answer(a *Attempt, at place) Verdict {
	if r.reserved[at] != nil {
		return Proceed()
	}
	l, b := r.limits[a.Channel], r.buckets[r.bucketOf(a)]
	r.touched[b] = true
	if !b.take(l, a.Now, a.Urgent) {
		return Defer(b.promise(l, a.Now, a.MessageID), ReasonRateLimit)
	}
	made := &rateReservation{Record: storage.Record{Scope: at.scope, Key: at.key}, ReservedOn: a.Now}
	r.reserved[at], r.made = made, append(r.made, made)
	return Proceed()
}

func (r *rateRound) changed() []*rateBucket {
	out := make([]*rateBucket, 0, len(r.touched))
	for b := range r.touched {
		out = append(out, b)
	}
	return out
}

// A reservation is kept for longer than any lease lasts. Old ones are deleted as
// new ones are made, some hundreds at a time.
const (
	reservationAge = time.Hour
	sweepAfter     = 250
)

// sweep deletes old reservations of the scopes that have made many. What it leaves
// the next one finds, so its errors are nobody's business.
func (g *rateGate) sweep(ctx context.Context, made []*rateReservation) {
	for _, scope := range g.owing(made) {
		_ = g.store.InTx(ctx, func(tx storage.Tx) error {
			old, err := rateReservations.Find(ctx, tx, scope, storage.Query{
				Columns: []string{"version"}, Where: []storage.Cond{storage.Less("reserved_on", storage.Now(g.store).Add(-reservationAge))},
				OrderBy: "reserved_on", Limit: 2 * sweepAfter,
			})
			if err != nil {
				return err
			}
			return rateReservations.Delete(ctx, tx, old...)
		})
	}
}

// owing counts what was made and tells which scopes are to be swept.
func (g *rateGate) owing(made []*rateReservation) (scopes []Scope) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range made {
		if g.owed[r.Scope]++; g.owed[r.Scope] >= sweepAfter {
			delete(g.owed, r.Scope)
			scopes = append(scopes, r.Scope)
		}
	}
	return scopes
}
