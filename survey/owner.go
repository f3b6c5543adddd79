package survey

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// owner answers for the messages of links: package notify asks it before each call, and tells
// it of each write, in the transaction of that write. What a write says is brought into the
// link as often as it is told: a message is of one send, and the link knows which one it
// waits for.
type owner struct{ *core }

var _ owned.Owner = owner{}

// messageKey is that of the message of the present send: of the link, the ordinal, and which
// of the messages that were made for it.
func (i *instanceRow) messageKey() string { return i.PublicID + "\x1f" + i.sendKey() }

func (i *instanceRow) sendKey() string {
	return strconv.Itoa(i.SendOrdinal) + "." + strconv.Itoa(i.Attempts)
}

func (i *instanceRow) messageAt() driver.ScopedKey {
	return driver.ScopedKey{Scope: i.Scope, Key: i.messageKey()}
}

// awaits reports whether the link waits for what becomes of a message.
func (i *instanceRow) awaits(m *owned.Message) bool { return i.Queued && m.Key == i.messageKey() }

// sendOf is the link, the send and the ordinal of a message.
func sendOf(m *owned.Message) (publicID, send string, ordinal int) {
	publicID, send, _ = strings.Cut(m.Key, "\x1f")
	number, _, _ := strings.Cut(send, ".")
	ordinal, _ = strconv.Atoi(number) // sendKey made it
	return publicID, send, ordinal
}

// of finds the links of messages; nil: there is none any more.
func (s owner) of(ctx context.Context, from driver.Reader, all []owned.Message, columns ...string) ([]*instanceRow, error) {
	ids := make([]string, len(all))
	for i := range all {
		ids[i], _, _ = sendOf(&all[i])
	}
	found, err := linksByPublicID(ctx, from, ids, columns...)
	if err != nil {
		return nil, err
	}
	out := make([]*instanceRow, len(all))
	for i := range all {
		out[i] = found[driver.ScopedKey{Scope: all[i].Scope, Key: ids[i]}]
	}
	return out, nil
}

// linksByPublicID finds links of any number of tenants by their ids, which are random, in one
// statement. The caller takes those of the scope that it means.
func linksByPublicID(ctx context.Context, from driver.Reader, ids []string, columns ...string) (map[driver.ScopedKey]*instanceRow, error) {
	unique := slices.Compact(slices.Sorted(slices.Values(ids)))
	rows, err := instances.Everywhere().Find(ctx, from, driver.Query{
		Columns: columns, Where: []driver.Cond{driver.In("public_id", unique)}, Limit: len(unique), Unordered: true,
	})
	found := make(map[driver.ScopedKey]*instanceRow, len(rows))
	for _, r := range rows {
		found[driver.ScopedKey{Scope: r.Scope, Key: r.PublicID}] = r
	}
	return found, err
}

// isOver reports whether a message is wanted no more, or not now.
func (i *instanceRow) isOver(m *owned.Message) bool {
	return i == nil || !i.isOpen() || i.heldBySupport() || !i.awaits(m) || i.NextSendOn.IsZero()
}

// Ask skips messages of links that have ended, applies the contact rules, and gives the
// others what is not stored with them.
func (s owner) Ask(ctx context.Context, all []owned.Message) (out []owned.Answer, err error) {
	var rows []*instanceRow
	err = s.store.View(ctx, func(from driver.Reader) (err error) {
		if rows, err = s.of(ctx, from, all); err != nil {
			return err
		}
		versions, err := s.pinnedTo(ctx, from, rows)
		if err != nil {
			return err
		}
		out = make([]owned.Answer, len(all))
		var open []asked
		for i, r := range rows {
			if r.isOver(&all[i]) {
				out[i].Skip = reasons.LinkOver
				continue
			}
			it := s.sendingOf(work.Item[instanceRow]{Row: r}, versions[r.ref()])
			open = append(open, asked{it, &out[i]})
		}
		return s.restful(ctx, from, open)
	})
	if err != nil {
		return nil, err
	}
	for i, r := range rows { // which may read a key
		if out[i].Skip == "" && out[i].Until.IsZero() {
			s.complete(ctx, r, &out[i])
		}
	}
	return out, nil
}

