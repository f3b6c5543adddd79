package automation

// Guarded marks a handler whose runs an old scheduler may do as well; see
// [ReminderType].Guarded. It panics on a nil handler.
func Guarded(h Handler) Handler {
	if h == nil {
		panic("automation: Guarded without a handler")
	}
	return guarded{h}
}

type guarded struct{ Handler }

func (g guarded) unwrap() Handler { return g.Handler }

// guards reports whether runs of that type are under the ownership guard.
func (r *registry) guards(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.guarding {
		return false
	}
	_, guarded := wrapped[guarded](r.handlers[name])
	return guarded || r.reminders[name].Guarded
}

// guardsAny reports whether any type is under the guard.
func (r *registry) guardsAny() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.guarding
}
