package notify

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/belfry-go/belfry/storage"
)

// registry holds what a process can serve. Bound copies of a Notifier share it.
type registry struct {
	channels map[string]Channel // never changes after New

	mu    sync.RWMutex
	types map[string]Type
}

func newRegistry(channels []Channel) *registry {
	r := &registry{channels: map[string]Channel{}, types: map[string]Type{}}
	for i, c := range channels {
		if c == nil {
			panic(fmt.Sprintf("notify: New: channel %d is nil", i+1))
		}
		key := c.Key()
		if err := checkMethod(Method(key)); err != nil {
			panic(fmt.Sprintf("notify: New: channel key %q: %v", key, err))
		}
		if r.channels[key] != nil {
			panic(fmt.Sprintf("notify: New: two channels have the key %q", key))
		}
		r.channels[key] = c
	}
	return r
}

func (r *registry) register(t Type) {
	t = t.check()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.types[t.Name]; ok {
		panic(fmt.Sprintf("notify: Register: the type %q is registered already", t.Name))
	}
	r.types[t.Name] = t
}

// lookup gives the type of that name; one that is unknown here has no more
// than a name and the default policy.
func (r *registry) lookup(name string) Type {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if t, ok := r.types[name]; ok {
		return t
	}
	return Type{Name: name, InDoubt: Hold}
}

// lane is where work of a type goes that asked for a lane.
func (r *registry) lane(name string, asked int16) int16 {
	if asked == storage.LaneNormal && r.lookup(name).Urgent {
		return storage.LaneUrgent
	}
	return asked
}

// channelKeys are those of the process's own channels and of its source.
func (n *Notifier) channelKeys() []string {
	all := slices.Sorted(maps.Keys(n.registry.channels))
	if n.options.Channels != nil {
		all = append(all, n.options.Channels.Keys()...)
		slices.Sort(all)
	}
	return append([]string{}, slices.Compact(all)...) // not nil, which would mean every key
}

func (r *registry) typeNames() []string { return r.typesWhere(func(Type) bool { return true }) }

// rendered lists the types that this process can render.
func (r *registry) rendered() []string {
	return r.typesWhere(func(t Type) bool { return t.Renderer != nil })
}

func (r *registry) typesWhere(want func(Type) bool) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := []string{} // not nil, which would mean every type
	for name, t := range r.types {
		if want(t) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
