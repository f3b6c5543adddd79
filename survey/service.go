package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/loglimit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/states"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/wiring"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Scope keeps tenants apart; the empty one is that of a host with a single tenant.
type Scope = storage.Scope

// Options are the settings of a [Service]; nil and every zero value are useful.
type Options struct {
	// SurveyURL is the address of the form, in which {token} stands for the link's
	// token and {publicId} for the instance's PublicID, such as
	// "https://example.com/s/{token}". A process that sends needs it.
	SurveyURL string
	// UnsubscribeURL is the address of the page on which a customer wants no more links,
	// an https one with {token}, such as "https://example.com/s/{token}/unsubscribe":
	// package surveyhttp serves it there. Mails carry it as a header, for one click (RFC
	// 8058), and in their text; empty: they do not.
	UnsubscribeURL string
	// Group is what such a customer leaves, one of the Notifier's Options.Groups, and by
	// which preferences are asked; empty: surveys, all of them.
	Group string
	// LinkKey makes the tokens of links: at least 32 random bytes, the same in every
	// process. Empty: the store makes one for each tenant and keeps it, so that
	// a reader of the database can make links.
	LinkKey []byte
	// OldLinkKeys are the LinkKeys of before. They, and the store's, make the links of
	// instances that were created with them, so that a reminder months later has the link of
	// the first send; what was sent is found without.
	OldLinkKeys [][]byte
	// Renderer makes the text of sends; nil: the definition's messages, else the
	// texts that come with the package.
	Renderer Renderer
	// ExpiryGrace is how long an instance stays open after its last send, and after
	// its event if nothing was sent; default 30 days. A change applies to rows that
	// are saved afterwards.
	ExpiryGrace time.Duration
	// InDoubt says what becomes of a send of which it is unknown whether it happened.
	// By default a reminder counts as sent, since a customer would rather miss one than get
	// it twice, and the first send, without which they are never asked, is made once more and
	// then waits for a person ([notify.ResendOnce]).
	InDoubt notify.InDoubt
	// Sample gives the luck of an event by the key of its instance, from 0 up to but not
	// including 1: it is asked about if that is less than its trigger's share. Nil: from
	// a SHA-256 of the key.
	Sample func(key string) float64
	// ForgetAfter is how long after the end of an instance its event may still be told
	// again. From then on its stub is deleted, too, once Retention has made one. Zero:
	// for ever.
	ForgetAfter time.Duration
	// OpenPerHour is how many responses by open links one address may send in an hour, as each process
	// counts by itself; default 60, negative: any number. See [Response].Address.
	OpenPerHour int
	// CallTimeout bounds one call of a subscriber, in real time; default 1 min.
	CallTimeout time.Duration
	// Elsewhere says that other processes may have channels and subscribers that this one
	// does not, so that [Service.Publish] takes definitions which name them.
	Elsewhere bool
	// ExpectedSubscribers are keys of subscribers that get responses even if no
	// process that has them has run yet: what is for them waits, and is listed.
	ExpectedSubscribers []string
	// Logger gets panics of renderers and subscribers, and why a link or its
	// text could not be made; nothing of the customer. Default slog.Default().
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	out.ExpiryGrace = cmp.Or(max(out.ExpiryGrace, 0), 30*24*time.Hour)
	out.OpenPerHour = cmp.Or(out.OpenPerHour, 60)
	out.CallTimeout = cmp.Or(max(out.CallTimeout, 0), time.Minute)
	if out.Sample == nil {
		out.Sample = luck
	}
	out.Logger = loglimit.Limited(out.Logger)
	return out
}

// Service is the surveys over a store, and the service that has a Notifier send their
// links, expires them and passes responses on when a poller runs its passes. Its methods
// may be called from any number of goroutines, those of a bound copy (see WithTx)
// from one.
type Service struct{ *core }

// core is what the parts of a Service share. Each part is a value over it, with the
// methods of one subject.
type core struct {
	store    storage.Store
	tx       storage.Tx // of a bound copy
	options  Options
	notifier *notify.Notifier
	needs    []wiring.Service // what sends the messages
	out      owned.Sender     // of the notifier
	links    *linkKeyring
	box      *outbox.Box // what subscribers hear
	parsed   *versionCache
	polls    *polls // of PollOnce
	senders  *senders
}

// sender is the part of a Service that makes the messages of links.
type sender struct{ *core }

func (s *core) sender() sender       { return sender{s} }
func (s *core) responses() Responses { return Responses{s} }
func (s *core) support() Support     { return Support{s} }

// Responses reads what customers answered. Its methods may be called from any number
// of goroutines.
type Responses struct{ *core }

// Responses gives what customers answered.
func (s *Service) Responses() Responses { return s.responses() }

// Support is what a support desk does with links and with what subscribers hear: look,
// act, and forget a customer. Its methods may be called from any number of goroutines.
type Support struct{ *core }

// Support gives the actions of a support desk.
func (s *Service) Support() Support { return s.support() }

// errForeignTx is a transaction of another store than the service's.
var errForeignTx = errors.New("survey: the transaction belongs to another store")

