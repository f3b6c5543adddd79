package survey

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Delivery is one entry in the log of an instance's sends (Triggers & Scheduler,
// "DeliveryLogJson").
type Delivery struct {
	PublicID string // of the instance
	Channel  string
	// Status is what came of it, one of the Delivery… constants.
	Status string
	// Attempt counts the calls of the channel; 0 for an entry without a call.
	Attempt int
	// Ordinal is 0 for the initial send, 1 and up for the reminders.
	Ordinal           int
	StartedOn         time.Time // zero without a call
	On                time.Time
	ProviderMessageID string
	ReasonCode        string
}

// deliveryRow has the columns of a [Delivery]. It is written once and never due. Its
// Key is the instance's PublicID and the version that the instance was saved with,
// its Kind the channel.
type deliveryRow struct {
	storage.Record
	PublicID          string    `db:"public_id,fixed,indexed,plain"`
	Attempt           int       `db:"attempt,fixed"`
	Ordinal           int       `db:"ordinal,fixed"`
	StartedOn         time.Time `db:"started_on,fixed"`
	On                time.Time `db:"at,fixed"`
	ProviderMessageID string    `db:"provider_message_id,fixed,plain"`
	ReasonCode        string    `db:"reason_code,fixed,plain"`
}

// What came of a send.
const (
	DeliveryDelivered = "delivered"  // the channel has accepted it
	DeliveryFailed    = "failed"     // not accepted, or not even tried; it is tried again, or the schedule stops
	DeliveryRefused   = "refused"    // refused for good: the schedule stops
	DeliveryUnknown   = "unknown"    // nobody knows whether it was sent
	DeliverySkipped   = "skipped"    // a gate does not let it out: the schedule stops
	DeliveryNoChannel = "no-channel" // nobody has the channel: the schedule stops
)

var deliveries = driver.Define[deliveryRow]("survey_delivery").Grows(driver.WithWork).
	Kept("Retention.Surveys", "the log of the sends of an instance")

func (d *deliveryRow) view() Delivery {
	return Delivery{
		PublicID: d.PublicID, Channel: d.Kind, Status: d.Status, Attempt: d.Attempt, Ordinal: d.Ordinal,
		StartedOn: d.StartedOn, On: d.On, ProviderMessageID: d.ProviderMessageID, ReasonCode: d.ReasonCode,
	}
}

func viewsOf(rows []*deliveryRow) []Delivery {
	out := make([]Delivery, len(rows))
	for i, d := range rows {
		out[i] = d.view()
	}
	return out
}

// logCall notes what came of the call under way, to be written with the row.
func (i *instanceRow) logCall(now time.Time, status, providerID, reason string) {
	e := i.entry(now, status, reason)
	e.Attempt, e.StartedOn, e.ProviderMessageID = i.Calls, i.CallStartedOn, storable.Code(providerID)
	i.Log = append(i.Log, e)
}

// logNoCall notes why no call was made.
func (i *instanceRow) logNoCall(now time.Time, status, reason string) {
	i.Log = append(i.Log, i.entry(now, status, reason))
}

func (i *instanceRow) entry(now time.Time, status, reason string) *deliveryRow {
	return &deliveryRow{
		Record:   storage.Record{Scope: i.Scope, Kind: i.Channel, Status: status},
		PublicID: i.PublicID, Ordinal: i.SendOrdinal, On: now, ReasonCode: reason,
	}
}

// called reports whether the row comes from a call, whatever came of it.
func (i *instanceRow) called() bool {
	for _, e := range i.Log {
		if e.Attempt > 0 {
			return true
		}
	}
	return false
}

// writeLog adds the entries of rows that were just saved, in their transaction, and
// notes who was asked.
func (s *core) writeLog(ctx context.Context, tx storage.Tx, rows []*instanceRow) error {
	var log []*deliveryRow
	for _, r := range rows {
		for n, e := range r.Log {
			e := *e // the transaction may run again
			e.Key = r.PublicID + ":" + strconv.FormatInt(r.Version, 10)
			if n > 0 {
				e.Key += ":" + strconv.Itoa(n)
			}
			log = append(log, &e)
		}
	}
	if _, err := deliveries.Insert(ctx, tx, log...); err != nil {
		return err
	}
	return noteAsked(ctx, tx, rows...)
}

