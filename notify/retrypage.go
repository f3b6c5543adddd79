package notify

import (
	"context"
	"errors"
	"strconv"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// retrying is what holds for all messages of a call.
type retrying struct {
	by     By
	dryRun bool
}

const (
	triedAgain   = "it has its next attempt already"
	changedSince = "it has just changed"
)

// retryPage makes the next attempts of one page of failed messages.
func (n *Notifier) retryPage(ctx context.Context, tx storage.Tx, scope Scope, q storage.Query, r retrying) (out []Retried, after string, err error) {
	rows, err := outgoingMessages.Find(ctx, tx, scope, q)
	if err != nil || len(rows) == 0 {
		return nil, "", err
	}
	if len(rows) == q.Limit {
		after = strconv.FormatInt(rows[len(rows)-1].ID, 36)
	}
	next, out, err := n.nextAttempts(rows)
	if err != nil {
		return nil, "", err
	}
	if err := refuseRetries(ctx, tx, rows, next, out); err != nil || r.dryRun {
		return out, after, err
	}
	return out, after, n.makeAttempts(ctx, tx, rows, next, out, r.by)
}

// nextAttempts are what would be sent, with an answer for each.
func (n *Notifier) nextAttempts(rows []*OutgoingMessage) ([]*OutgoingMessage, []Retried, error) {
	now := storage.Now(n.store)
	next, out := make([]*OutgoingMessage, len(rows)), make([]Retried, len(rows))
	for i, m := range rows {
		again := *m
		again.AttemptNo++
		again.RowKey, again.MessageID, again.CreatedOn = "", "", now
		if err := n.begin(&again, StatusCreated); err != nil {
			return nil, nil, err
		}
		again.NextRetryOn = now // it waited, so it is revalidated
		next[i] = &again
		out[i] = Retried{Key: m.Key, MessageID: m.MessageID, ReasonCode: m.ReasonCode, Attempt: again.Key, AttemptNo: again.AttemptNo}
	}
	return next, out, nil
}

// refuseRetries says which messages are not to be sent again.
func refuseRetries(ctx context.Context, tx storage.Tx, rows, next []*OutgoingMessage, out []Retried) error {
	var campaigns, attempts []place
	for i, m := range rows {
		attempts = append(attempts, place{m.Scope, next[i].Key})
		if m.JobPartitionKey == "" {
			campaigns = append(campaigns, m.job())
		}
	}
	exist, err := loadPlaces(ctx, tx, outgoingMessages, attempts)
	if err != nil {
		return err
	}
	of, err := loadPlaces(ctx, tx, messagingJobs, campaigns)
	if err != nil {
		return err
	}
	for i, m := range rows {
		campaign := of[m.job()]
		switch {
		case m.Status != StatusFailedFinal:
			out[i].Refusal = "it is " + m.Status + ", and has not failed for good"
		case exist[attempts[i]] != nil:
			out[i].Refusal = triedAgain
		case m.JobPartitionKey == "" && campaign != nil && campaign.Status == StatusCancelled:
			out[i].Refusal = "its campaign was cancelled"
		}
	}
	return nil
}

// makeAttempts stores what was not refused. Each failed message is written too, so
// that a callback which comes between is not overlooked.
func (n *Notifier) makeAttempts(ctx context.Context, tx storage.Tx, rows, next []*OutgoingMessage, out []Retried, by By) error {
	var chosen []int
	var save []*OutgoingMessage
	for i := range rows {
		if out[i].Refusal == "" {
			chosen, save = append(chosen, i), append(save, rows[i])
		}
	}
	err := outgoingMessages.Save(ctx, tx, save...)
	var stale *storage.StaleError
	switch {
	case errors.As(err, &stale):
		for _, i := range stale.Rows {
			out[chosen[i]].Refusal = changedSince
		}
	case err != nil:
		return err
	}
	var wanted []*OutgoingMessage
	var entries []*audit.Entry
	for _, i := range chosen {
		if out[i].Refusal != "" {
			continue
		}
		m := rows[i]
		wanted = append(wanted, next[i])
		entries = append(entries, &audit.Entry{
			Record: storage.Record{Scope: m.Scope}, Subject: outgoingMessages.Name, SubjectKey: m.Key, SubjectID: m.ID, SubjectVersion: m.Version,
			Action: "Retry", Actor: by.Actor, Reason: by.Reason, From: m.Status, To: m.Status, On: storage.Now(n.store),
		})
	}
	if len(wanted) == 0 {
		return nil
	}
	if _, _, err := outgoingKind.ensureIn(ctx, tx, wanted); err != nil {
		return err
	}
	return audit.Write(ctx, tx, entries...)
}