// New makes a Service whose links out sends, in pollers that have both: through its
// channels, gates and accounts, and by its rules about doubts, outages and consent. A process
// whose out has no channels publishes, ingests and takes responses, and leaves sending to
// others; nil is such a one. Each process that sends messages of a database with surveys has a
// Service too. New panics on a nil store, an out of another store or that has a Service
// already, an InDoubt that is none, channels without a SurveyURL, a SurveyURL that is not an
// address with {token}, an UnsubscribeURL that is not an https address with one, and a link
// key of fewer than 32 bytes.
func New(store storage.Store, out *notify.Notifier, opts *Options) *Service {
	if store == nil {
		panic("survey: New needs a store")
	}
	s := &Service{&core{store: store, options: opts.withDefaults()}}
	if out == nil {
		out = notify.New(store, nil)
	} else if s.needs = wiring.Of(out); !driver.Same(s.needs[0].Store, store) {
		panic("survey: New: the Notifier is on another store")
	}
	s.notifier, s.out = out, out.Own(NotificationType, owner{s.core})
	s.links = newLinkKeyring(&s.options)
	if url := s.options.SurveyURL; url != "" || len(s.out.Channels()) > 0 {
		if err := checkSurveyURL(url); err != nil {
			panic(fmt.Sprintf("survey: New: Options.SurveyURL %q: %v", url, err))
		}
	}
	if url := s.options.UnsubscribeURL; url != "" {
		if err := checkUnsubscribeURL(url); err != nil {
			panic(fmt.Sprintf("survey: New: Options.UnsubscribeURL %q: %v", url, err))
		}
	}
	s.checkPolicy()
	s.box = outbox.New(store, "survey.outbox", s.options.Logger)
	s.parsed = newVersionCache()
	s.polls, s.senders = &polls{}, &senders{}
	return s
}

// WithTx is a shallow copy whose methods write in tx, which is usually a host's own
// transaction (Join of the adapter). It panics if tx is nil or belongs to another
// store.
func (s *Service) WithTx(tx storage.Tx) *Service {
	if tx == nil {
		panic("survey: WithTx needs a transaction")
	}
	if !driver.Same(tx.Store(), s.store) {
		panic(errForeignTx.Error())
	}
	bound := *s.core
	bound.tx = tx
	return &Service{&bound}
}

// inTx runs f in the bound transaction, else in one of its own.
func (s *core) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	return s.store.InTx(ctx, f)
}

// read runs f in the bound transaction, else over the committed rows of one moment, for
// which it waits for no writer.
func (s *core) read(ctx context.Context, f func(driver.Reader) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	return s.store.View(ctx, f)
}

// Passes are the passes over the tables of this package, for a poller.
func (s *Service) Passes() []work.Pass {
	return []work.Pass{s.sender().sendPass(), s.box.Pass(), tallyPass{s.core}}
}

// SweepRules say what is deleted with its age, and of people, in the tables of this package,
// for a poller.
func (s *Service) SweepRules() []sweep.Rules {
	return []sweep.Rules{{Domain: "survey", Old: s.forgetting(), People: s.erasures()}}
}

// Wiring tells a Poller what the Service works on, and what sends its links.
func (s *Service) Wiring() wiring.Service {
	return wiring.Service{Name: "survey.Service", Self: s.polls, Store: s.store, Needs: s.needs}
}

// Report counts what a poll did.
type Report struct {
	// Processed counts the links that something was done about (sent, put off, expired), each
	// once, and the responses that were passed on. Zero: nothing that this process serves was
	// due and free.
	Processed int
	// Abandoned rows, of links or messages, were taken over from a process that is gone.
	Abandoned int
	// Stale rows, of links or messages, were written by another meanwhile, such
	// as a customer's submission; they were not sent, or what came of the call was
	// added.
	Stale int
	// Failed rows could not be handled or stored, and are tried again later.
	Failed int
	// Dispatched and DispatchFailed are calls of subscribers: those that succeeded, and
	// those that failed, which are made again or end as dead letters.
	Dispatched, DispatchFailed int
}

// polls are the runners of PollOnce, which remember where they were.
type polls struct {
	once    sync.Once
	runners []work.Runner
}

// errBound refuses what needs transactions of its own.
var errBound = errors.New("survey: not in a bound transaction")

// PollOnce is one tick (Triggers & Scheduler, "The scheduler"), for hosts with a
// timer of their own; with a Poller it is not needed. Each pass takes at most batchSize rows,
// at least one, and settles them: it makes the messages of links that are due and expires
// links, sends messages and settles doubts, also those of others that the Notifier has, and
// calls subscribers. Any number of calls, in any number of processes, may run at
// once. It returns what was done also where there is an error; a pass that fails
// does not stop the other.
func (s *Service) PollOnce(ctx context.Context, batchSize int) (Report, error) {
	if s.tx != nil {
		return Report{}, errBound
	}
	s.polls.once.Do(func() {
		own := s.Passes()
		for _, p := range append(append(own[:1:1], s.out.Passes()...), own[1:]...) {
			s.polls.runners = append(s.polls.runners, p.Runner(work.Options{Logger: s.options.Logger}))
		}
	})
	ctx, tally := outbox.Tallied(ctx)
	ctx, worked := counting(ctx)
	var sum work.Report
	var errs []error
	for _, r := range s.polls.runners {
		rep, err := r.Poll(ctx, max(batchSize, 1))
		sum = sum.Add(rep)
		errs = append(errs, err)
	}
	return Report{
		Processed: worked.number() + int(tally.Done.Load()+tally.Failed.Load()), Abandoned: sum.Abandoned, Stale: sum.Stale, Failed: sum.Failed,
		Dispatched: int(tally.Done.Load()), DispatchFailed: int(tally.Failed.Load()),
	}, errors.Join(errs...)
}

// Schemas lists the tables of this package, so that adapters' tests can compare
// them with a live database.
func Schemas() []*driver.Schema {
	return []*driver.Schema{
		&surveys.Schema, &versions.Schema, &triggers.Schema, &instances.Schema,
		&deliveries.Schema, &responses.Schema, &answers.Schema, &linkKeys.Schema,
		&resultRows.Schema, &entries.Schema,
	}
}

// States gives the state machines of this package, for the documentation.
func States() []states.Machine { return []states.Machine{machine} }
