package survey

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// Service is the surveys over a store, and the service that sends their links,
// expires them and passes responses on when a poller runs its passes. Its methods
// may be called from any number of goroutines, those of a bound copy (see WithTx)
// from one.
type Service struct {
	store    storage.Store
	tx       storage.Tx // of a bound copy
	options  Options
	channels map[string]notify.Channel
	gates    []notify.Gate
	links    *linkKeyring
	box      *outbox.Box // what subscribers hear
	parsed   *versionCache
	polls    *polls // of PollOnce
}

// errForeignTx is a transaction of another store than the service's.
var errForeignTx = errors.New("survey: the transaction belongs to another store")

// New makes a Service that sends through channels. A process without channels
// publishes, ingests and takes responses, and leaves sending to others. New panics
// on a nil store, a nil channel or gate, two channels of one key, an InDoubt that is
// none, channels without a SurveyURL, a SurveyURL that is no address with {token},
// and a link key of fewer than 32 bytes.
func New(store storage.Store, opts *Options, channels ...notify.Channel) *Service {
	if store == nil {
		panic("survey: New needs a store")
	}
	s := &Service{store: store, options: opts.withDefaults(), channels: map[string]notify.Channel{}}
	s.links = newLinkKeyring(&s.options)
	if url := s.options.SurveyURL; url != "" || len(channels) > 0 {
		if err := checkSurveyURL(url); err != nil {
			panic(fmt.Sprintf("survey: New: Options.SurveyURL %q: %v", url, err))
		}
	}
	for _, c := range channels {
		if c == nil {
			panic("survey: New: a nil channel")
		}
		if s.channels[c.Key()] != nil {
			panic("survey: New: two channels " + c.Key())
		}
		s.channels[c.Key()] = c
	}
	s.gates = append(notify.Gates(store, s.options.Gates), s.options.HostGates...)
	s.checkSending()
	s.box = outbox.New(store, "survey.outbox", s.options.Logger)
	s.parsed = newVersionCache()
	s.polls = &polls{}
	return s
}

// WithTx is a shallow copy whose methods write in tx, which is usually a host's own
// transaction (Join of the adapter). It panics if tx is nil or belongs to another
// store.
func (s *Service) WithTx(tx storage.Tx) *Service {
	if tx == nil {
		panic("survey: WithTx needs a transaction")
	}
	if tx.Store() != s.store {
		panic(errForeignTx.Error())
	}
	bound := *s
	bound.tx = tx
	return &bound
}

// inTx runs f in the bound transaction, else in one of its own.
func (s *Service) inTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.tx != nil {
		return f(s.tx)
	}
	return s.store.InTx(ctx, f)
}

// Passes are the passes over the tables of this package, for a poller.
func (s *Service) Passes() []work.Pass {
	return []work.Pass{s.sendPass(), s.box.Pass()}
}
