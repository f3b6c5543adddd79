package calls

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
)

// Bound is how many calls of one kind are made at once. Key is comparable. A call takes
// Weight of Most; zero is one. One that takes more goes when no other is under way. Limit
// says what Most is now, if that is less; nil: it is Most.
type Bound struct {
	Key    any
	Most   int
	Weight int
	Limit  func() int
}

// most is what calls may take now.
func (b Bound) most() int {
	if b.Limit == nil {
		return b.Most
	}
	return min(b.Most, b.Limit())
}

func (b Bound) weight() int { return cmp.Or(b.Weight, 1) }

// Process has the slots of this process: a channel has so many connections, whichever
// service calls it.
var Process Slots

// OfChannel bounds the calls of a channel. One that cannot be compared is known by
// instead.
func OfChannel(channel, instead any, most int) Bound {
	if v := reflect.ValueOf(channel); v.IsValid() && v.Comparable() {
		return Bound{Key: channel, Most: most}
	}
	return Bound{Key: instead, Most: most}
}

// Slots count the calls under way. The zero value has none. Its methods may be called
// from any number of goroutines.
type Slots struct {
	mu      sync.Mutex
	used    map[any]int
	waiting map[any]map[chan struct{}]bool // items that found no slot of a kind
}

// Take takes a slot of each of the bounds if all have one.
func (s *Slots) Take(bounds []Bound) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, full := s.take(bounds)
	return !full
}

// take returns the kind that has no slot.
func (s *Slots) take(bounds []Bound) (kind any, full bool) {
	for _, b := range bounds {
		if used := s.used[b.Key]; used > 0 && used+b.weight() > b.most() {
			return b.Key, true
		}
	}
	if s.used == nil {
		s.used = map[any]int{}
	}
	for _, b := range bounds {
		s.used[b.Key] += b.weight()
	}
	return nil, false
}

// Give gives back what Take took.
func (s *Slots) Give(bounds []Bound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bounds {
		if s.used[b.Key] -= b.weight(); s.used[b.Key] <= 0 {
			delete(s.used, b.Key)
		}
		for freed := range s.waiting[b.Key] {
			select {
			case freed <- struct{}{}:
			default: // it has heard of another
			}
		}
	}
}

// awaited reports whether an item waits for a slot of one of the bounds.
func (s *Slots) awaited(bounds []Bound) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(bounds, func(b Bound) bool { return len(s.waiting[b.Key]) > 0 })
}

// takeSome takes slots for as many items as have one, and waits until one has. It holds
// none while it waits, which prevents deadlocks. None taken: ctx has ended.
func takeSome[T any](ctx context.Context, s *Slots, items []T, bounds func(T) []Bound) (taken, left []T) {
	freed := make(chan struct{}, 1)
	for {
		taken, left, leave := takeNow(s, items, bounds, freed)
		if len(taken) > 0 {
			return taken, left
		}
		select {
		case <-ctx.Done():
		case <-freed:
		}
		leave()
		if ctx.Err() != nil {
			return nil, items
		}
	}
}

// takeNow takes what it can. If that is nothing, freed hears of every slot of their
// kinds that is given back, until leave is called.
func takeNow[T any](s *Slots, items []T, bounds func(T) []Bound, freed chan struct{}) (taken, left []T, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := map[any]bool{}
	for _, it := range items {
		kind, full := s.take(bounds(it))
		if !full {
			taken = append(taken, it)
			continue
		}
		left, kinds[kind] = append(left, it), true
	}
	if len(taken) > 0 {
		return taken, left, nil
	}
	s.wait(kinds, freed)
	return nil, left, func() { s.leave(kinds, freed) }
}

func (s *Slots) wait(kinds map[any]bool, freed chan struct{}) {
	if s.waiting == nil {
		s.waiting = map[any]map[chan struct{}]bool{}
	}
	for kind := range kinds {
		if s.waiting[kind] == nil {
			s.waiting[kind] = map[chan struct{}]bool{}
		}
		s.waiting[kind][freed] = true
	}
}

func (s *Slots) leave(kinds map[any]bool, freed chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind := range kinds {
		if delete(s.waiting[kind], freed); len(s.waiting[kind]) == 0 {
			delete(s.waiting, kind)
		}
	}
}
