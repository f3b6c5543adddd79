package notify

import (
	"cmp"
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// chunkBatch collects the messages of chunks, so that ensuring them takes few
// statements.
type chunkBatch struct {
	users    []*UserMessage
	outgoing []*OutgoingMessage
	answers  map[any]Ensured // by the message as it was wanted
	stored   map[*OutgoingMessage]*OutgoingMessage
}

// dispatchChunks stores the messages of chunks and moves the cursors behind them,
// in the transaction that has just settled the rows: their versions fence it.
func (n *Notifier) dispatchChunks(ctx context.Context, tx storage.Tx, done []work.Done[MessagingJob, chunk]) error {
	var rows []*MessagingJob
	var chunks []chunk
	for _, d := range done {
		if d.Result.next > 0 {
			rows, chunks = append(rows, d.Row), append(chunks, d.Result.copy())
		}
	}
	if len(rows) == 0 {
		return nil
	}
	b, err := n.ensureChunks(ctx, tx, chunks)
	if err != nil {
		return err
	}
	now := storage.Now(n.store)
	for i, j := range rows {
		if !b.conflicts(chunks[i]) {
			b.advance(j, chunks[i], now)
			continue
		}
		j.stopped(now, ReasonConflict)
		if err := b.hold(ctx, tx, chunks[i]); err != nil {
			return err
		}
	}
	return messagingJobs.Save(ctx, tx, rows...)
}

// copy has messages of its own, since the transaction may run again.
func (c chunk) copy() chunk {
	people := make([]addressee, len(c.people))
	for i, a := range c.people {
		people[i].problem = a.problem
		if a.user != nil {
			u := *a.user
			people[i].user = &u
		}
		if a.outgoing != nil {
			m := *a.outgoing
			people[i].outgoing = &m
		}
	}
	c.people = people
	return c
}

func (n *Notifier) ensureChunks(ctx context.Context, tx storage.Tx, chunks []chunk) (*chunkBatch, error) {
	b := &chunkBatch{answers: map[any]Ensured{}, stored: map[*OutgoingMessage]*OutgoingMessage{}}
	for _, c := range chunks {
		for _, a := range c.people {
			if a.user != nil {
				b.users = append(b.users, a.user)
			}
			if a.outgoing != nil {
				b.outgoing = append(b.outgoing, a.outgoing)
			}
		}
	}
	users, _, err := userKind.ensureIn(ctx, tx, b.users)
	if err != nil {
		return nil, err
	}
	outgoing, stored, err := outgoingKind.ensureIn(ctx, tx, b.outgoing)
	if err != nil {
		return nil, err
	}
	for i, m := range b.users {
		b.answers[m] = users[i]
	}
	for i, m := range b.outgoing {
		b.answers[m], b.stored[m] = outgoing[i], stored[i]
	}
	return b, n.tell(ctx, tx, created(outgoing, stored))
}

// conflicts reports whether a message to be sent stands for something else. An
// inbox that is in the audience under two names is recorded, and has its message.
func (b *chunkBatch) conflicts(c chunk) bool {
	for _, a := range c.people {
		if b.outcome(a.outgoing) == storage.Conflict {
			return true
		}
	}
	return false
}

// outcome of a message; none has none.
func (b *chunkBatch) outcome(m any) storage.Outcome { return b.answers[m].Outcome }

// advance counts the chunk, and makes its campaign due for the next one or ends it.
func (b *chunkBatch) advance(j *MessagingJob, c chunk, now time.Time) {
	generated, skipped, repeated, why := b.count(c)
	j.Generation.advance(now, c.next, generated, skipped, repeated)
	j.HashKey = c.hashes
	switch {
	case !c.last:
		j.goOn(now)
	case j.Generated == 0:
		j.skipped(now, cmp.Or(why, ReasonNoRecipients))
	default:
		j.generated(now)
	}
}

// count says how many recipients get a message by this chunk, how many nothing
// and why the first of them, and how many had theirs before.
func (b *chunkBatch) count(c chunk) (generated, skipped, repeated int, why string) {
	for _, a := range c.people {
		newUser := b.outcome(a.user) == storage.Created
		newOutgoing := b.outcome(a.outgoing) == storage.Created
		switch {
		case newUser, newOutgoing && a.outgoing.Status == StatusCreated:
			generated++
		case newOutgoing:
			skipped++
			why = cmp.Or(why, a.problem)
		case a.user == nil && a.outgoing == nil:
			skipped++
			why = cmp.Or(why, a.problem)
		default:
			repeated++
		}
	}
	return generated, skipped, repeated, why
}

// hold keeps from being sent what this transaction has just made for a campaign
// that has a conflict.
func (b *chunkBatch) hold(ctx context.Context, tx storage.Tx, c chunk) error {
	var messages []*OutgoingMessage
	for _, a := range c.people {
		if b.outcome(a.outgoing) == storage.Created && a.outgoing.Status == StatusCreated {
			m := b.stored[a.outgoing]
			m.conflicted()
			messages = append(messages, m)
		}
	}
	return outgoingMessages.Save(ctx, tx, messages...)
}
