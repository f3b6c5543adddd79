package notify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/unserved"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Type is a type of notification, known by its name to every process that
// serves it. A job of a type that a process does not know is left to others.
type Type struct {
	// Name is stored with jobs and messages; it is required.
	Name string
	// Renderer makes the parts of a message. Nil is allowed in a process that
	// only ensures or only sends; there the generator leaves such a job to others.
	Renderer Renderer
	// InDoubt says what becomes of a message of which it is unknown whether it
	// was sent. Empty means Hold.
	InDoubt InDoubt
	// Group is the one of Options.Groups that its recipients leave with one click; empty:
	// where there are no groups they leave the type alone, and else its messages carry no
	// link. It is copied onto the message when that is made, as are
	// the two below.
	Group string
	// Mandatory messages pass preferences, caps and unsubscriptions: an invoice.
	Mandatory bool
	// Requested messages answer what the recipient has just asked for: a password reset,
	// a receipt. They pass complaints too, and are Mandatory.
	Requested bool
	// Urgent work goes to the urgent lane and is exempt from quiet hours.
	Urgent bool
	// Digest has recipients get one message for the jobs of a window; the zero value: one
	// for each job. An Urgent or Requested type has none.
	Digest Digest
	// Validity is how long after its time a message may still be sent; then it ends as
	// Expired. Zero: a day for what is urgent, and a week else.
	Validity time.Duration
	// EscalateAfter is how long a message in an inbox may be unread until its recipient,
	// who has a Channel as well, gets it by that: once, and not if it was read or archived
	// meanwhile. One that is snoozed has as long again when it comes back, and is valid for
	// as long again, unless its job says until when. Zero: both are made at once.
	EscalateAfter time.Duration
	// ForgetAfter is how long after the end of a job, campaign or message of the type the
	// same may still be asked for. From then on its stub is deleted, too, once Retention
	// has made one. Zero: for ever.
	ForgetAfter time.Duration
	// Needs is what a channel must be able to do to send the type. A process none of whose
	// channels can refuses the type, a chain sends by those that can, and a message whose
	// channel cannot waits on hold. The zero value: nothing beside what its content asks
	// for.
	Needs channel.Capabilities
	// Revalidator is asked before each call whether the message is still wanted; about those
	// of a campaign only where they were deferred or are tried again. Nil: each is.
	Revalidator Revalidator

	windows *windows // of Digest; nil: none
}

// validUntil is when a message of the type gets stale, if its caller did not say so.
func (t Type) validUntil(said, on time.Time, lane int16) time.Time {
	switch {
	case !said.IsZero():
		return driver.Time(said)
	case t.Validity > 0:
		return driver.Time(on.Add(t.Validity))
	case t.Urgent || lane == storage.LaneUrgent:
		return driver.Time(on.Add(24 * time.Hour))
	}
	return driver.Time(on.Add(7 * 24 * time.Hour))
}

// InDoubt is the policy for a message in doubt, after the provider could not
// tell. It is copied onto the message when that is ensured.
type InDoubt string

// The policies of a message in doubt. Nothing is sent again without one that
// says so.
const (
	Hold       InDoubt = "Hold"       // a person decides; the default
	AssumeSent InDoubt = "AssumeSent" // a lost message is better than a second one
	Resend     InDoubt = "Resend"     // a second message is better than a lost one
	ResendOnce InDoubt = "ResendOnce" // it is sent once more, and then a person decides
)

// Revalidator says whether messages are still wanted, before their calls.
// It is called from several goroutines.
type Revalidator interface {
	// Revalidate answers for each job in order. An error fails the try of all
	// their messages.
	Revalidate(ctx context.Context, jobs []Job) ([]gate.Verdict, error)
}

// RevalidatorFunc is a Revalidator that looks at one job.
type RevalidatorFunc func(ctx context.Context, j Job) (gate.Verdict, error)

