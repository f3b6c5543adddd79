package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// HeldMessages says which messages support means: those on hold for [HoldRetries], such
// as after an outage that outlasted their schedule. Channel is required.
type HeldMessages struct {
	Channel string // "email:sendgrid"
	Reason  string // the ReasonCode of the last try, such as "401"; empty: any
	// Everywhere means every scope: that of the call is empty then.
	Everywhere bool
	// Limit is how many messages one call looks at; zero means 1000, which is the most.
	Limit int
	// After continues behind the page before; it is the Next of its report.
	After string
}

func (h HeldMessages) query() (driver.Query, error) {
	q := driver.Query{Limit: h.Limit, Where: append(held(HoldRetries), driver.Eq("kind", h.Channel))}
	if q.Limit == 0 {
		q.Limit = maxPage
	}
	if h.Reason != "" {
		q.Where = append(q.Where, driver.Eq("reason_code", h.Reason))
	}
	after, err := driver.ParsePosition(h.After)
	switch {
	case h.Channel == "":
		return q, errors.New("no Channel is set")
	case q.Limit < 0 || q.Limit > maxPage:
		return q, fmt.Errorf("the Limit %d is not between 1 and %d", h.Limit, maxPage)
	case err != nil || after != nil && after.Value != nil:
		return q, fmt.Errorf("the After %.40q is not the Next of a report", h.After)
	}
	q.After = after
	return q, nil
}

// ReleaseReport is what ReleaseHeld did to a page of messages, or would do.
type ReleaseReport struct {
	DryRun bool
	// Messages has every message that was found, the oldest first, those that were
	// refused too.
	Messages          []Released
	Released, Refused int
	// Next continues behind this page, as [HeldMessages].After; empty: there is no more.
	Next string
}

// Released is what became of one message on hold.
type Released struct {
	Scope      Scope
	Key        string
	MessageID  string
	ReasonCode string // of the last try, or of the doubt
	Refusal    string // why it stays on hold; empty: it does not
}

// ReleaseHeld does what Release does to each of the messages that h finds in scope, or
// everywhere if h says so, one page of them in one transaction, by the index of holds.
// One that is stale is refused and stays on hold: a person may release it by its key.
// One that is refused does not stop the others. A dry run answers the same and writes
// nothing. An error means that nothing of the call was written. It is safe to repeat,
// and each release is audited.
func (n Support) ReleaseHeld(ctx context.Context, scope Scope, h HeldMessages, by By, opts *ActionOptions) (ReleaseReport, error) {
	q, err := h.query()
	if err == nil {
		err = by.Check()
	}
	if err == nil && h.Everywhere && scope != "" {
		err = errors.New("a scope, and Everywhere")
	}
	report := ReleaseReport{DryRun: audit.IsDry(opts)}
	if err == nil {
		err = n.inTx(ctx, nil, func(tx storage.Tx) (err error) {
			rows, err := messagesFound(ctx, tx, scope, h.Everywhere, q)
			if err != nil {
				return err
			}
			report.Next = ""
			if len(rows) == q.Limit {
				report.Next = placeOf(rows[len(rows)-1], q)
			}
			report.Messages, err = n.changePage(ctx, tx, rows, "Release", by, report.DryRun, (*messageRow).releaseAmongOthers)
			return err
		})
	}
	if err != nil {
		return ReleaseReport{}, fmt.Errorf("notify: ReleaseHeld: %w", err)
	}
	for _, m := range report.Messages {
		if m.Refusal != "" {
			report.Refused++
		}
	}
	report.Released = len(report.Messages) - report.Refused
	return report, nil
}

// releaseAmongOthers ends the hold of a message that nobody has named: one that is stale
// stays.
func (m *messageRow) releaseAmongOthers(now time.Time) (refused string) {
	if m.stale(now) {
		return "it was valid until " + m.ValidUntil.Format(time.RFC3339)
	}
	return m.endHold(now)
}

// changePage is one audited change of each of a page of messages.
func (n Support) changePage(ctx context.Context, tx storage.Tx, rows []*messageRow, action string, by By, dryRun bool,
	change func(m *messageRow, now time.Time) (refused string)) ([]Released, error) {
	now := driver.Now(n.store)
	out := make([]Released, len(rows))
	before := make([]string, len(rows))
	var chosen []int
	var save []*messageRow
	for i, m := range rows {
		out[i] = Released{Scope: m.Scope, Key: m.Key, MessageID: m.MessageID, ReasonCode: m.ReasonCode}
		before[i] = m.Status
		if out[i].Refusal = change(m, now); out[i].Refusal == "" {
			chosen, save = append(chosen, i), append(save, m)
		}
	}
	if dryRun || len(save) == 0 {
		return out, nil
	}
	var stale *storage.StaleError
	if err := outgoingMessages.Save(ctx, tx, save...); errors.As(err, &stale) {
		for _, i := range stale.Rows {
			out[chosen[i]].Refusal = changedSince
		}
	} else if err != nil {
		return nil, err
	}
	var entries []*audit.Entry
	for _, i := range chosen {
		if m := rows[i]; out[i].Refusal == "" {
			entries = append(entries, audited(m, action, by, before[i], now))
		}
	}
	if len(entries) == 0 {
		return out, nil
	}
	return out, audit.Write(ctx, tx, entries...)
}

// audited is what a person did to a message that had another status before, or the same.
func audited(m *messageRow, action string, by By, before string, now time.Time) *audit.Entry {
	return &audit.Entry{
		Record: storage.Record{Scope: m.Scope}, Subject: outgoingMessages.Name, SubjectKey: m.Key, SubjectID: m.ID, SubjectVersion: m.Version,
		Action: action, Actor: by.Actor, Reason: by.Reason, From: before, To: m.Status, On: now,
	}
}

// messagesFound reads a page of messages of one scope, or of all.
func messagesFound(ctx context.Context, from driver.Reader, scope Scope, everywhere bool, q driver.Query) ([]*messageRow, error) {
	if everywhere {
		return outgoingMessages.Everywhere().Find(ctx, from, q)
	}
	return outgoingMessages.Find(ctx, from, scope, q)
}
