package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/hush"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Type is a type of notification, known by its name to every process that
// serves it. A job of a type that a process does not know is left to others.
//
//spec:f-014
type Type struct {
	// Name is stored with jobs and messages; it is required.
	Name string
	// Renderer makes the parts of a message. Nil is allowed in a process that
	// only ensures or only sends; there the generator leaves such a job to others.
	Renderer Renderer
	// InDoubt says what becomes of a message of which nobody can tell whether it
	// was sent. Empty means Hold.
	InDoubt InDoubt
	// Mandatory messages pass complaints and preferences: a password reset. It is
	// copied onto the message when that is made.
	Mandatory bool
	// Urgent work goes to the urgent lane and is exempt from quiet hours.
	Urgent bool
	// Validity is how long after its time a message may still be sent; then it ends as
	// Expired. Zero: a day for what is urgent, and a week else.
	Validity time.Duration
	// Revalidator is asked before a deferred or retried message goes out. Nil
	// means that such a message is always still wanted.
	Revalidator Revalidator
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
	//spec:t-086
	Hold       InDoubt = "Hold"       // a person decides; the default
	AssumeSent InDoubt = "AssumeSent" // a lost message is better than a second one
	Resend     InDoubt = "Resend"     // a second message is better than a lost one
)

// Revalidator says whether messages that waited or failed are still wanted.
// It is called from several goroutines.
type Revalidator interface {
	// Revalidate answers for each job in order. An error fails the try of all
	// their messages.
	Revalidate(ctx context.Context, jobs []Job) ([]Verdict, error)
}

// RevalidatorFunc is a Revalidator that looks at one job.
type RevalidatorFunc func(ctx context.Context, j Job) (Verdict, error)

// Revalidate calls f for each job.
func (f RevalidatorFunc) Revalidate(ctx context.Context, jobs []Job) ([]Verdict, error) {
	out := make([]Verdict, len(jobs))
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
	t.InDoubt = cmp.Or(t.InDoubt, Hold)
	switch t.InDoubt {
	case Hold, AssumeSent, Resend:
	default:
		panic(fmt.Sprintf("notify: Register %q: unknown InDoubt policy %q", t.Name, t.InDoubt))
	}
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

// ChannelSource chooses the channel for each scope: with its own credentials, From
// and Reply-To. It is called from several goroutines, for each group of messages,
// so it keeps the channels that it has made.
//
//spec:f-010
type ChannelSource interface {
	// Keys are the keys that it has channels for. This process claims messages of
	// these beside those of its own channels. It is asked before each claim and may
	// change.
	Keys() []string
	// Channel gives the channel of that key for a scope; its own Key does not
	// matter. Nil without an error leaves the choice to the process's own channel of
	// that key. After an error the messages of the scope are tried again with
	// back-off, and then wait for a person.
	Channel(ctx context.Context, scope Scope, key string) (Channel, error)
}

// channels are those of one key by scope.
type channels struct {
	key     string
	own     Channel
	byScope map[Scope]Channel // nil: all have the process's own
	theirs  map[Scope]bool    // scopes whose channel is not the process's own
}

// line is the channel of a message by whose credentials it has.
func (c channels) line(m *messageRow) line {
	if c.theirs[m.Scope] {
		return line{scope: m.Scope, channel: c.key}
	}
	return line{everywhere: true, channel: c.key}
}

func (c channels) of(m *messageRow) Channel {
	if c.byScope == nil {
		return c.own
	}
	return c.byScope[m.Scope]
}

// channelsOf finds the channels for a group, whose messages have one key. For those
// that cannot be found, failed settles the message.
func (n generator) channelsOf(ctx context.Context, items []sending, failed func(sending)) ([]sending, channels, error) {
	key := items[0].Row.Kind
	out := channels{key: key, own: n.registry.channels[key], theirs: map[Scope]bool{}}
	if n.options.Channels == nil {
		if out.own == nil {
			return nil, out, fmt.Errorf("notify: no channel %q here", key)
		}
		return items, out, nil
	}
	out.byScope = map[Scope]Channel{}
	asked := map[Scope]bool{}
	var open []sending
	for _, it := range items {
		if scope := it.Row.Scope; !asked[scope] {
			asked[scope] = true
			if c, theirs := n.choose(ctx, scope, key, out.own); c != nil {
				out.byScope[scope], out.theirs[scope] = c, theirs
			}
		}
		if out.of(it.Row) == nil {
			failed(it)
			continue
		}
		open = append(open, it)
	}
	return open, out, nil
}

// choose is the channel for a scope, or nil if there is none now, and whether it is the
// scope's.
func (n generator) choose(ctx context.Context, scope Scope, key string, own Channel) (c Channel, theirs bool) {
	err := work.Guard(func() (err error) {
		c, err = n.options.Channels.Channel(ctx, scope, key)
		return err
	})
	n.logPanic("a channel source panicked", err, slog.String("channel", key))
	theirs = c != nil
	if err == nil && c == nil {
		c = own
	}
	if err != nil || c == nil {
		hush.Error(ctx, n.options.Logger, "belfry: no channel", slog.String("channel", key), slog.String("scope", string(scope)))
		return nil, false
	}
	return c, theirs
}

// unserved settles a message whose channel could not be found.
func (n generator) unserved(it sending) {
	now := driver.Now(n.store)
	if it.Ctx.Err() != nil {
		it.Row.released(now)
		return
	}
	it.Row.unasked(now, ReasonNoChannel)
}

// bounds are those of the channels of a group: by the options, and by themselves. A
// call is noted as started when its connection is free, or a crash would leave a doubt
// about a message that only waited for one.
func (n *core) bounds(items []sending, found channels) map[*messageRow][]calls.Bound {
	out := make(map[*messageRow][]calls.Bound, len(items))
	for _, it := range items {
		m := it.Row
		if most, ok := n.options.ChannelConcurrency[m.Kind]; ok {
			out[m] = append(out[m], calls.Bound{Key: [2]any{n.registry, m.Kind}, Most: most})
		}
		c := found.of(m)
		if b, ok := c.(Bounded); ok {
			out[m] = append(out[m], calls.OfChannel(c, [3]any{n.registry, m.Scope, m.Kind}, b.MaxCalls()))
		}
	}
	return out
}