// complete adds the token, and what the channel gets beside the text.
func (s owner) complete(ctx context.Context, r *instanceRow, a *owned.Answer) {
	token, err := s.tokenOf(ctx, r)
	if err != nil {
		s.logUncomposed(ctx, r, "a link could not be made", slog.Any("error", err))
		a.Until, a.Reason = driver.Now(s.store).Add(waits[0]), reasons.LinkFailed
		return
	}
	a.StandIn, a.Secret, a.Metadata = standIn(r.PublicID), token, metadataOf(r)
}

// Bar reads the links of calls that are about to begin.
func (s owner) Bar(ctx context.Context, tx storage.Tx, all []owned.Message) ([]bool, error) {
	rows, err := s.of(ctx, tx, all, "public_id", "status", "deleted_on", "queued", "send_ordinal", "attempts", "next_send_on", "is_on_support_hold", "reason_code")
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(all))
	for i, r := range rows {
		out[i] = r.isOver(&all[i])
	}
	return out, nil
}

// Keeps has messages stay as long as their links are whole.
func (s owner) Keeps(ctx context.Context, from driver.Reader, all []owned.Message) ([]bool, error) {
	rows, err := s.of(ctx, from, all, "public_id", "forgotten_on")
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(all))
	for i, r := range rows {
		out[i] = r != nil && !r.IsTombstone()
	}
	return out, nil
}

// Changed brings what was written of messages into their links. Those that another writes
// at this moment are read again.
func (s owner) Changed(ctx context.Context, tx storage.Tx, all []owned.Message) error {
	return driver.RetryStale("the links of messages", func() error { return s.advance(ctx, tx, all) })
}

func (s owner) advance(ctx context.Context, tx storage.Tx, all []owned.Message) error {
	rows, err := s.of(ctx, tx, all)
	if err != nil {
		return err
	}
	versions, err := s.pinnedTo(ctx, tx, rows)
	if err != nil {
		return err
	}
	now, changed := driver.Now(s.store), map[*instanceRow]bool{}
	for i, r := range rows {
		if r == nil {
			continue
		}
		linksOf(ctx).add(r.PublicID)
		it := s.sendingOf(work.Item[instanceRow]{Row: r}, versions[r.ref()])
		before := r.progress()
		it.take(now, all[i])
		r.plan(it.grace)
		if it.trigger == nil && r.isOpen() { // what follows is not known: the next poll looks again
			r.DueOn = now.Add(waits[0])
		}
		changed[r] = changed[r] || before != r.progress() || len(r.Log) > 0
	}
	var save []*instanceRow
	for r := range changed {
		if changed[r] {
			save = append(save, r)
		}
	}
	slices.SortFunc(save, func(a, b *instanceRow) int { return cmp.Compare(a.ID, b.ID) })
	if err := writeLog(ctx, tx, save); err != nil { // first: it is the same when it is written again
		return err
	}
	return instances.Save(ctx, tx, save...)
}

// progress is what becomes of a link's sends.
type progress struct {
	status                                                        string
	nextSend, nextTry, lastSent, callStarted, stopped, due, ended time.Time
	remaining, ordinal, calls, tries, attempts                    int
	inDoubt, queued, held                                         bool
	reason, first                                                 string
}

func (i *instanceRow) progress() progress {
	return progress{
		i.Status, i.NextSendOn, i.NextTryOn, i.LastSentOn, i.CallStartedOn, i.StoppedOn, i.DueOn, i.EndedOn,
		i.RemindersRemaining, i.SendOrdinal, i.Calls, i.Tries, i.Attempts, i.InDoubt, i.Queued, i.IsOnSupportHold, i.ReasonCode, i.FirstMessage,
	}
}

