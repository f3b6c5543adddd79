package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// lookupWaits are the pauses between two questions to a provider that cannot
// tell yet.
var lookupWaits = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}

// resolveSpec is the pass over messages in doubt: ask the provider, else rely
// on its idempotency, else do what the type's policy says. It never sends.
func (n *Notifier) resolveSpec() work.Spec[OutgoingMessage, nothing] {
	return work.Spec[OutgoingMessage, nothing]{
		Name: "notify.resolve", Table: outgoingMessages,
		Claimable: []string{StatusOutcomeUnknown},
		Types:     n.channelKeys, Except: n.environment.except, Group: n.options.Concurrency,
		Stream:  n.resolveAll,
		Fail:    func(now time.Time, m *OutgoingMessage, _ error) { m.unresolved(now) },
		Abandon: func(now time.Time, m *OutgoingMessage) { m.abandoned(now) },
		Release: func(now time.Time, m *OutgoingMessage) { m.DueOn = now },
		Merge:   n.mergeResolved,
		Settled: n.tell,
	}
}

// resolveAll lands each message as soon as its provider has answered.
func (n *Notifier) resolveAll(ctx context.Context, items []sending, land func(*OutgoingMessage, nothing)) error {
	now := storage.Now(n.store)
	copied, err := n.environment.copied(ctx)
	if err != nil {
		return err
	}
	if copied {
		for _, it := range items {
			it.Row.DueOn = now // the next claim leaves them alone
			land(it.Row, nothing{})
		}
		return nil
	}
	open, found, err := n.channelsOf(ctx, items, func(it sending) { it.Row.unresolved(now) })
	if err != nil {
		return err
	}
	landOthers(items, open, land)
	var questions sync.WaitGroup
	for _, it := range open {
		questions.Go(func() {
			n.resolve(it, found.of(it.Row))
			land(it.Row, nothing{})
		})
	}
	questions.Wait()
	return nil
}

// resolve takes the steps in their order; the first that answers settles.
func (n *Notifier) resolve(it sending, c Channel) {
	m := it.Row
	if l, ok := c.(StatusLookup); ok && m.Lookups <= len(lookupWaits) {
		n.askProvider(it, l)
		return
	}
	n.resolveUnasked(m, c)
}

// askProvider applies what the provider knows, or asks again later; after the
// last question the remaining steps decide, in the next claim at once.
func (n *Notifier) askProvider(it sending, l StatusLookup) {
	m := it.Row
	answer, err := n.lookUp(it, l)
	switch now := storage.Now(n.store); {
	case it.Ctx.Err() != nil:
		m.DueOn = now // as if it had not been claimed
	case err == nil && answer.Status == LookupAccepted:
		m.accepted(m.calledOn(now), answer.Receipt)
		m.resolved(now, ResolvedByLookup)
	case err == nil && answer.Status == LookupAbsent:
		m.absent(now)
	default:
		m.askAgain(now)
	}
}

func (n *Notifier) lookUp(it sending, l StatusLookup) (answer LookupResult, err error) {
	ctx, cancel := context.WithTimeout(it.Ctx, n.options.CallTimeout)
	defer cancel()
	err = work.Guard(func() (err error) {
		answer, err = l.Lookup(ctx, it.Row.message())
		return err
	})
	n.logPanic("a status look-up panicked", err, slog.String("channel", it.Row.Type))
	return answer, err
}

// resolveUnasked is what remains when the provider cannot tell.
func (n *Notifier) resolveUnasked(m *OutgoingMessage, c Channel) {
	now := storage.Now(n.store)
	if s, ok := c.(IdempotentSend); ok && m.inWindow(now, s.IdempotencyWindow()) {
		m.sendAgain(now, ResolvedByIdempotency)
		return
	}
	switch m.InDoubt {
	case AssumeSent:
		m.accepted(m.calledOn(now), Receipt{})
		m.resolved(now, ResolvedByAssumption)
	case Resend:
		m.IdempotentUntil = time.Time{} // the policy accepts a second message
		m.sendAgain(now, ResolvedByResend)
	default:
		m.holdInDoubt(now)
	}
}
