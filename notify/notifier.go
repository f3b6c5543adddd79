package notify

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/backlog"
	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/wiring"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Scope is the tenant that a row belongs to; see [storage.Scope].
type Scope = storage.Scope

// Options are the settings of a [Notifier]; nil and every zero value are useful.
type Options struct {
	// HashKey keys the hash of recipients in message keys, so that a reader of
	// the database cannot find a phone number by trying all of them: 32
	// random bytes, the same in every process and for ever, since with another
	// key a repeat would not find the messages of the first run. Empty: a plain
	// hash.
	HashKey []byte
	// FormerHashKeys are those before HashKey. What is stored of recipients under one of
	// them still counts: suppressed addresses, and who without a Ref has opted out. After
	// [Contacts.RotateHashKey] every process needs them. An empty one is the plain hash.
	FormerHashKeys [][]byte
	// Concurrency is how many messages are taken through the gates together, and
	// called at once if their channel bears it; default 64. A poller handles several
	// such groups at once.
	Concurrency int
	// CallTimeout bounds one call of a channel, in real time; default 1 min. A
	// call that exceeds it leaves its message in doubt.
	CallTimeout time.Duration
	// ChannelConcurrency is how many calls of a channel, by its key, this process
	// makes at once over all groups; what the channel says ([channel.Bounded]) holds as well.
	// Notifiers on several stores that are given one channel value share what it bears.
	ChannelConcurrency map[string]int
	// AttachmentBytes is how many bytes of attachments this Notifier holds at once, for
	// messages that are called or about to be; default 64 MiB. A message that alone has
	// more goes when no other has any.
	AttachmentBytes int64
	// Gates are asked, in order, about every message after its claim and before its
	// call: those of package gate, and the host's own. A copied database, pauses,
	// suppressions and preferences keep messages back before these are asked.
	Gates []gate.Gate
	// Channels chooses channels by scope; nil: every scope has the process's own.
	Channels ChannelSource
	// Unsubscribe has messages carry a link by which their recipient can
	// unsubscribe; nil: they carry none. Mandatory types never do.
	Unsubscribe *UnsubscribeOptions
	// MailHeaders names further headers that a message may set ([channel.Mail].Headers), beside
	// Feedback-ID, Importance, Keywords, List-ID, Organization, Precedence, Priority,
	// Sensitivity, X-Auto-Response-Suppress, X-Entity-Ref-ID and X-Priority. New panics
	// on one that the transport makes, or by which a relay is told where to send.
	MailHeaders []string
	// Groups are what recipients can leave with one click, in the order in which a page
	// shows them; types name theirs ([Type].Group). Nil: recipients leave types.
	Groups []Group
	// Catalogue says which types of notification are wanted, and by whom. Nil:
	// every registered type is, by those whom its job names.
	Catalogue Catalogue
	// UnclaimedAfter is how long due work waits for a process that has its type, or the
	// message's channel, while processes without it look on; default 1 h. Then it is on
	// hold for [reasons.Unserved], and goes on when such a process is there.
	UnclaimedAfter time.Duration
	// ReportedBy names the provider of a channel's callbacks by the channel's key, where
	// it is not the name behind the key's colon, and no channel of this process says so
	// itself; see [Reported]. A callback of another provider changes nothing.
	ReportedBy map[string]string
	// Logger gets panics of channels and renderers, and that a gate or a channel
	// source has failed; default slog.Default().
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	out.Concurrency = cmp.Or(max(out.Concurrency, 0), 64)
	out.CallTimeout = cmp.Or(max(out.CallTimeout, 0), time.Minute)
	out.UnclaimedAfter = cmp.Or(max(out.UnclaimedAfter, 0), time.Hour)
	out.AttachmentBytes = cmp.Or(max(out.AttachmentBytes, 0), 64<<20)
	out.Logger = loglimit.Limited(out.Logger)
	return out
}

// Notifier is the [DeliveryDispatcher] over a store, and the service that
// delivers what was dispatched when a poller runs its passes. Its methods may
// be called from any number of goroutines, those of a bound copy (see WithTx)
// from one.
type Notifier struct{ *core }

