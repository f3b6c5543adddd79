package automation

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/sweep"
)

// registry holds what is registered; bound copies of a scheduler share it.
type registry struct {
	mu        sync.RWMutex
	reminders map[string]ReminderType
	work      map[string]WorkType
	reports   map[string]bool // the names among them that are types of report
	names     []string        // of all, in order; replaced, never changed
	ordinary  []string        // of all but reports, likewise
	reported  []string        // of reports, likewise
	routes    map[string]route
	scanned   []string      // those with a Scan, in order; replaced, never changed
	keeps     []string      // the kinds of automation_reconciliation served here, likewise
	added     chan struct{} // closed when a name is registered, and replaced
	guarding  bool          // a type is under the ownership guard

	reportPage  ReportPage // nil: the subscriptions of reports are not looked after here
	reportRules []sweep.Rules

	leaseLosses atomic.Int64 // rows taken over from other workers
}

// route says which reminder types listen to an event type, and with what.
type route struct{ triggers, invalidations, immediate []string }

func newRegistry() *registry {
	return &registry{
		reminders: map[string]ReminderType{}, work: map[string]WorkType{}, reports: map[string]bool{},
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
	return r.reports[name]
}

// lateness is the policy of the type of that name; none for others.
func (r *registry) lateness(name string) Lateness {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if t, ok := r.work[name]; ok {
		return t.Lateness
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

// workType is a host's type; the zero value where it is not registered here.
func (r *registry) workType(name string) WorkType {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.work[name]
}

func (r *registry) handler(name string) (Handler, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.work[name]
	return t.Handler, ok
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
	return r.work[name].LongRunning || r.reminders[name].LongRunning
}

// How long a group of rows may be with the code of a host, unless its type says so.
const (
	callTimeout     = 15 * time.Minute
	longCallTimeout = 6 * time.Hour
)

// callTimeout is that of a type; reports count as long-running.
func (r *registry) callTimeout(name string) time.Duration {
	r.mu.RLock()
	own := cmp.Or(r.reminders[name].CallTimeout, r.work[name].CallTimeout)
	r.mu.RUnlock()
	if own > 0 {
		return own
	}
	if r.longRunning(name) || r.isReport(name) {
		return longCallTimeout
	}
	return callTimeout
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
	r.names = slices.AppendSeq(r.names, maps.Keys(r.work))
	r.reported = slices.Sorted(maps.Keys(r.reports))
	r.ordinary = slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { return slices.Contains(r.reported, name) })
	r.scanned = slices.DeleteFunc(slices.Sorted(maps.Keys(r.reminders)), func(name string) bool { return r.reminders[name].Scan == nil })
	r.keep()
	r.guarding = r.guarding || r.work[name].Guarded || r.reminders[name].Guarded
	close(r.added)
	r.added = make(chan struct{})
	return true
}

// keep lists what is kept. The lock is held.
func (r *registry) keep() {
	r.keeps = slices.Clone(r.scanned)
	for name := range r.reminders {
		r.keeps = append(r.keeps, replanKind(name))
	}
	if r.reportPage != nil {
		r.keeps = append(r.keeps, TypeReportSubscription)
	}
}

// listen adds the providers of t to the routes, and gives it the Stream of its only
// event. The lock is held.
func (r *registry) listen(t *ReminderType) {
	add := func(types []string, to func(*route)) {
		for _, eventType := range types {
			found := r.routes[eventType]
			to(&found)
			r.routes[eventType] = found
		}
	}
	if t.Triggers != nil {
		events := t.Triggers.EventTypes()
		add(events, func(x *route) { x.triggers = append(x.triggers, t.Name) })
		if len(events) == 1 {
			t.Stream = cmp.Or(t.Stream, events[0])
		}
	}
	if t.Invalidations != nil {
		add(t.Invalidations.EventTypes(), func(x *route) { x.invalidations = append(x.invalidations, t.Name) })
	}
	if t.Immediate != nil {
		add(t.Immediate.EventTypes(), func(x *route) { x.immediate = append(x.immediate, t.Name) })
	}
}

// delivers reports whether runs of any type that is registered here are sent.
func (r *registry) delivers() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.reminders)+len(r.reports) > 0
}

// guards reports whether runs of that type are under the ownership guard.
func (r *registry) guards(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.guarding {
		return false
	}
	return r.work[name].Guarded || r.reminders[name].Guarded
}

// guardsAny reports whether any type is under the guard.
func (r *registry) guardsAny() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.guarding
}

// keepings are the types registered here, of which those rows are forgotten some day
// that their own Retention or the Poller's says so of.
func (r *registry) keepings(keep time.Duration) map[string]keeping {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := map[string]keeping{}
	for name, t := range r.reminders {
		out[name] = keeping{t.Retention.or(keep), max(t.Lateness.CatchUp, defaultCatchUp), t.BusinessDay != nil}
	}
	for name, t := range r.work {
		out[name] = keeping{Retention: t.Retention.or(keep), catchUp: max(t.Lateness.CatchUp, defaultCatchUp)}
	}
	return out
}

// shortest is for how long rows of any type stay at least; zero: for ever.
func (r *registry) shortest(keep time.Duration) (least time.Duration) {
	for _, m := range r.keepings(keep) {
		if m.After > 0 && (least == 0 || m.After < least) {
			least = m.After
		}
	}
	return least
}

// or is r, with what the Poller says where the type does not.
func (r Retention) or(keep time.Duration) Retention {
	if r.After == 0 && keep > 0 {
		r.After = max(keep, minRetention)
	}
	return r
}

// keeping says for how long rows of a type have to be remembered.
type keeping struct {
	Retention
	catchUp time.Duration // no process answers OffsetPassed for less
	shifted bool          // by business days
}

// old reports whether a row ended so long ago that it may be deleted, unless its
// key may still be asked for.
func (m keeping) old(r *scheduleRow, now time.Time) bool {
	if m.After == 0 || r.IsOpen() || r.IsOnSupportHold || r.EndedOn.IsZero() {
		return false
	}
	return !r.EndedOn.After(now.Add(-m.After))
}

func (r *registry) scanReports(read ReportPage, rules []sweep.Rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reportPage, r.reportRules = read, rules
	r.keep()
	close(r.added)
	r.added = make(chan struct{})
}

// rulesOfReports are those that came with them.
func (r *registry) rulesOfReports() []sweep.Rules {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.reportRules
}

// subscriptions is how those of reports are read, if they are looked after here.
func (r *registry) subscriptions() (ReportPage, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.reportPage, r.reportPage != nil
}
