package notify

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// What is in an inbox may go out by another way as well, if it is not read there: an
// ordinary outgoing message, made in the transaction that makes the one in the inbox, and
// due when its time is over. It names that one (UnlessRead). Each claim looks at it, since
// gates may keep the message for hours; and the transaction that notes the call writes it,
// by its version, so that either the reader of that moment comes first, or the call.

// escalates has a message of a recipient who has an inbox, too, wait for as long as its
// type says.
func (t Type) escalates(j *jobRow, user *userMessageRow, m *messageRow) {
	if user == nil || t.EscalateAfter == 0 || m.Status != StatusCreated {
		return
	}
	m.UnlessRead = user.Key
	m.ScheduledOn = driver.Time(m.CreatedOn.Add(t.EscalateAfter))
	m.DueOn = m.ScheduledOn
	m.ValidUntil = t.validUntil(j.until(t), m.ScheduledOn, m.Lane)
}

// patience is how long the message in the inbox is left alone.
func (m *messageRow) patience() time.Duration { return max(m.ScheduledOn.Sub(m.CreatedOn), 0) }

// letsOut says whether a message goes out beside this one in an inbox, as it is now; nil:
// it is there no more. One that comes back from a snooze is new, and has its time again.
func (m *userMessageRow) letsOut(mail *messageRow, now time.Time) gate.Verdict {
	if m == nil || m.IsTombstone() || !m.ReadOn.IsZero() || !m.ArchivedOn.IsZero() {
		return gate.Skip(reasons.Read)
	}
	if m.SnoozedUntil.IsZero() {
		return gate.Proceed()
	}
	if ready := m.SnoozedUntil.Add(mail.patience()); ready.After(now) {
		return gate.Defer(ready, reasons.Snoozed)
	}
	return gate.Proceed()
}

// inboxOf is where the message in the inbox is.
func (m *messageRow) inboxOf() driver.ScopedKey {
	return driver.ScopedKey{Scope: m.Scope, Key: m.UnlessRead}
}

// besides finds the messages in inboxes that others go out beside.
func besides(ctx context.Context, from driver.Reader, rows []*messageRow, columns ...string) (map[driver.ScopedKey]*userMessageRow, error) {
	var places []driver.ScopedKey
	for _, m := range rows {
		if m.UnlessRead != "" {
			places = append(places, m.inboxOf())
		}
	}
	if len(places) == 0 {
		return nil, nil
	}
	return userMessages.GetMany(ctx, from, places, columns...)
}

// unreadOnly leaves out, and settles, messages that are not to go out now since their
// recipient has read them in the inbox, or has put them off there.
func (n sender) unreadOnly(ctx context.Context, items []sending) (open []sending, err error) {
	rows := make([]*messageRow, len(items))
	escalates := false
	for i, it := range items {
		rows[i] = it.Row
		escalates = escalates || it.Row.UnlessRead != ""
	}
	if !escalates {
		return items, nil
	}
	var found map[driver.ScopedKey]*userMessageRow
	var of map[driver.ScopedKey]*jobRow
	err = n.store.View(ctx, func(from driver.Reader) (err error) {
		found, err = besides(ctx, from, rows, "read_on", "archived_on", "snoozed_until", "forgotten_on")
		if err == nil {
			of, err = jobsOfSnoozed(ctx, from, rows, found)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	now := driver.Now(n.store)
	for _, it := range items {
		m, v := it.Row, gate.Verdict{}
		if m.UnlessRead != "" {
			v = found[m.inboxOf()].letsOut(m, now)
		}
		if v.Reason == reasons.Snoozed {
			m.livesFrom(v.Until, of[m.job()], n.registry.lookup(m.NotificationType))
		}
		if n.apply(m, v) {
			open = append(open, it)
		}
	}
	return open, nil
}

// jobsOfSnoozed are the jobs of the messages that are put off, with what their hosts said
// of their validity.
func jobsOfSnoozed(ctx context.Context, from driver.Reader, rows []*messageRow, found map[driver.ScopedKey]*userMessageRow) (map[driver.ScopedKey]*jobRow, error) {
	var places []driver.ScopedKey
	for _, m := range rows {
		if user := found[m.inboxOf()]; m.UnlessRead != "" && user != nil && !user.SnoozedUntil.IsZero() {
			places = append(places, m.job())
		}
	}
	if len(places) == 0 {
		return nil, nil
	}
	return jobs.GetMany(ctx, from, places, "valid_until", "source_key", "forgotten_on")
}

// livesFrom has a message that was put off be valid from then on for as long as its type
// says, unless its job says until when.
func (m *messageRow) livesFrom(on time.Time, j *jobRow, t Type) {
	if j != nil && !j.IsTombstone() && j.until(t).IsZero() && !m.ValidUntil.IsZero() {
		m.ValidUntil = t.validUntil(time.Time{}, on, m.Lane)
	}
}

// barRead keeps calls from beginning whose messages are read at this moment: the
// next claim finds out what became of them. Of the others it notes in the inbox that they
// go out.
func (n sender) barRead(ctx context.Context, tx storage.Tx, rows []*messageRow) ([]bool, error) {
	found, err := besides(ctx, tx, rows)
	if err != nil || found == nil {
		return nil, err
	}
	now := driver.Now(n.store)
	barred := make([]bool, len(rows))
	var save []*userMessageRow
	of := map[*userMessageRow][]int{}
	for i, m := range rows {
		if m.UnlessRead == "" {
			continue
		}
		user := found[m.inboxOf()]
		if barred[i] = user.letsOut(m, now).Action != gate.ActionProceed; barred[i] {
			continue
		}
		if of[user] == nil {
			save = append(save, user)
		}
		of[user] = append(of[user], i)
		user.EscalatedOn = cmp.Or(user.EscalatedOn, now)
	}
	return barred, saveOr(ctx, tx, userMessages, save, func(user *userMessageRow) {
		for _, i := range of[user] {
			barred[i] = true
		}
	})
}

// saveOr saves rows, and tells of those that another has written.
func saveOr[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], rows []*R, stale func(*R)) error {
	err := t.Save(ctx, tx, rows...)
	if e := (*storage.StaleError)(nil); errors.As(err, &e) {
		for _, i := range e.Rows {
			stale(rows[i])
		}
		return nil
	}
	return err
}