// core is what the parts of a Notifier share. Each part is a value over it, with the
// methods of one subject.
type core struct {
	store    storage.Store
	tx       storage.Tx // of a bound copy
	options  Options
	registry *registry
	box      *outbox.Box // what the host hears
	hashKey  string      // fingerprint of options.HashKey
	chunk    int         // recipients of a campaign in one transaction

	fingerprints []string // of that key and the former ones

	environment  *environment
	watch        *watch
	gates        []gate.Gate // environment first
	hashKeyCheck *hashKeyCheck
	erasedBefore *erasedMemory
	strangers    *strangers
}

// The parts of a Notifier.
type (
	generator struct{ *core }  // makes messages of jobs and campaigns
	sender    struct{ *core }  // calls channels
	resolver  struct{ sender } // settles doubt
	tracker   struct{ *core }  // takes what providers say afterwards
	erasure   struct{ *core }  // erases people, and knows who was
	retention struct{ *core }  // forgets what is old
)

func (n *core) generator() generator { return generator{n} }
func (n *core) sender() sender       { return sender{n} }
func (n *core) resolver() resolver   { return resolver{n.sender()} }
func (n *core) tracker() tracker     { return tracker{n} }
func (n *core) erasure() erasure     { return erasure{n} }
func (n *core) retention() retention { return retention{n} }
func (n *core) contacts() Contacts   { return Contacts{n} }
func (n *core) campaigns() Campaigns { return Campaigns{n} }
func (n *core) support() Support     { return Support{n} }

// Support is what a support desk does with messages and what leads to them: look, and
// act by audited actions. Its methods may be called from any number of goroutines.
type Support struct{ *core }

// Support gives the actions of a support desk.
func (n *Notifier) Support() Support { return n.support() }

// Campaigns starts, watches and stops messages to many. Its methods may be called from
// any number of goroutines.
type Campaigns struct{ *core }

// Campaigns gives the messages to many.
func (n *Notifier) Campaigns() Campaigns { return n.campaigns() }

// Contacts is what recipients want and where they cannot be reached: preferences,
// unsubscription, suppression. Its methods may be called from any number of goroutines.
type Contacts struct{ *core }

// Contacts gives the wishes of recipients, and the addresses that are not written to.
func (n *Notifier) Contacts() Contacts { return n.contacts() }

var (
	_ DeliveryDispatcher = (*Notifier)(nil)
	_ Registrar          = (*Notifier)(nil)
)

// errForeignTx is a transaction of another store than the service's.
var errForeignTx = errors.New("notify: the transaction belongs to another store")

// New makes a Notifier that sends through channels. A process without channels
// ensures, schedules and renders, and leaves sending to others. New panics on a
// nil store, a nil channel or gate, two channels of one key, a HashKey of less than 16 bytes, a channel's key whose part
// before the colon is not lower-case letters, digits and '-', and an Unsubscribe
// that no program can mean.
func New(store storage.Store, opts *Options, channels ...channel.Channel) *Notifier {
	if store == nil {
		panic("notify: New needs a store")
	}
	n := &Notifier{&core{store: store, options: opts.withDefaults(), registry: newRegistry(channels), chunk: chunkSize}}
	n.box = outbox.New(store, "notify.status", n.options.Logger)
	n.hashKey, n.hashKeyCheck, n.erasedBefore = keys.Fingerprint(n.options.HashKey), &hashKeyCheck{}, &erasedMemory{}
	n.strangers = &strangers{}
	n.fingerprints = []string{n.hashKey}
	for _, key := range n.options.FormerHashKeys {
		n.fingerprints = append(n.fingerprints, keys.Fingerprint(key))
	}
	n.environment = &environment{store: store}
	n.watch = newWatch(store, n.options.Logger, n.options.CallTimeout)
	n.gates = n.allGates(n.options.Gates)
	n.options.Unsubscribe.check()
	if k := len(n.options.HashKey); k > 0 && k < 16 {
		panic(fmt.Sprintf("notify: New: Options.HashKey has %d bytes; it needs 32 random ones, or none for a plain hash", k))
	}
	checkGroups(n.options.Groups)
	checkMailHeaders(n.options.MailHeaders)
	return n
}

// Register makes a type of notification known to this process, which then
// claims schedules and jobs of it. Register it also where its messages are
// sent, or they are not revalidated. It panics on an empty name, a name that
// is registered already, an unknown policy or group, Needs that no channel of this process
// meets, and a Template that does not parse.
func (n *Notifier) Register(t Type) {
	n.checkGroup(t)
	n.registry.register(t)
}

