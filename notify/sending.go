package notify

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// nothing is what a handler decides whose rows say everything.
type nothing = struct{}

// distributorSpec is the send pass. A claim commits before anything is called,
// and a process claims only messages whose channel it has.
func (n sender) distributorSpec() work.Spec[messageRow, channel.SuppressionReason] {
	return work.Spec[messageRow, channel.SuppressionReason]{
		Name: "notify.distributor", Table: outgoingMessages,
		Claimable: []string{StatusCreated, StatusRetryReady}, Busy: StatusSending,
		Types: n.channelKeys, Except: n.notNow, Group: n.options.Concurrency, Limit: n.groupTimeout,
		Stream:    n.distribute,
		Dispatch:  n.dispatchSent,
		Fail:      sendFailed,
		Abandon:   n.abandon,
		Release:   n.release,
		ApplyLate: n.mergeSent,
		Settled:   n.tell,
	}
}

// prepare is done before the first claim: with another hash key no gate could tell who is
// suppressed, and each message would count a try.
func (n sender) prepare(ctx context.Context) error {
	if err := n.environment.prepare(ctx); err != nil {
		return err
	}
	return n.prepareLookup(ctx)
}

// groupTimeout is how long a group of messages may be with gates, revalidators and its
// channel, even if all calls wait for one another.
func (n sender) groupTimeout(string) time.Duration {
	return time.Hour + time.Duration(n.options.Concurrency)*n.options.CallTimeout
}

// parcel is what a group's calls take along beside the rows.
type parcel struct {
	channels channels
	to       redirects
	letters  letters
	answers  ownerAnswers
	files    *files
}

// distribute is one group of concurrent calls: ask whether they are still
// wanted, and whether they may go out now, record that they start, call, and note
// what came of it. A message lands as soon as it is not called, or its call has
// ended, whatever the others do.
func (n sender) distribute(ctx context.Context, items []sending, land func(*messageRow, channel.SuppressionReason)) error {
	p, due := parcel{files: &files{}}, dueOf(items)
	open, err := n.unreadOnly(ctx, n.inWindow(items))
	if err == nil && len(open) > 0 {
		open, p.channels, err = n.generator().channelsOf(ctx, open, n.generator().unserved)
	}
	if err == nil {
		open, err = n.undisputed(ctx, n.capable(open, p))
	}
	if err == nil {
		open, err = n.revalidate(ctx, n.calm(ctx, open, p))
	}
	if err == nil {
		open, p.answers, err = n.askOwners(ctx, open)
	}
	if err != nil {
		return err
	}
	open, p.to = n.askGates(ctx, open, p)
	open, p.letters = n.askCopies(ctx, open, p)
	open = n.probing(ctx, open, p)
	n.doubtForgotten(items, due)
	landOthers(items, open, land)
	return n.callsOf(ctx, open, p, land).Send(ctx, open)
}

// dueOf is when each message was due as it was claimed.
func dueOf(items []sending) []time.Time {
	out := make([]time.Time, len(items))
	for i, it := range items {
		out[i] = it.Row.DueOn
	}
	return out
}

// doubtForgotten puts what is given back without a call in doubt if the database has turned
// out meanwhile to have forgotten what was done by the time it was due. Once the message is
// stored with another time, nothing would show that.
func (n sender) doubtForgotten(items []sending, due []time.Time) {
	now, loss := driver.Now(n.store), n.environment.loss()
	for i, it := range items {
		if m := it.Row; m.Status == StatusRetryReady && !loss.NoticedOn.IsZero() && !due[i].After(loss.NoticedOn) {
			m.Status, m.DueOn, m.SupportHold = StatusSending, due[i], driver.SupportHold{}
			m.forgotten(now, loss)
		}
	}
}

