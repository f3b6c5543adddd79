package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// TrackReport says what became of status events.
type TrackReport struct {
	Applied  int // new, and their message is known
	Repeated int // known before: nothing was changed
	Waiting  int // new, and their message is not known yet
	// Refused said too little to be used, and were passed over: by [Notifier.Receive], or, of
	// those that name an address alone, if it is not an address of their method.
	Refused int
}

func (r TrackReport) add(o TrackReport) TrackReport {
	return TrackReport{r.Applied + o.Applied, r.Repeated + o.Repeated, r.Waiting + o.Waiting, r.Refused + o.Refused}
}

// maxTrack is how many events one transaction takes.
const maxTrack = 1000

// Track applies what providers report to the messages that it is about, in any
// order and however often it is told (Communication - Codebase flow, "Webhook &
// Tracker"). A message only moves up: SentToProvider, FailedFinal, Delivered,
// Opened; and neither a retry nor a take-over of it follows. That it bounced,
// that its recipient complained or unsubscribed, are [DeliveryFact] rows beside
// its status, and suppress the address; that the recipient came back is one, too, and lifts
// an unsubscription that the same account and list had told of.
//
// An event of which no message is known yet is kept, and its message looked for
// again after a minute, five minutes, an hour and a day, by a poller. An event is
// known again for a month by its provider and its EventID.
//
// An event that says too little is an [ErrStatusEvent], and nothing is written.
// More than 1000 events take several transactions; after an error repeat the call.
func (n *Notifier) Track(ctx context.Context, events ...channel.StatusEvent) (rep TrackReport, err error) {
	now := driver.Now(n.store)
	var rows []deliveryEvent
	for i, e := range events {
		if err := checkEvent(e); err != nil {
			return rep, fmt.Errorf("%w: argument %d: %w", ErrStatusEvent, i+1, err)
		}
		row, err := newEvent(e, now)
		if err != nil {
			return rep, err
		}
		if !n.addressed(row, e) {
			rep.Refused++
			continue
		}
		rows = append(rows, *row)
	}
	for len(rows) > 0 {
		batch := rows[:min(len(rows), maxTrack)]
		var part TrackReport
		err := n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
			part, err = n.tracker().trackIn(ctx, tx, copies(batch)) // the transaction may run again
			return err
		})
		if err != nil {
			return rep, err
		}
		rep, rows = rep.add(part), rows[len(batch):]
	}
	return rep, nil
}

// addressed keeps whom an event is about, as hashes. An address that cannot be, of an event
// that names nothing else, is refused.
func (n *core) addressed(row *deliveryEvent, e channel.StatusEvent) bool {
	if !isReturn(e) {
		if e.Address != "" {
			row.AddressHash = n.addressHash("email", string(e.Address))
		}
		return true
	}
	address, err := spelling.Of(e.Method, string(e.Address))
	if err != nil {
		return false
	}
	row.AddressHash, row.returned = n.addressHash(e.Method, address), n.addressHashes(e.Method, address)
	return true
}

// trackIn keeps the events and applies those that are new.
func (n tracker) trackIn(ctx context.Context, tx storage.Tx, events []*deliveryEvent) (rep TrackReport, err error) {
	found, err := n.findMessages(ctx, tx, events)
	if err != nil {
		return rep, err
	}
	for _, e := range events {
		if found[e] != nil || e.returned != nil {
			e.matched()
		}
	}
	isNew, err := deliveryEvents.Insert(ctx, tx, events...)
	if err != nil {
		return rep, err
	}
	var apply, returned []*deliveryEvent
	for i, e := range events {
		switch {
		case !isNew[i]:
			rep.Repeated++
		case e.returned != nil:
			rep.Applied++
			returned = append(returned, e)
		case found[e] == nil:
			rep.Waiting++
		default:
			rep.Applied++
			apply = append(apply, e)
		}
	}
	if err := n.applyEvents(ctx, tx, apply, found); err != nil {
		return rep, err
	}
	return rep, n.returned(ctx, tx, returned)
}

// reports are the new events about one message.
type reports struct {
	message *messageRow
	events  []*deliveryEvent
}

// applyEvents brings new events into their messages, keeps the facts beside them,
// suppresses addresses, and tells the host: all in tx.
func (n tracker) applyEvents(ctx context.Context, tx storage.Tx, events []*deliveryEvent, found map[*deliveryEvent]*messageRow) error {
	if len(events) == 0 {
		return nil
	}
	if err := n.suppressCopies(ctx, tx, events, found); err != nil {
		return err
	}
	events, found = n.ofRecipients(events, found)
	changes, err := n.raise(ctx, tx, byMessage(events, found))
	if err != nil {
		return err
	}
	facts, err := keepFacts(ctx, tx, events, found)
	if err != nil {
		return err
	}
	for _, f := range facts {
		switch f.event.StatusKind {
		case channel.KindBounced:
			changes = append(changes, bounceOf(f.message, f.event))
		case channel.KindResubscribed:
			changes = append(changes, returnOf(f.message, f.event))
		}
	}
	if err := n.suppressFacts(ctx, tx, facts); err != nil {
		return err
	}
	if err := n.resubscribe(ctx, tx, facts); err != nil {
		return err
	}
	return emitChanges(ctx, tx, changes)
}

func byMessage(events []*deliveryEvent, found map[*deliveryEvent]*messageRow) []*reports {
	var all []*reports
	at := map[*messageRow]*reports{}
	for _, e := range events {
		m := found[e]
		if at[m] == nil {
			at[m] = &reports{message: m}
			all = append(all, at[m])
		}
		at[m].events = append(at[m].events, e)
	}
	return all
}