// WithTx is a shallow copy whose Ensure methods belong to tx, which is usually
// a host's own transaction (Join of the adapter). It panics if tx is nil or
// belongs to another store.
func (n *Notifier) WithTx(tx storage.Tx) *Notifier {
	if tx == nil {
		panic("notify: WithTx needs a transaction")
	}
	if !driver.Same(tx.Store(), n.store) {
		panic(errForeignTx.Error())
	}
	bound := *n.core
	bound.tx = tx
	return &Notifier{&bound}
}

// inTx runs f in tx, else in the bound transaction, else in one of its own.
func (n *core) inTx(ctx context.Context, tx storage.Tx, f func(storage.Tx) error) error {
	if tx == nil {
		tx = n.tx
	}
	switch {
	case tx == nil:
		return n.store.InTx(ctx, f)
	case !driver.Same(tx.Store(), n.store):
		return errForeignTx
	}
	return f(tx)
}

// Wiring tells a Poller what the Notifier works on.
func (n *Notifier) Wiring() wiring.Service {
	return wiring.Service{Name: "notify.Notifier", Self: n.registry, Store: n.store, Parts: wiring.Of(n.options.Catalogue)}
}

// read runs f in tx, else in the bound transaction, else over the committed rows of one
// moment, for which it waits for no writer.
func (n *core) read(ctx context.Context, tx storage.Tx, f func(driver.Reader) error) error {
	if tx == nil && n.tx == nil {
		return n.store.View(ctx, f)
	}
	return n.inTx(ctx, tx, func(tx storage.Tx) error { return f(tx) })
}

// newMessageID is 128 random bits in hex: unguessable, and no sequence.
func (n *core) newMessageID() (string, error) {
	id := make([]byte, 16)
	if _, err := io.ReadFull(n.store.Rand(), id); err != nil {
		return "", fmt.Errorf("notify: no randomness for a message id: %w", err)
	}
	return hex.EncodeToString(id), nil
}

// Passes are the passes over the tables of this package, for a poller.
func (n *Notifier) Passes() []work.Pass {
	return []work.Pass{
		n.unservedPass(),
		work.New(n.store, n.generator().schedulerSpec()),
		work.Prepared(work.New(n.store, n.generator().generatorSpec()), n.prepareHashKey),
		work.Prepared(work.New(n.store, n.generator().campaignSpec()), n.prepareHashKey),
		work.New(n.store, n.campaigns().cancelSpec()),
		n.distributorPass(),
		n.resolvePass(),
		n.tracker().trackerPass(),
		n.box.Pass(),
	}
}

func (n *core) distributorPass() work.Pass {
	return work.Prepared(work.New(n.store, n.sender().distributorSpec()), n.sender().prepare)
}

func (n *core) resolvePass() work.Pass {
	return work.Prepared(work.New(n.store, n.resolver().resolveSpec()), n.environment.prepare)
}

// SweepRules say what is deleted with its age, and of people, in the tables of this package
// and in those of its Catalogue, for a poller.
func (n *Notifier) SweepRules() []sweep.Rules {
	e := n.erasure()
	own := sweep.Rules{Domain: "notify", Old: append(n.retention().forgetting(), trackerRules()...), People: e.erasures(), Mark: e.mark, Unmark: e.unmark}
	return append([]sweep.Rules{own}, sweep.RulesOf(n.options.Catalogue)...)
}

// Notify makes sure of a job that goes out at once. It is what a handler calls; see
// [Notifier.NotifyAt].
func (n *Notifier) Notify(ctx context.Context, job Job) (Ensured, error) {
	return n.NotifyAt(ctx, job, time.Time{})
}

// NotifyAt makes sure of a job and of its schedule, in one transaction: that of a bound
// copy (see WithTx), else one of its own. on is when the job is looked at; zero means
// at once. A job without a schedule is never looked at.
//
// The answer is the job's. As with the Ensure methods a repeat changes nothing, the
// first moment included, and a *[ConflictError] says that the job or its schedule
// stands for something else; a job that does is not scheduled.
func (n *Notifier) NotifyAt(ctx context.Context, job Job, on time.Time) (Ensured, error) {
	return n.begun(ctx, ScheduleFor(job, on), func(tx storage.Tx) ([]Ensured, error) {
		return n.EnsureNotificationJob(ctx, tx, job)
	})
}