// Revalidate calls f for each job.
func (f RevalidatorFunc) Revalidate(ctx context.Context, jobs []Job) ([]gate.Verdict, error) {
	out := make([]gate.Verdict, len(jobs))
	for i, j := range jobs {
		v, err := f(ctx, j)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// check returns t as it is used, and panics on what no program can mean.
func (t Type) check() Type {
	if t.Name == "" {
		panic("notify: Register: a type needs a name")
	}
	if t.Validity < 0 {
		panic(fmt.Sprintf("notify: Register %q: a negative Validity", t.Name))
	}
	if t.EscalateAfter < 0 {
		panic(fmt.Sprintf("notify: Register %q: a negative EscalateAfter", t.Name))
	}
	t.Mandatory = t.Mandatory || t.Requested
	t.InDoubt = cmp.Or(t.InDoubt, Hold)
	switch t.InDoubt {
	case Hold, AssumeSent, Resend, ResendOnce:
	default:
		panic(fmt.Sprintf("notify: Register %q: unknown InDoubt policy %q", t.Name, t.InDoubt))
	}
	windows, err := t.digest()
	if err != nil {
		panic(fmt.Sprintf("notify: Register %q: Digest: %v", t.Name, err))
	}
	t.windows = windows
	if template, ok := t.Renderer.(Template); ok {
		compiled, err := template.compile()
		if err != nil {
			panic(fmt.Sprintf("notify: Register %q: %v", t.Name, err))
		}
		t.Renderer = compiled
	}
	return t
}

// registry holds what a process can serve. Bound copies of a Notifier share it.
type registry struct {
	channels map[string]chain           // by the key that messages ask for; never changes after New
	members  map[string]channel.Channel // those of all chains, by their own keys; likewise

	mu     sync.RWMutex
	types  map[string]Type
	owners map[string]owned.Owner
}

func newRegistry(channels []channel.Channel) *registry {
	r := &registry{channels: map[string]chain{}, members: map[string]channel.Channel{}, types: map[string]Type{}, owners: map[string]owned.Owner{}}
	for i, c := range channels {
		if v := reflect.ValueOf(c); c == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			panic(fmt.Sprintf("notify: New: channel %d is nil (%T)", i+1, c))
		}
		key := c.Key()
		if err := checkMethod(channel.Method(key)); err != nil {
			panic(fmt.Sprintf("notify: New: channel key %q: %v", key, err))
		}
		if r.channels[key] != nil {
			panic(fmt.Sprintf("notify: New: two channels have the key %q", key))
		}
		for _, member := range membersOf(c) {
			r.addMember(member)
			r.channels[key] = append(r.channels[key], way{member, member.Key(), line{Everywhere: true, Channel: member.Key()}})
		}
	}
	return r
}

// addMember adds a channel, which may be in several chains.
func (r *registry) addMember(c channel.Channel) {
	key := c.Key()
	if known := r.members[key]; known != nil && !sameChannel(known, c) {
		panic(fmt.Sprintf("notify: New: two channels have the key %q", key))
	}
	r.members[key] = c
}

// waysOf are the ways by a channel that a source has given a scope. One that the process
// shares has the same line as there.
func (r *registry) waysOf(scope Scope, key string, c channel.Channel) (ways chain) {
	members := membersOf(c)
	for _, member := range members {
		name := member.Key()
		if len(members) == 1 {
			name = key
		}
		at := line{Scope: scope, Channel: name}
		if own := r.members[name]; own != nil && sameChannel(own, member) {
			at = line{Everywhere: true, Channel: name}
		}
		ways = append(ways, way{member, name, at})
	}
	return ways
}

// checkNeeds panics on a type that no channel of this process can send.
func (r *registry) checkNeeds(t Type) {
	var lacks []string
	for _, key := range slices.Sorted(maps.Keys(r.members)) {
		names := channel.CapabilitiesOf(r.members[key]).Lacks(t.Needs)
		if len(names) == 0 {
			return
		}
		lacks = append(lacks, key+" lacks "+strings.Join(names, ", "))
	}
	if len(lacks) > 0 {
		panic(fmt.Sprintf("notify: Register %q: no channel can do what it Needs: %s", t.Name, strings.Join(lacks, "; ")))
	}
}

func (r *registry) register(t Type) {
	t = t.check()
	r.checkNeeds(t)
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
func (n *core) channelKeys() []string {
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

// unservedPass puts on hold what no process can claim, since none has its type or its
// channel, and lets it go on when one has.
func (n *core) unservedPass() unserved.Pass {
	return unserved.Pass{
		Title: "notify.unserved", Store: n.store, After: n.options.UnclaimedAfter, Logger: n.options.Logger,
		Tables: []unserved.Watched{
			unserved.Table[scheduleRow]{
				Rows: schedules, Serves: n.registry.typeNames, Waiting: []string{StatusReady, StatusProcessing}, Hold: reasons.Unserved,
				Stop:    func(now time.Time, s *scheduleRow) { s.unserved(now) },
				Abandon: func(now time.Time, s *scheduleRow) { s.abandoned(now) },
				Resume:  func(now time.Time, s *scheduleRow) { s.releaseHold(now) },
			},
			unserved.Table[jobRow]{
				Rows: jobs, Serves: n.registry.rendered, Waiting: []string{StatusReady, StatusGenerating}, Hold: reasons.Unserved,
				Stop:    func(now time.Time, j *jobRow) { j.unserved(now) },
				Abandon: func(now time.Time, j *jobRow) { j.abandoned(now) },
				Resume:  func(now time.Time, j *jobRow) { j.releaseHold(now) },
			},
			unserved.Table[messagingJobRow]{
				Rows: messagingJobs, Serves: n.registry.rendered, Waiting: []string{StatusReady, StatusGenerating}, Hold: reasons.Unserved,
				Stop:    func(now time.Time, j *messagingJobRow) { j.unserved(now) },
				Abandon: func(now time.Time, j *messagingJobRow) { j.abandoned(now) },
				Resume:  func(now time.Time, j *messagingJobRow) { j.releaseHold(now) },
			},
			unserved.Table[messageRow]{
				Rows: outgoingMessages, Serves: n.channelKeys, Waiting: []string{StatusCreated, StatusRetryReady, StatusSending}, Hold: reasons.Unserved,
				Stop:    func(_ time.Time, m *messageRow) { m.unserved() },
				Abandon: n.abandon,
				Resume:  func(now time.Time, m *messageRow) { m.endHold(now) },
				Saved:   n.tellOwners,
			},
		},
	}
}

// unserved is the hold of a row whose type no process has.
func (t *tried[M]) unserved(now time.Time) {
	t.end(now, StatusFailed)
	t.ReasonCode = reasons.Unserved
	t.SupportHold = onHold(reasons.Unserved)
}

// unserved is the hold of a message whose channel no process has.
func (m *messageRow) unserved() {
	m.ReasonCode = reasons.Unserved
	m.putOnHold(reasons.Unserved)
}
