package automation

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// registry holds what is registered; bound copies of a scheduler share it.
type registry struct {
	mu        sync.RWMutex
	reminders map[string]ReminderType
	handlers  map[string]Handler
	reports   map[string]Lateness // of the handlers of reports
	names     []string            // of all, in order; replaced, never changed
	ordinary  []string            // of all but reports, likewise
	reported  []string            // of reports, likewise
	routes    map[string]route
	scanned   []string      // those with a Scan, in order; replaced, never changed
	added     chan struct{} // closed when a name is registered, and replaced
	guarding  bool          // a type is under the ownership guard

	leaseLosses atomic.Int64 // rows taken over from other workers
}

// route says which reminder types listen to an event type, and with what.
type route struct{ triggers, invalidations, immediate []string }

func newRegistry() *registry {
	return &registry{
		reminders: map[string]ReminderType{}, handlers: map[string]Handler{}, reports: map[string]Lateness{},
		names: []string{}, ordinary: []string{}, reported: []string{}, routes: map[string]route{}, scanned: []string{}, added: make(chan struct{}),
	}
}

// types lists the registered names; no claim takes rows of others.
func (r *registry) types() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names
}

// ordinaryTypes lists those whose rows the due pass takes together.
func (r *registry) ordinaryTypes() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ordinary
}

// reportTypes lists those of reports, and tells when more are added.
func (r *registry) reportTypes() (names []string, added <-chan struct{}) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.reported, r.added
}

func (r *registry) isReport(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.reports[name]
	return ok
}

// lateness is the policy of the type of that name; none for others.
func (r *registry) lateness(name string) Lateness {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if l, ok := r.reports[name]; ok {
		return l
	}
	return r.reminders[name].Lateness
}

// scans lists the reminder types with a Scan, and tells when more are added.
func (r *registry) scans() (names []string, added <-chan struct{}) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.scanned, r.added
}

func (r *registry) reminder(name string) (ReminderType, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.reminders[name]
	return t, ok
}

func (r *registry) handler(name string) (Handler, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	h, ok := r.handlers[name]
	return h, ok
}

// route gives the listeners of an event type, and false if there are none.
func (r *registry) route(eventType string) (route, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found, ok := r.routes[eventType]
	return found, ok
}

// serves reports whether rows of that name are claimed here.
func (r *registry) serves(name string) bool { return name == "" || slices.Contains(r.types(), name) }

// longRunning reports whether rows of that name are retried daily.
func (r *registry) longRunning(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, long := wrapped[longRunning](r.handlers[name])
	return long || r.reminders[name].LongRunning
}

// claim takes a name for one registration and reports whether it was free.
func (r *registry) claim(name string, add func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.names, name) {
		return false
	}
	add()
	r.names = slices.Sorted(maps.Keys(r.reminders))
	r.names = slices.AppendSeq(r.names, maps.Keys(r.handlers))
	r.reported = slices.Sorted(maps.Keys(r.reports))
	r.ordinary = slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return slices.Contains(r.reported, name) })
	r.scanned = slices.DeleteFunc(slices.Sorted(maps.Keys(r.reminders)), func(name string) bool { return r.reminders[name].Scan == nil })
	_, guards := wrapped[guarded](r.handlers[name])
	r.guarding = r.guarding || guards || r.reminders[name].Guarded
	close(r.added)
	r.added = make(chan struct{})
	return true
}

// listen adds the providers of t to the routes. The lock is held.
func (r *registry) listen(t ReminderType) {
	add := func(types []string, to func(*route)) {
		for _, eventType := range types {
			found := r.routes[eventType]
			to(&found)
			r.routes[eventType] = found
		}
	}
	if t.Triggers != nil {
		add(t.Triggers.EventTypes(), func(x *route) { x.triggers = append(x.triggers, t.Name) })
	}
	if t.Invalidations != nil {
		add(t.Invalidations.EventTypes(), func(x *route) { x.invalidations = append(x.invalidations, t.Name) })
	}
	if t.Immediate != nil {
		add(t.Immediate.EventTypes(), func(x *route) { x.immediate = append(x.immediate, t.Name) })
	}
}
