package notify

import (
	"cmp"
	"context"
	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/reasons"
	"slices"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/driver"
)

func (p *Progress) resolved(now time.Time, how Resolution) {
	p.Resolution, p.ResolvedOn = how, now
}

// absent is the provider's word that the call did not reach it. The first time
// the message is due at once; from then on it counts as a failed try, as a refusal does
// of which it is unknown whose fault it is. Where our workers died, no provider has refused the
// message: a person decides after the last try.
func (m *messageRow) absent(now time.Time) {
	died := m.ReasonCode == reasons.LeaseLost
	m.resolved(now, ResolvedAsAbsent)
	m.ReasonCode = reasons.Absent
	switch {
	case m.Doubts <= 1:
		m.retryOn(now)
	case died:
		m.unasked(now, reasons.LeaseLost)
	default:
		m.refused(now, &channel.Error{Class: channel.ClassTransient, Code: reasons.Absent})
	}
}

// sendAgain makes a message due whose repeat is allowed, and reports whether it is. The
// first time it is due at once; from then on it counts as a failed try, since a provider
// that never answers would otherwise be called without end.
func (m *messageRow) sendAgain(now time.Time, how Resolution) bool {
	next, ok := now, true
	switch {
	case m.Doubts <= 1:
	case how == ResolvedByResend: // each call may be one more message
		ok = backoff.Usual.Failed(&m.Tries, now, m.Key, m.ReasonCode)
		next = m.NextRetryOn
	default:
		next, ok = m.tryLater(now, "", m.ReasonCode)
	}
	if !ok {
		return false
	}
	m.retryOn(next)
	m.resolved(now, how)
	return true
}

// inWindow reports whether the provider still takes a repeat of the first call
// for the same message. If so it notes until when, since the repeat may be late.
func (p *Progress) inWindow(now time.Time, window time.Duration) bool {
	until := p.IdempotentUntil
	if until.IsZero() {
		until = driver.Time(p.CallStartedOn.Add(window))
	}
	if !now.Before(until) {
		return false
	}
	p.IdempotentUntil = until
	return true
}

// calledOn is when the call in doubt began, as far as that is known: before the end of its
// window.
func (p *Progress) calledOn(now time.Time) time.Time {
	return cmp.Or(p.CallStartedOn, p.IdempotentUntil, now)
}

// askAgain waits for the provider to know more, the longer the more often it was asked.
func (m *messageRow) askAgain(now time.Time, wait time.Duration) {
	m.Lookups++
	m.DueOn = driver.Time(now.Add(wait))
}

// unresolved is a try to resolve that failed as a whole.
func (m *messageRow) unresolved(now time.Time) {
	if m.Status == StatusOutcomeUnknown {
		m.askAgain(now, lookupWait(m.Lookups, true))
	}
}

// holdInDoubt leaves the decision to a person: only a webhook or an audited
// support decision goes on.
func (m *messageRow) holdInDoubt(now time.Time) {
	m.resolved(now, ResolvedByHold)
	m.putOnHold(reasons.OutcomeUnknown)
}

// lookupWaits are the pauses between two questions to a provider that cannot
// tell yet; the last one comes again and again.
var lookupWaits = [...]time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

const (
	// earlyLookups is how often a provider is asked before the message does without its
	// answer, where it can.
	earlyLookups = 4
	// longestLookup is how long a provider is asked at most.
	longestLookup = 45 * 24 * time.Hour
	// silentWait is the longest pause behind a question without an answer: when the
	// provider is back, its doubts end within the hour.
	silentWait = 30 * time.Minute
)

// lookupWait is the pause behind so many questions and one more.
func lookupWait(asked int, silent bool) time.Duration {
	wait := lookupWaits[min(asked, len(lookupWaits)-1)]
	if silent {
		return min(wait, silentWait)
	}
	return wait
}

// resolveSpec is the pass over messages in doubt: ask the provider, else rely
// on its idempotency, else do what the type's policy says. It never sends.
func (n resolver) resolveSpec() work.Spec[messageRow, nothing] {
	return work.Spec[messageRow, nothing]{
		Name: "notify.resolve", Table: outgoingMessages,
		Claimable: []string{StatusOutcomeUnknown},
		Types:     n.channelKeys, Except: n.environment.except, Group: n.options.Concurrency, Limit: n.groupTimeout,
		Stream:    n.resolveAll,
		Fail:      func(now time.Time, m *messageRow, _ error) { m.unresolved(now) },
		Abandon:   func(now time.Time, m *messageRow) { m.abandoned(now) },
		Release:   func(now time.Time, m *messageRow) { m.DueOn = now },
		ApplyLate: n.mergeResolved,
		Settled:   n.tell,
	}
}