// begun makes sure of one artifact and of its schedule, in one transaction.
func (n *core) begun(ctx context.Context, plan Schedule, artifact func(storage.Tx) ([]Ensured, error)) (Ensured, error) {
	var out Ensured
	var conflict error
	err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
		out, conflict, err = n.begunIn(ctx, tx, plan, artifact)
		return err
	})
	if err != nil {
		return Ensured{}, err
	}
	return out, conflict
}

// begunIn keeps conflicts apart from errors, since they are recorded in tx.
func (n *core) begunIn(ctx context.Context, tx storage.Tx, plan Schedule, artifact func(storage.Tx) ([]Ensured, error)) (out Ensured, conflict, err error) {
	made, err := artifact(tx)
	if len(made) == 1 {
		out = made[0]
	}
	if err == nil {
		_, err = ensure(ctx, n, tx, scheduleKind, []Schedule{plan}, (*Schedule).row)
	}
	var c *ConflictError
	if errors.As(err, &c) {
		return out, err, nil
	}
	return out, nil, err
}

// logPanic logs err if it is a panic: where it happened, never its value.
func (n *core) logPanic(text string, err error, where slog.Attr) {
	calls.LogPanic(n.options.Logger, text, err, where)
}

// Health tells how messages, what leads to them and what subscribers hear of them are
// doing: in one scope (storage.Within), or everywhere (storage.Everywhere). However
// many rows there are, it looks at no more than ten thousand of each lane that are due
// for longest, and as many holds of each reason, over all scopes. It writes nothing,
// and takes no lock.
func (n *Notifier) Health(ctx context.Context, reach storage.ScopeFilter) (health.Summary, error) {
	read := func(ctx context.Context, f func(driver.Reader) error) error { return n.read(ctx, nil, f) }
	out, err := backlog.Take(ctx, read, reach, backlog.Of(n.dueTables()...), n.box.Health(topicStatus), backlog.Pauses(pauses), backlog.Outages(true))
	if err != nil {
		return health.Summary{}, fmt.Errorf("notify: Health: %w", err)
	}
	return out, nil
}

// dueTables are those with rows that become due. The holds of each are those of its
// states.
func (n *core) dueTables() []backlog.Table {
	tried := []string{reasons.RetriesExhausted, reasons.Refused, reasons.Conflict, reasons.Unserved}
	types, rendered, channels := n.registry.typeNames(), n.registry.rendered(), n.channelKeys()
	return []backlog.Table{
		{Schema: &schedules.Schema, Serves: among(types), Reasons: tried},
		{Schema: &jobs.Schema, Serves: among(rendered), Reasons: tried},
		{Schema: &messagingJobs.Schema, Serves: among(rendered), Reasons: tried},
		{
			Schema: &outgoingMessages.Schema, By: []string{"status"}, Serves: among(channels),
			InDoubt: func(row driver.Row) bool { return driver.RecordOf(row).Status == StatusOutcomeUnknown },
			Reasons: append(tried[:4:4], reasons.OutcomeUnknown), Doubtful: reasons.OutcomeUnknown,
		},
		{Schema: &deliveryEvents.Schema},
	}
}

// among says whether a row's kind is one of these. Every process serves rows of none.
func among(kinds []string) func(driver.Row) bool {
	return func(row driver.Row) bool {
		kind := driver.RecordOf(row).Kind
		return kind == "" || slices.Contains(kinds, kind)
	}
}

// Coming counts what falls due in a scope behind a moment and not after another: jobs and
// campaigns by their type, and messages that are made and wait by their channel; see
// [health.Due]. It counts at most 10,000 of each lane and all scopes, the first of them; more
// says that it did not come to their end.
func (n Support) Coming(ctx context.Context, scope Scope, after, until time.Time) (out []health.Due, more bool, err error) {
	err = n.read(ctx, nil, func(from driver.Reader) error {
		out, more = nil, false
		for _, of := range []*driver.Schema{&schedules.Schema, &outgoingMessages.Schema} {
			found, others, err := backlog.Coming(ctx, from, scope, of, after, until)
			if err != nil {
				return fmt.Errorf("notify: Coming: %w", err)
			}
			out, more = append(out, found...), more || others
		}
		return nil
	})
	return out, more, err
}
