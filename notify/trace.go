package notify

import (
	"context"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Trace is what exists of one notification job. Job is nil where there is none.
type Trace struct {
	Job              *Job
	Schedules        []Schedule // more than one only if several event types name the job
	UserMessages     []UserMessage
	OutgoingMessages []OutgoingMessage // the first 1000
}

// Trace tells what became of the job at those coordinates. A job that does not
// exist is no error.
//
//spec:n-013
func (n *Notifier) Trace(ctx context.Context, scope Scope, at Coordinates) (t Trace, err error) {
	key, err := keys.Join(at.PartitionKey, at.RowKey)
	if err != nil {
		return t, err
	}
	job := driver.Place{Scope: scope, Key: key}
	err = n.inTx(ctx, nil, func(tx storage.Tx) error {
		t = Trace{} // the transaction may run again
		found, err := jobs.GetMany(ctx, tx, []driver.Place{job})
		j := found[job]
		if err != nil || j == nil {
			return err
		}
		view := j.view()
		t.Job = &view
		return n.WithTx(tx).follow(ctx, j, &t)
	})
	return t, err
}

// follow reads what the job led to, in the bound transaction.
func (n *Notifier) follow(ctx context.Context, j *jobRow, t *Trace) error {
	guard, err := under(string(ArtifactNotificationJob), j.PartitionKey, j.RowKey)
	if err != nil {
		return err
	}
	if t.Schedules, err = all(ctx, n.core, schedules, j.Scope, guard, (*scheduleRow).view); err != nil {
		return err
	}
	if t.OutgoingMessages, _, err = n.Support().Messages(ctx, j.Scope, j.RowKey, storage.Page{Limit: maxPage}); err != nil {
		return err
	}
	t.UserMessages, err = j.userMessages(ctx, n.tx)
	return err
}

// userMessages finds the job's messages by the inboxes of its recipients.
func (j *jobRow) userMessages(ctx context.Context, tx storage.Tx) ([]UserMessage, error) {
	row, err := keys.UserMessageRow(j.SourceOn, j.RowKey)
	if err != nil {
		return nil, err
	}
	var places []driver.Place
	for _, r := range j.Recipients {
		if key, err := keys.Join(r.Inbox, row); err == nil {
			places = append(places, driver.Place{Scope: j.Scope, Key: key})
		}
	}
	found, err := userMessages.GetMany(ctx, tx, places)
	out := make([]UserMessage, 0, len(found))
	for _, at := range places {
		if m := found[at]; m != nil {
			out = append(out, m.view())
			delete(found, at)
		}
	}
	return out, err
}

// maxPage bounds what one call of a listing gives.
const maxPage = 1000

// Messages lists the outgoing messages of a notification job by its row key, or
// of a messaging job by its GUID, in the order of their keys, and says where the
// next page begins; empty after the last.
func (n Support) Messages(ctx context.Context, scope Scope, jobRowKey string, p storage.Page) ([]OutgoingMessage, string, error) {
	within, err := under(jobRowKey)
	if err != nil {
		return nil, "", err
	}
	return list(ctx, n.core, outgoingMessages, scope, p, within, (*messageRow).view)
}

// AllMessages lists the outgoing messages of a scope in the order of their keys.
func (n Support) AllMessages(ctx context.Context, scope Scope, p storage.Page) ([]OutgoingMessage, string, error) {
	return list(ctx, n.core, outgoingMessages, scope, p, nil, (*messageRow).view)
}

// under is the range of the keys whose first parts are these: keys.Join puts
// U+001F between parts, and no part holds it.
func under(parts ...string) ([]driver.Cond, error) {
	prefix, err := keys.Join(parts...)
	if err != nil {
		return nil, err
	}
	return []driver.Cond{driver.Greater("key", prefix+"\x1f"), driver.Less("key", prefix+"\x20")}, nil
}

// list reads a page of rows in the order of their keys, and says where the next
// one begins.
func list[P, R any](ctx context.Context, n *core, t *driver.Table[R], scope Scope, p storage.Page, where []driver.Cond, view func(*R) P) (out []P, next string, err error) {
	err = n.inTx(ctx, nil, func(tx storage.Tx) error {
		rows, after, err := t.Page(ctx, tx, scope, p, driver.Query{Where: where})
		out, next = make([]P, len(rows)), after
		for i, r := range rows {
			out[i] = view(r)
		}
		return err
	})
	return out, next, err
}

// all reads the first maxPage rows, where nobody has more.
func all[P, R any](ctx context.Context, n *core, t *driver.Table[R], scope Scope, where []driver.Cond, view func(*R) P) ([]P, error) {
	rows, _, err := list(ctx, n, t, scope, storage.Page{Limit: maxPage}, where, view)
	return rows, err
}

// CountMessages counts the outgoing messages of a notification job by its row
// key, at most 1000. With a transaction it reads there, with nil in the bound one
// or in one of its own.
func (n *Notifier) CountMessages(ctx context.Context, tx storage.Tx, scope Scope, jobRowKey string) (count int, err error) {
	within, err := under(jobRowKey)
	if err != nil {
		return 0, err
	}
	err = n.inTx(ctx, tx, func(tx storage.Tx) (err error) {
		count, err = outgoingMessages.Count(ctx, tx, scope, maxPage, within...)
		return err
	})
	return count, err
}
