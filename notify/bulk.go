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

// BulkReport is what a support action did to a page of messages, or would do.
type BulkReport struct {
	DryRun bool
	// Messages has every message that was found, in a fixed order, those that were refused
	// too.
	Messages      []Acted
	Done, Refused int
	// Next continues behind this page, as After of the next call; empty: there is no more.
	Next string
}

// Acted is what became of one message.
type Acted struct {
	Scope      Scope
	Key        string
	MessageID  string
	ReasonCode string // before the action
	// Attempt is the Key of the next attempt of a message that is sent again, and AttemptNo
	// its number.
	Attempt   string
	AttemptNo int
	Refusal   string // why nothing was done; empty: it was
}

// The refusals that several actions have.
const (
	forgotten    = "it was forgotten"
	triedAgain   = "it has its next attempt already"
	changedSince = "it has just changed"
)

// tooLate refuses a message that is stale.
func (m *messageRow) tooLate(now time.Time) (refused string) {
	if !m.stale(now) {
		return ""
	}
	return "it was valid until " + m.ValidUntil.Format(time.RFC3339)
}

// bulk is an action on one page of messages, in one transaction.
type bulk struct {
	Support
	verb       string // for errors
	scope      Scope
	everywhere bool
	query      driver.Query
	by         By
	dryRun     bool
}

func (b bulk) check() error {
	if err := b.by.Check(); err != nil {
		return err
	}
	if b.everywhere && b.scope != "" {
		return errors.New("a scope cannot be combined with Everywhere")
	}
	return nil
}

// pageOf is the query of a page of at most limit messages behind after.
func pageOf(limit int, after, orderBy string, desc bool, where ...driver.Cond) (driver.Query, error) {
	q := driver.Query{Where: where, OrderBy: orderBy, Desc: desc, Limit: limit}
	if limit == 0 {
		q.Limit = maxPage
	}
	if q.Limit < 1 || q.Limit > maxPage {
		return q, fmt.Errorf("the Limit %d is not between 1 and %d", limit, maxPage)
	}
	at, err := driver.ParsePosition(after)
	if err != nil || at != nil && (at.Value == nil) != (orderBy == "") {
		return q, fmt.Errorf("the After %.40q is not the Next of a report", after)
	}
	q.After = at
	return q, nil
}

// run finds the page and has act answer for each of its messages. err is what is wrong with
// the question.
func (b bulk) run(ctx context.Context, err error, act func(tx storage.Tx, rows []*messageRow) ([]Acted, error)) (report BulkReport, _ error) {
	if err == nil {
		err = b.check()
	}
	if err == nil {
		err = b.inTx(ctx, nil, func(tx storage.Tx) error {
			rows, err := messagesFound(ctx, tx, b.scope, b.everywhere, b.query)
			if err != nil {
				return err
			}
			report = BulkReport{DryRun: b.dryRun} // the transaction may run again
			if len(rows) == b.query.Limit {
				report.Next = placeOf(rows[len(rows)-1], b.query)
			}
			report.Messages, err = act(tx, rows)
			return err
		})
	}
	if err != nil {
		return BulkReport{}, fmt.Errorf("notify: %s: %w", b.verb, err)
	}
	for _, m := range report.Messages {
		if m.Refusal != "" {
			report.Refused++
		}
	}
	report.Done = len(report.Messages) - report.Refused
	return report, nil
}

// messagesFound reads a page of messages of one scope, or of all.
func messagesFound(ctx context.Context, from driver.Reader, scope Scope, everywhere bool, q driver.Query) ([]*messageRow, error) {
	if everywhere {
		return outgoingMessages.Everywhere().Find(ctx, from, q)
	}
	return outgoingMessages.Find(ctx, from, scope, q)
}

// placeOf is where the page behind m begins.
func placeOf(m *messageRow, q driver.Query) string {
	at := driver.Position{ID: m.ID}
	if q.OrderBy != "" {
		at.Value = m.FailedOn
	}
	return at.String()
}

// change changes each of a page of messages, and audits it as an action.
func (b bulk) change(ctx context.Context, tx storage.Tx, action string, rows []*messageRow, change func(m *messageRow, now time.Time) (refused string)) ([]Acted, error) {
	now := driver.Now(b.store)
	out, before := make([]Acted, len(rows)), make([]string, len(rows))
	for i, m := range rows {
		out[i] = Acted{Scope: m.Scope, Key: m.Key, MessageID: m.MessageID, ReasonCode: m.ReasonCode}
		before[i] = m.Status
		out[i].Refusal = change(m, now)
	}
	return out, b.save(ctx, tx, action, rows, before, out)
}

// save writes the messages that were not refused, with their audit. One that was
// written meanwhile is refused.
func (b bulk) save(ctx context.Context, tx storage.Tx, action string, rows []*messageRow, before []string, out []Acted) error {
	if b.dryRun {
		return nil
	}
	var chosen []int
	var save []*messageRow
	for i, m := range rows {
		if out[i].Refusal == "" {
			chosen, save = append(chosen, i), append(save, m)
		}
	}
	var stale *storage.StaleError
	if err := outgoingMessages.Save(ctx, tx, save...); errors.As(err, &stale) {
		for _, i := range stale.Rows {
			out[chosen[i]].Refusal = changedSince
		}
	} else if err != nil {
		return err
	}
	var written []*messageRow
	var entries []*audit.Entry
	for _, i := range chosen {
		if out[i].Refusal == "" {
			written = append(written, rows[i])
			entries = append(entries, audited(rows[i], action, b.by, before[i], driver.Now(b.store)))
		}
	}
	if err := b.tellOwners(ctx, tx, written); err != nil {
		return err
	}
	return audit.Write(ctx, tx, entries...)
}

// audited is what a person did to a message that had another status before, or the same.
func audited(m *messageRow, action string, by By, before string, now time.Time) *audit.Entry {
	return &audit.Entry{
		Record: storage.Record{Scope: m.Scope}, Subject: outgoingMessages.Name, SubjectKey: m.Key, SubjectID: m.ID, SubjectVersion: m.Version,
		Action: action, Actor: by.Actor, Reason: by.Reason, From: before, To: m.Status, On: now,
	}
}