// raise writes the messages. One that another worker wrote meanwhile is read again,
// and the events are brought into what it has become.
func (n tracker) raise(ctx context.Context, tx storage.Tx, all []*reports) (changes []StatusChange, err error) {
	for range 5 {
		told, again, err := n.raiseOnce(ctx, tx, all)
		changes = append(changes, told...)
		if err != nil || len(again) == 0 {
			return changes, err
		}
		if all, err = reread(ctx, tx, again); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("notify: %d messages kept changing under a callback: %w", len(all), storage.ErrBusy)
}

func (n tracker) raiseOnce(ctx context.Context, tx storage.Tx, all []*reports) (told []StatusChange, again []*reports, err error) {
	now := driver.Now(n.store)
	var save, written []*messageRow
	var saved []*reports
	var news [][]StatusChange
	for _, r := range all {
		before := r.message.Status
		if r.apply(now, n.tells) {
			save, saved = append(save, r.message), append(saved, r)
			news = append(news, movedFrom(r.message, before, now))
		}
	}
	err = outgoingMessages.Save(ctx, tx, save...)
	if stale := (*storage.StaleError)(nil); errors.As(err, &stale) {
		for _, i := range stale.Rows {
			again, news[i] = append(again, saved[i]), nil
		}
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	for i, some := range news {
		told = append(told, some...)
		if !slices.Contains(again, saved[i]) {
			written = append(written, save[i])
		}
	}
	return told, again, n.tellOwners(ctx, tx, written)
}

// apply passes over failures of channels that are not in use: a later one has the
// message, or gets it.
func (r *reports) apply(now time.Time, tells func(*messageRow, *deliveryEvent) bool) (changed bool) {
	for _, e := range r.events {
		if e.StatusKind == channel.KindFailed && !tells(r.message, e) {
			continue
		}
		changed = r.message.reported(now, e) || changed
	}
	return changed
}

// reread loads messages anew; one that is gone is left out.
func reread(ctx context.Context, from driver.Reader, all []*reports) ([]*reports, error) {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.message.MessageID
	}
	messages, err := messagesByID(ctx, from, ids)
	var there []*reports
	for i, r := range all {
		if r.message = messages[ids[i]]; r.message != nil {
			there = append(there, r)
		}
	}
	return there, err
}

// heights order what is known of a message: a callback only moves it up, so that
// the order in which callbacks come does not matter. A state without a height is
// one that our own work goes on from. What was skipped or cancelled moves only
// once the recipient has the message all the same: an earlier call reached it.
var heights = map[string]int{
	StatusSentToProvider: 1,
	StatusFailedFinal:    2,
	StatusSkipped:        2,
	StatusExpired:        2,
	StatusCancelled:      2,
	StatusDelivered:      3,
	StatusOpened:         4,
}

// statusOf is what each kind says at least: whatever a provider reports about a
// message, it has it.
var statusOf = map[channel.StatusKind]string{
	channel.KindAccepted:     StatusSentToProvider,
	channel.KindFailed:       StatusFailedFinal,
	channel.KindDelivered:    StatusDelivered,
	channel.KindOpened:       StatusOpened,
	channel.KindBounced:      StatusSentToProvider,
	channel.KindComplained:   StatusSentToProvider,
	channel.KindUnsubscribed: StatusSentToProvider,
	channel.KindResubscribed: StatusSentToProvider,
}

// raised is the status of a message after a callback.
func raised(status string, k channel.StatusKind) string {
	if to := statusOf[k]; heights[to] > heights[status] {
		return to
	}
	return status
}

// reported brings what a provider reports into the message, and says whether it
// changed anything. Neither a retry nor a take-over follows. A worker that holds
// the message keeps its lease, and merges its result.
func (m *messageRow) reported(now time.Time, e *deliveryEvent) bool {
	named := m.ProviderMessageID == "" && e.ProviderMessageID != ""
	if named {
		m.ProviderMessageID = e.ProviderMessageID
	}
	to := raised(m.Status, e.StatusKind)
	back := e.StatusKind == channel.KindBounced && to == StatusSentToProvider
	if to == m.Status {
		if back && m.ReasonCode == "" {
			m.ReasonCode = cmp.Or(e.Code, reasons.Bounced)
			return true
		}
		return named
	}
	m.confirmed(now)
	m.become(to)
	m.DueOn, m.NextRetryOn, m.ReasonCode = time.Time{}, time.Time{}, ""
	m.SentOn = cmp.Or(m.SentOn, m.CallStartedOn, e.On)
	if to != StatusSentToProvider {
		m.EndedOn = cmp.Or(m.EndedOn, e.On)
	}
	m.FailedOn = time.Time{}
	if to == StatusFailedFinal {
		m.FailedOn = now
		m.ReasonCode = cmp.Or(e.Code, reasons.Refused)
	}
	if back {
		m.ReasonCode = cmp.Or(e.Code, reasons.Bounced)
	}
	if m.HoldReason != reasons.Conflict { // that is about the job, not about this call
		m.SupportHold = driver.SupportHold{}
	}
	return true
}

// confirmed notes that the provider settles a doubt, or an assumption.
func (m *messageRow) confirmed(now time.Time) {
	if m.Doubts > 0 && heights[m.Status] == 0 || m.Resolution == ResolvedByAssumption {
		m.resolved(now, ResolvedByCallback)
	}
}