// resolveAll lands each message as soon as its provider has answered.
func (n resolver) resolveAll(ctx context.Context, items []sending, land func(*messageRow, nothing)) error {
	now := driver.Now(n.store)
	held, err := n.environment.held(ctx)
	if err != nil {
		return err
	}
	if held {
		for _, it := range items {
			it.Row.DueOn = now // the next claim leaves them alone
			land(it.Row, nothing{})
		}
		return nil
	}
	open, found, err := n.generator().channelsOf(ctx, items, n.unfound)
	if err != nil {
		return err
	}
	landOthers(items, open, land)
	var questions sync.WaitGroup
	for _, it := range open {
		questions.Go(func() {
			n.resolve(it, found.turns[it.Row].channel)
			land(it.Row, nothing{})
		})
	}
	questions.Wait()
	return nil
}

// unfound is a doubt whose channel is not found. After the first questions, which could not
// be asked, it does without an answer where it can. Else it waits for a source that fails, as
// for a provider that does; where the account is gone, a person decides.
func (n resolver) unfound(it sending, ways chain) {
	m, now := it.Row, driver.Now(n.store)
	switch {
	case m.Lookups+1 < earlyLookups:
		m.unresolved(now)
	case n.resolveUnasked(m, nil):
	case len(ways) == 0 && now.Before(m.inDoubtSince().Add(longestLookup)):
		m.unresolved(now)
	default:
		m.holdInDoubt(now)
	}
}

// resolve takes the steps in their order; the first that answers settles. The provider
// is asked for as long as it can tell.
func (n resolver) resolve(it sending, c channel.Channel) {
	m := it.Row
	if l, ok := c.(channel.StatusLookup); ok && driver.Now(n.store).Before(m.askedUntil(l)) {
		n.askProvider(it, c, l)
		return
	}
	if !n.resolveUnasked(m, c) {
		m.holdInDoubt(driver.Now(n.store))
	}
}

// askedUntil is when the provider can tell no more what became of the call, or is not asked
// any longer.
func (m *messageRow) askedUntil(l channel.StatusLookup) time.Time {
	return m.inDoubtSince().Add(min(cmp.Or(l.LookupWindow(), longestLookup), longestLookup))
}

func (m *messageRow) inDoubtSince() time.Time {
	return cmp.Or(m.CallStartedOn, m.IdempotentUntil, m.CreatedOn)
}

// askProvider applies what the provider knows, or asks again later, at the latest when it
// can tell no more. A message that can do without the answer waits for it no longer than
// for the first questions.
func (n resolver) askProvider(it sending, c channel.Channel, l channel.StatusLookup) {
	m := it.Row
	answer, err := n.lookUp(it, l)
	switch now := driver.Now(n.store); {
	case it.Ctx.Err() != nil:
		m.DueOn = now // as if it had not been claimed
	case err == nil && answer.Status == channel.LookupAccepted:
		m.accepted(m.calledOn(now), answer.Receipt)
		m.resolved(now, ResolvedByLookup)
	case err == nil && answer.Status == channel.LookupAbsent:
		m.absent(now)
	case m.Lookups+1 >= earlyLookups && n.resolveUnasked(m, c):
	default:
		until := m.askedUntil(l)
		m.askAgain(now, lookupWait(m.Lookups, err != nil))
		if until.Before(m.DueOn) {
			m.DueOn = later(until, now)
		}
	}
}

func (n resolver) lookUp(it sending, l channel.StatusLookup) (answer channel.LookupResult, err error) {
	err = n.do(it.Ctx, it.Row, "a status look-up panicked", func(ctx context.Context) (err error) {
		answer, err = l.Lookup(ctx, it.Row.message())
		return err
	})
	return answer, err
}

// resolveUnasked is what a message does without the provider's answer, and whether it can.
func (n resolver) resolveUnasked(m *messageRow, c channel.Channel) bool {
	now := driver.Now(n.store)
	if s, ok := c.(channel.IdempotentSend); ok && m.inWindow(now, s.IdempotencyWindow()) {
		return m.sendAgain(now, ResolvedByIdempotency)
	}
	switch m.InDoubt {
	case AssumeSent:
		m.accepted(m.calledOn(now), channel.Receipt{})
		m.resolved(now, ResolvedByAssumption)
		return true
	case ResendOnce:
		if m.Doubts > 1 {
			return false
		}
		fallthrough
	case Resend:
		m.IdempotentUntil = time.Time{} // the policy accepts a second message
		return m.sendAgain(now, ResolvedByResend)
	}
	return false
}

// mergeSent brings the result of a finished call into a row that another worker
// wrote meanwhile, as a webhook would: it is never dropped, and no status goes
// backwards.
func (n sender) mergeSent(stored, mine *messageRow, held bool) bool {
	now := driver.Now(n.store)
	if held && stored.Status == StatusSending {
		stored.take(mine) // the other writer did not decide anything
		return true
	}
	switch mine.Status {
	case StatusSentToProvider:
		return stored.lateAcceptance(now, mine)
	case StatusFailedFinal:
		return stored.lateRefusal(now, mine, StatusOutcomeUnknown, StatusRetryReady)
	case StatusRetryReady:
		return stored.lateRefusal(now, mine, StatusOutcomeUnknown)
	}
	return false
}

