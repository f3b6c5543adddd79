package notify

import (
	"context"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// batch collects the messages of many jobs, so that ensuring them takes few
// statements. owners has the job of each user message, then of each outgoing one.
type batch struct {
	users      []*UserMessage
	outgoing   []*OutgoingMessage
	usersOf    []*Job
	outgoingOf []*Job
	keep       []storage.Ref
}

func (b *batch) add(d work.Done[Job, generated]) {
	for _, m := range d.Result.users {
		m := *m // the transaction may run again
		b.users, b.usersOf = append(b.users, &m), append(b.usersOf, d.Row)
	}
	for _, m := range d.Result.outgoing {
		m := *m
		b.outgoing, b.outgoingOf = append(b.outgoing, &m), append(b.outgoingOf, d.Row)
	}
	if !d.Result.keep.IsZero() {
		b.keep = append(b.keep, d.Result.keep)
	}
}

// stopConflicts puts jobs with a conflict on hold, and with them the messages
// that this transaction has just created for them: nothing of such a job goes
// out until a person has looked.
func (b *batch) stopConflicts(ctx context.Context, tx storage.Tx, all []Ensured, stored []*OutgoingMessage) error {
	stopped := map[*Job]bool{}
	var held []*Job
	for i, j := range append(b.usersOf, b.outgoingOf...) {
		if all[i].Conflict != nil && !stopped[j] {
			stopped[j], held = true, append(held, j)
			j.conflicted()
		}
	}
	if len(held) == 0 {
		return nil
	}
	if err := jobs.Save(ctx, tx, held...); err != nil {
		return err
	}
	var messages []*OutgoingMessage
	for i, j := range b.outgoingOf {
		if stopped[j] && all[len(b.users)+i].Outcome == storage.Created {
			stored[i].conflicted()
			messages = append(messages, stored[i])
		}
	}
	return outgoingMessages.Save(ctx, tx, messages...)
}