// capable leaves to each message the ways that can do what its type needs. Those without
// one wait for a person, since another try would be the same. Nothing was called yet.
func (n sender) capable(items []sending, p parcel) (open []sending) {
	for _, it := range items {
		needs := n.registry.lookup(it.Row.NotificationType).Needs
		if p.channels.turns[it.Row].narrow(it.Row, needs) {
			open = append(open, it)
			continue
		}
		it.Row.retryOn(driver.Now(n.store))
		it.Row.ReasonCode = reasons.ChannelIncapable
		it.Row.putOnHold(reasons.Refused)
	}
	return open
}

// landOthers lands the items that are not among open.
func landOthers[A any](items, open []sending, land func(*messageRow, A)) {
	goesOn := make(map[*messageRow]bool, len(open))
	for _, it := range open {
		goesOn[it.Row] = true
	}
	for _, it := range items {
		if !goesOn[it.Row] {
			land(it.Row, *new(A))
		}
	}
}

// inWindow leaves out messages that are stale, those that may have been sent by a commit
// that the database has forgotten, and those that may be sent again only within the window
// of their provider's idempotency, if that is over: they are in doubt.
func (n sender) inWindow(items []sending) []sending {
	now, loss := driver.Now(n.store), n.environment.loss()
	var open []sending
	for _, it := range items {
		if it.Row.expired(now) || it.Row.forgotten(now, loss) {
			continue
		}
		if until := it.Row.IdempotentUntil; !until.IsZero() && !now.Before(until) {
			it.Row.doubted(now, reasons.IdempotencyWindowOver)
			continue
		}
		open = append(open, it)
	}
	return open
}

// sendFailed settles a message whose group failed, or whose result could not be
// stored as it was: what the call decided stands.
func sendFailed(now time.Time, m *messageRow, _ error) {
	switch {
	case m.Status == StatusSentToProvider:
		m.ProviderMessageID = ""
	case m.Status != StatusSending && m.Status != StatusRetryReady:
	case !m.CallStartedOn.IsZero():
		m.doubted(now, reasons.PassFailed)
	default:
		m.unasked(now, reasons.PassFailed)
	}
}

type sending = work.Item[messageRow]

// revalidate asks whether messages are still wanted, settles those that are not, and
// returns the others. It comes before the call-started write, so that a crash here leaves
// nothing in doubt.
func (n sender) revalidate(ctx context.Context, items []sending) ([]sending, error) {
	var open []sending
	asked := map[string][]sending{}
	for _, it := range items {
		if name := it.Row.NotificationType; it.Row.mayBeUnwanted() && n.registry.lookup(name).Revalidator != nil {
			asked[name] = append(asked[name], it)
		} else {
			open = append(open, it)
		}
	}
	if len(asked) == 0 {
		return open, nil
	}
	jobs, err := n.jobsOf(ctx, asked)
	if err != nil {
		return nil, err
	}
	for name, group := range asked {
		open = append(open, n.stillWanted(ctx, n.registry.lookup(name), group, jobs)...)
	}
	return open, nil
}

// mayBeUnwanted reports whether it is asked about a claimed message: that of a job always,
// since what it tells may have ended while it was in the queue; that of a campaign, whose
// audience was chosen just now, where it was deferred or is tried again.
func (m *messageRow) mayBeUnwanted() bool { return m.JobPartitionKey != "" || !m.NextRetryOn.IsZero() }

// jobsOf loads the jobs of messages in one statement a scope.
func (n sender) jobsOf(ctx context.Context, asked map[string][]sending) (found map[driver.ScopedKey]*jobRow, err error) {
	var places []driver.ScopedKey
	for _, group := range asked {
		for _, it := range group {
			places = append(places, it.Row.job())
		}
	}
	err = n.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = jobs.GetMany(ctx, from, places)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, n.addCampaigns(ctx, asked, found)
}

// job is where the message's notification job is, or its messaging job.
func (m *messageRow) job() driver.ScopedKey {
	if m.JobPartitionKey == "" {
		return driver.ScopedKey{Scope: m.Scope, Key: m.PartitionKey}
	}
	key, _ := keys.Join(m.JobPartitionKey, m.PartitionKey)
	return driver.ScopedKey{Scope: m.Scope, Key: key}
}