// callsOf makes the calls of a group; finish plans and lands.
func (s asker) callsOf(finish func(*sending)) calls.Sender[instanceRow, *sending] {
	return calls.Sender[instanceRow, *sending]{
		Store: s.store, Table: instances, Slots: &calls.Process,
		Item:    func(it *sending) work.Item[instanceRow] { return it.Item },
		Bounds:  s.bounds,
		Begin:   (*instanceRow).calling,
		Undo:    func(r *instanceRow, _ time.Time) { r.uncalled() },
		Release: func(*instanceRow, time.Time) {}, // it is as due as it was
		Call:    s.call,
		Land:    finish,
	}
}

// bounds are those of the channel of a link: as many calls as it has connections.
func (s asker) bounds(it *sending) []calls.Bound {
	if b, ok := it.channel.(channel.Bounded); ok {
		return []calls.Bound{calls.OfChannel(it.channel, [2]any{s.polls, it.Row.Channel}, b.MaxCalls())}
	}
	return nil
}

// each runs f for all items at once and waits.
func each(items []*sending, f func(*sending)) {
	var wg sync.WaitGroup
	for _, it := range items {
		wg.Go(func() { f(it) })
	}
	wg.Wait()
}

// call is the one call of a claim: today for one link.
func (s asker) call(items []*sending) {
	for _, it := range items {
		it.message.On, it.message.To = it.Row.CallStartedOn, cmp.Or(it.redirect, it.message.To)
		var receipt channel.Receipt
		err := s.do(it, "a channel panicked", func(ctx context.Context) (err error) {
			receipt, err = it.channel.Send(ctx, it.message)
			return err
		})
		s.settle(it, receipt, channel.Classify(err))
	}
}

// do calls a channel about a link.
func (s asker) do(it *sending, panicked string, f func(context.Context) error) error {
	return calls.Do(it.Ctx, s.options.CallTimeout, s.options.Logger, panicked, slog.String("channel", it.Row.Channel), f)
}

// mergeSent brings what came of a call into a row that somebody else wrote
// meanwhile (the beacon of an opened form, a submission, support): the call is
// never forgotten, and no status goes backwards. What was decided without a call is
// dropped, and decided anew if the row is still due.
func (s asker) mergeSent(stored, mine *instanceRow, held bool) bool {
	if !mine.called() {
		return held && stored.uncall()
	}
	stored.Log = mine.Log
	stored.Of, stored.Asked = mine.Of, mine.Asked && stored.LastSentOn.IsZero() && stored.Status != StatusCompleted // whose response has counted it
	stored.LastSentOn = later(stored.LastSentOn, mine.LastSentOn)
	if !stored.CallStartedOn.IsZero() && stored.Calls == mine.Calls { // else somebody has settled this call
		stored.takeCall(mine)
	}
	stored.lookAgain(driver.Now(s.store))
	return true
}

// takeCall is the end of the call that the row is about.
func (i *instanceRow) takeCall(mine *instanceRow) {
	i.CallStartedOn = time.Time{}
	if !i.isOpen() {
		i.InDoubt = false
		return
	}
	if i.Status == StatusPending {
		i.become(mine.Status)
	}
	i.SendOrdinal = mine.SendOrdinal
	if i.NextSendOn.IsZero() { // support has stopped it
		i.settleCall()
		return
	}
	support := i.IsOnSupportHold && i.ReasonCode == ReasonHeldBySupport
	i.CallStartedOn, i.InDoubt, i.NextTryOn = mine.CallStartedOn, mine.InDoubt, mine.NextTryOn
	i.NextSendOn, i.RemindersRemaining, i.StoppedOn = mine.NextSendOn, mine.RemindersRemaining, mine.StoppedOn
	i.Tries, i.IsOnSupportHold = mine.Tries, support || mine.IsOnSupportHold
	if !support {
		i.ReasonCode = mine.ReasonCode
	}
}