// take brings what is known of a message into the link. What it says of a send that is over
// only goes into the log.
func (it *sending) take(now time.Time, m owned.Message) {
	r := it.Row
	if it.trigger == nil && m.Sent && r.awaits(&m) && r.isOpen() {
		return // the schedule is not known
	}
	r.logMessage(now, &m)
	if !m.Claimed(now) {
		r.Calls = max(r.Calls, m.Calls)
	}
	if _, _, ordinal := sendOf(&m); m.Sent && ordinal == 0 && r.FirstMessage == "" {
		r.FirstMessage = m.MessageID
	}
	switch {
	case !r.awaits(&m):
		if m.Sent {
			r.LastSentOn = later(r.LastSentOn, m.SentOn)
		}
	case !r.isOpen():
		r.takeLate(&m)
	default:
		r.takeOpen(now, &m, it.reminders())
	}
}

func (it *sending) reminders() []form.Duration {
	if it.trigger == nil {
		return nil
	}
	return it.trigger.Schedule.Reminders
}

// takeLate is the end of a message of a link that has ended before it.
func (i *instanceRow) takeLate(m *owned.Message) {
	if m.Waits || m.InDoubt {
		return
	}
	i.settleCall()
	if m.Sent {
		i.Asked = i.LastSentOn.IsZero() && i.Status != StatusCompleted // whose response has counted it
		i.LastSentOn = later(i.LastSentOn, m.SentOn)
	}
}

// takeOpen is what a message means for a link that waits for it.
func (i *instanceRow) takeOpen(now time.Time, m *owned.Message, reminders []form.Duration) {
	support := i.heldBySupport()
	switch {
	case m.Sent:
		i.sent(m.SentOn, reminders)
	case m.Waits || m.InDoubt:
		i.wait(m)
	case m.Status == notify.StatusExpired:
		i.expire(now)
	case m.ReasonCode == reasons.LinkOver, i.NextSendOn.IsZero():
		i.settleCall()
	case m.ReasonCode == reasons.AskedLately:
		i.skip(now, reasons.AskedLately)
	case m.Status == notify.StatusCancelled && m.ReasonCode == reasons.Cancelled:
		i.stop(now, reasons.SendsStopped)
	default:
		i.stop(now, m.ReasonCode)
	}
	if support && i.isOpen() {
		i.hold(reasons.HeldBySupport)
	}
}

// wait is a message that is still to be called, or is in doubt.
func (i *instanceRow) wait(m *owned.Message) {
	i.Tries, i.InDoubt, i.NextTryOn, i.CallStartedOn = m.Tries, m.InDoubt, time.Time{}, time.Time{}
	if m.DueOn.After(i.NextSendOn) {
		i.NextTryOn = m.DueOn
	}
	if m.InDoubt {
		i.CallStartedOn = m.CallStartedOn
	}
	if !i.NextSendOn.IsZero() { // else support has stopped it
		i.ReasonCode, i.IsOnSupportHold = m.ReasonCode, m.Held
	}
}

// heldBySupport reports whether a person has put the link on hold, and not its message.
func (i *instanceRow) heldBySupport() bool {
	return i.IsOnSupportHold && i.ReasonCode == reasons.HeldBySupport
}

// end ends the message of a link, before the link is written, and reports whether it is
// called at this moment: then it goes out, and what becomes of it is brought into the link.
func (s *core) end(ctx context.Context, tx storage.Tx, on time.Time, r *instanceRow) (called bool, err error) {
	if !r.Queued {
		return false, nil
	}
	ended, err := s.out.End(ctx, tx, on, reasons.LinkOver, r.messageAt())
	if err != nil {
		return false, err
	}
	m, there := ended[r.messageAt()]
	if called = there && m.Called(driver.Now(s.store)); !called {
		r.settleCall()
	}
	return called, nil
}