// mergeResolved brings a resolver's decision, if no decision came meanwhile.
func (n resolver) mergeResolved(stored, mine *messageRow, held bool) bool {
	switch {
	case held && stored.Status == StatusOutcomeUnknown && !stored.IsOnSupportHold:
		stored.take(mine)
		return true
	case mine.Status == StatusSentToProvider && mine.Resolution == ResolvedByLookup:
		return stored.lateAcceptance(driver.Now(n.store), mine)
	}
	return false
}

// take copies what the pipeline decided.
func (m *messageRow) take(from *messageRow) {
	m.become(from.Status)
	m.DueOn = from.DueOn
	m.Progress, m.Tries, m.SupportHold = from.Progress, from.Tries, from.SupportHold
}

// lateAcceptance applies a receipt. A message that has ended otherwise keeps
// its status and gains the fact.
func (m *messageRow) lateAcceptance(now time.Time, mine *messageRow) bool {
	switch m.Status {
	case StatusRetryReady, StatusSending, StatusOutcomeUnknown:
		m.resolvedLate(now)
		m.accepted(mine.SentOn, channel.Receipt{ID: mine.ProviderMessageID})
		m.CallStartedOn, m.Calls = mine.CallStartedOn, max(m.Calls, mine.Calls)
		return true
	}
	if m.ProviderMessageID != "" || mine.ProviderMessageID == "" && !m.SentOn.IsZero() {
		return false
	}
	m.SentOn, m.ProviderMessageID = mine.SentOn, mine.ProviderMessageID
	return true
}

// lateRefusal applies a definite refusal, and the news that a call was not made,
// where the stored row still depends on it. A message that was only assumed to
// be sent fails, since now the provider has said so.
func (m *messageRow) lateRefusal(now time.Time, mine *messageRow, open ...string) bool {
	assumed := mine.Status == StatusFailedFinal && m.Status == StatusSentToProvider && m.Resolution == ResolvedByAssumption
	if !assumed && !slices.Contains(open, m.Status) {
		return false
	}
	if m.Calls > mine.Calls {
		return false // a later call is what the row is about
	}
	m.resolvedLate(now)
	m.become(mine.Status)
	m.DueOn, m.NextRetryOn, m.EndedOn = mine.DueOn, mine.NextRetryOn, mine.EndedOn
	m.CallStartedOn, m.SentOn, m.FailedOn = mine.CallStartedOn, mine.SentOn, mine.FailedOn
	m.RetryCount, m.ReasonCode, m.Via = max(m.RetryCount, mine.RetryCount), mine.ReasonCode, mine.Via
	m.OwnAccount = mine.OwnAccount
	m.SupportHold = driver.SupportHold{}
	return true
}

// resolvedLate notes that the call's own answer settles a doubt.
func (p *Progress) resolvedLate(now time.Time) {
	if p.Doubts > 0 {
		p.resolved(now, ResolvedByCall)
	}
}

// Resolution is how a doubt was settled.
type Resolution string

// doubted is a call of which it is unknown whether it delivered: visible, due
// now for the resolve pass, and not yet on hold.
func (m *messageRow) doubted(now time.Time, reason string) {
	m.become(StatusOutcomeUnknown)
	m.Doubts++
	m.Lookups, m.Resolution, m.ResolvedOn = 0, "", time.Time{}
	m.ReasonCode = cmp.Or(reason, reasons.InDoubt)
	m.DueOn, m.NextRetryOn = now, time.Time{}
}

// forgotten says that a message which is not known to have been sent was due by the time
// at which the database forgot what was done. The call, if there was one, was not before
// that.
func (m *messageRow) forgotten(now time.Time, l driver.Loss) bool {
	if l.NoticedOn.IsZero() || !m.CallStartedOn.IsZero() || m.Status != StatusSending || m.DueOn.After(l.NoticedOn) {
		return false
	}
	m.CallStartedOn = l.From
	m.doubted(now, reasons.Forgotten)
	return true
}

// abandon ends a claim whose lease ran out.
func (n *core) abandon(now time.Time, m *messageRow) {
	if !m.forgotten(now, n.environment.loss()) {
		m.abandoned(now)
	}
}

// release gives a claimed message back that may not have been looked at: it is due now, and
// nothing would tell any more that it was due before the database forgot.
func (n *core) release(now time.Time, m *messageRow) {
	if !m.forgotten(now, n.environment.loss()) {
		m.released(now)
	}
}

// abandoned is a claim whose lease ran out: in doubt if a call had started,
// else given back uncounted. A claim of the distributor may also take over a
// row that a resolver held; that row is in doubt as before.
func (m *messageRow) abandoned(now time.Time) {
	m.LeaseLossCount++
	switch {
	case m.Status == StatusOutcomeUnknown:
		m.DueOn = now
	case m.Status != StatusSending:
	case m.CallStartedOn.IsZero():
		m.released(now)
	default:
		m.doubted(now, reasons.LeaseLost)
	}
}