// uncall ends a call that was recorded and is known not to have been made, and
// reports whether there was one.
func (i *instanceRow) uncall() bool {
	if i.CallStartedOn.IsZero() || i.InDoubt {
		return false
	}
	i.CallStartedOn = time.Time{}
	return true
}

// resolveDoubts settles the sends of which nobody knows whether they were made, and
// returns the others: the provider is asked if it can tell, once, and else the
// policy decides. In a copy of the database they stay as they are.
func (s asker) resolveDoubts(ctx context.Context, items []*sending) (open []*sending) {
	var doubts []*sending
	for _, it := range items {
		if it.Row.InDoubt {
			doubts = append(doubts, it)
		} else {
			open = append(open, it)
		}
	}
	each(s.outsideQuarantine(ctx, doubts), s.resolve)
	return open
}

// outsideQuarantine leaves out doubts that the first of the gates, which knows
// whether the database is a copy, does not let anybody ask about.
func (s asker) outsideQuarantine(ctx context.Context, items []*sending) (open []*sending) {
	if len(items) == 0 {
		return nil
	}
	attempts := make([]notify.Attempt, len(items))
	for i, it := range items {
		it.message = messageOf(it.Row, it.Row.Calls)
		attempts[i] = s.attempt(it)
	}
	verdicts, err := s.verdicts(ctx, s.gates[0], attempts)
	for i, it := range items {
		if err == nil && verdicts[i].Action == notify.ActionProceed {
			open = append(open, it)
		} else {
			it.Row.NextTryOn = driver.Now(s.store).Add(minDefer)
		}
	}
	return open
}

func (s asker) resolve(it *sending) {
	r, now := it.Row, driver.Now(s.store)
	switch {
	case it.trigger == nil: // the schedule is not known: it stays in doubt
		r.NextTryOn = now.Add(waits[0])
	case s.askProvider(it):
	case it.Ctx.Err() != nil: // as if it had not been claimed
	default:
		s.decide(it, now)
	}
}

// decide is the policy for a send in doubt. Where the host names none, a reminder is
// taken for sent, since a customer rather misses one than gets it twice; the first send
// is made once more, since else he would never be asked, and then waits for a person.
func (s asker) decide(it *sending, now time.Time) {
	r, policy := it.Row, s.options.InDoubt
	switch {
	case policy != "":
	case r.SendOrdinal > 0:
		policy = notify.AssumeSent
	case r.Doubts == 0:
		policy = notify.Resend
	default:
		policy = notify.Hold
	}
	switch policy {
	case notify.Hold:
		r.hold(ReasonInDoubt)
	case notify.Resend:
		r.Doubts++
		r.failed(now, ReasonInDoubt, 0)
	default:
		r.sent(r.CallStartedOn, it.trigger.Schedule.Reminders)
	}
}

// askProvider reports whether the provider could tell.
func (s asker) askProvider(it *sending) bool {
	l, ok := it.channel.(channel.StatusLookup)
	if !ok {
		return false
	}
	r, m := it.Row, it.message
	m.On = r.CallStartedOn
	var answer channel.LookupResult
	err := s.do(it, "a status look-up panicked", func(ctx context.Context) (err error) {
		answer, err = l.Lookup(ctx, m)
		return err
	})
	switch now := driver.Now(s.store); {
	case err != nil:
		return false
	case answer.Status == channel.LookupAccepted:
		r.logCall(now, DeliveryDelivered, answer.Receipt.ID, "")
		r.sent(r.CallStartedOn, it.trigger.Schedule.Reminders)
	case answer.Status == channel.LookupAbsent:
		r.logCall(now, DeliveryFailed, "", ReasonAbsent)
		r.failed(now, ReasonAbsent, 0)
	default:
		return false
	}
	return true
}
