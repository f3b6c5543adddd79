package calls

import (
	"cmp"
	"context"
	"reflect"
	"sync"
)

// Bound is how many calls of one kind are made at once. Key is comparable. A call takes
// Weight of Most; zero is one. One that takes more goes when no other is under way.
type Bound struct {
	Key    any
	Most   int
	Weight int
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
	mu    sync.Mutex
	used  map[any]int
	freed chan struct{} // closed when a slot is given back; nil: nobody waits
}

// Take takes a slot of each of the bounds if all have one.
func (s *Slots) Take(bounds []Bound) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(bounds)
}

func (s *Slots) take(bounds []Bound) bool {
	for _, b := range bounds {
		if used := s.used[b.Key]; used > 0 && used+b.weight() > b.Most {
			return false
		}
	}
	if s.used == nil {
		s.used = map[any]int{}
	}
	for _, b := range bounds {
		s.used[b.Key] += b.weight()
	}
	return true
}

// Give gives back what Take took.
func (s *Slots) Give(bounds []Bound) {
	if len(bounds) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bounds {
		if s.used[b.Key] -= b.weight(); s.used[b.Key] <= 0 {
			delete(s.used, b.Key)
		}
	}
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

// takeSome takes slots for as many items as have one, and waits until one has. It
// holds none while it waits, so that nobody waits for ever. None taken: ctx has ended.
func takeSome[T any](ctx context.Context, s *Slots, items []T, bounds func(T) []Bound) (taken, left []T) {
	for {
		taken, left, freed := takeNow(s, items, bounds)
		if len(taken) > 0 {
			return taken, left
		}
		select {
		case <-ctx.Done():
			return nil, items
		case <-freed:
		}
	}
}

func takeNow[T any](s *Slots, items []T, bounds func(T) []Bound) (taken, left []T, freed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		if s.take(bounds(it)) {
			taken = append(taken, it)
		} else {
			left = append(left, it)
		}
	}
	if s.freed == nil {
		s.freed = make(chan struct{})
	}
	return taken, left, s.freed
}