// stillWanted asks the type's revalidator about a group and applies the
// answers. A message whose job is not there cannot be asked about.
func (n sender) stillWanted(ctx context.Context, t Type, group []sending, found map[driver.ScopedKey]*jobRow) (open []sending) {
	var asked []Job
	var waiting []sending
	for _, it := range group {
		j := found[it.Row.job()]
		if j == nil || j.IsTombstone() {
			it.Row.unasked(driver.Now(n.store), reasons.RevalidationFailed)
			continue
		}
		if j.isDigest() {
			if n.digestWanted(ctx, it, j) {
				open = append(open, it)
			}
			continue
		}
		asked, waiting = append(asked, j.view()), append(waiting, it)
	}
	if len(asked) == 0 {
		return open
	}
	verdicts, err := n.ask(ctx, t, asked)
	for i, it := range waiting {
		if err != nil {
			n.notAsked(it, it.Ctx.Err() != nil, err, reasons.RevalidationFailed)
		} else if n.apply(it.Row, verdicts[i]) {
			open = append(open, it)
		}
	}
	return open
}

// notAsked settles a message when a gate or a revalidator could not be asked, or a file
// not be read: a try, unless its context has ended, or the database was away.
func (n sender) notAsked(it sending, ended bool, err error, reason string) {
	switch now := driver.Now(n.store); {
	case ended:
		it.Row.released(now)
	case errors.Is(err, storage.ErrUnavailable):
		it.Row.released(now.Add(work.AwayWait))
	default:
		it.Row.unasked(now, reason)
	}
}

func (n sender) ask(ctx context.Context, t Type, asked []Job) ([]gate.Verdict, error) {
	verdicts, err := calls.Answers(asked, func(jobs []Job) ([]gate.Verdict, error) { return t.Revalidator.Revalidate(ctx, jobs) }, anyVerdict)
	n.logPanic("a revalidator panicked", err, slog.String("type", t.Name))
	return verdicts, err
}

// anyVerdict leaves it to apply to tell what means nothing: the others stand.
func anyVerdict(gate.Verdict) bool { return true }

// apply settles a message that does not go out now, and reports whether it does.
func (n sender) apply(m *messageRow, v gate.Verdict) bool {
	switch v.Action {
	case gate.ActionSkip:
		m.skip(driver.Now(n.store), v.Reason)
	case gate.ActionDefer:
		m.deferTo(later(v.Until, driver.Now(n.store)), v.Reason)
	case gate.ActionProceed:
		return true
	default: // fail closed
		m.unasked(driver.Now(n.store), reasons.RevalidationFailed)
	}
	return false
}

// addCampaigns adds what a revalidator is asked about in the place of the job of
// a campaign's message: the campaign as its renderer saw it.
func (n sender) addCampaigns(ctx context.Context, asked map[string][]sending, found map[driver.ScopedKey]*jobRow) error {
	var places []driver.ScopedKey
	for _, group := range asked {
		for _, it := range group {
			if it.Row.JobPartitionKey == "" {
				places = append(places, it.Row.job())
			}
		}
	}
	if len(places) == 0 {
		return nil
	}
	var campaigns map[driver.ScopedKey]*messagingJobRow
	err := n.store.View(ctx, func(from driver.Reader) (err error) {
		campaigns, err = messagingJobs.GetMany(ctx, from, places)
		return err
	})
	for at, j := range campaigns {
		view, err := n.viewOf(ctx, j)
		if err != nil {
			return err
		}
		if view != nil {
			found[at] = view
		}
	}
	return err
}

// viewOf is nil for a messaging job whose payload is none of ours.
func (n sender) viewOf(ctx context.Context, j *messagingJobRow) (*jobRow, error) {
	p, err := openPayload(ctx, n.store.Blobs(), j.Blob, 0)
	if errors.Is(err, ErrPayload) || errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	job := j.asJob(p.header)
	p.close()
	return &job, nil
}
