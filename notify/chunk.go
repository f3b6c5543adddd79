package notify

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// chunkSize is how many recipients the campaigns of one group move on together:
// it bounds what is in memory and in one transaction.
const chunkSize = 1000

// campaignSpec is the generator pass over campaigns: each claim renders one chunk
// of the audience, and the transaction that stores its messages moves the
// cursor. So a crash repeats nothing, and a person's word counts between two
// chunks.
func (n generator) campaignSpec() work.Spec[messagingJobRow, chunk] {
	return work.Spec[messagingJobRow, chunk]{
		Name: "notify.campaign", Table: messagingJobs,
		Claimable: []string{StatusReady}, Busy: StatusGenerating,
		Types:    n.registry.rendered,
		Limit:    renderTimeout,
		Handle:   n.generateChunks,
		Dispatch: n.dispatchChunks,
		Fail:     func(now time.Time, j *messagingJobRow, _ error) { j.failed(now, reasons.PassFailed) },
		Abandon:  func(now time.Time, j *messagingJobRow) { j.abandoned(now) },
		Release:  func(now time.Time, j *messagingJobRow) { j.released(now) },
	}
}

// generateChunks decides about a group. The rows stay as they are: only the
// transaction that stores a chunk says that it is done.
func (n generator) generateChunks(_ context.Context, items []work.Item[messagingJobRow]) ([]chunk, error) {
	out := make([]chunk, len(items))
	for i, it := range items {
		err := work.Guard(func() (err error) {
			out[i], err = n.makeChunk(it.Ctx, it.Row, it.Row.share(n.chunk/len(items)))
			return err
		})
		if err == nil {
			err = it.Ctx.Err()
		}
		if err != nil {
			out[i] = chunk{}
			n.chunkFailed(it, err)
		}
	}
	return out, nil
}

// share divides what is left into chunks of about one size, at most most, so
// that the last one is not judged by a single recipient.
func (j *messagingJobRow) share(most int) int {
	most = max(most, 1)
	left := j.AudienceSize - j.Done
	if left <= most {
		return most
	}
	chunks := (left + most - 1) / most
	return (left + chunks - 1) / chunks
}

// chunkFailed settles a campaign whose chunk could not be made.
func (n generator) chunkFailed(it work.Item[messagingJobRow], err error) {
	j, now := it.Row, driver.Now(n.store)
	var unrendered *unrenderedError
	switch {
	case work.Uncounted(it.Ctx, err):
		j.released(now)
		j.DueOn = later(j.DueOn, now.Add(work.AwayWait))
		return
	case errors.Is(err, errHashKey):
		j.stopped(now, reasons.HashKeyChanged)
	case errors.Is(err, ErrPayload):
		j.stopped(now, reasons.PayloadIncompatible)
	case errors.Is(err, storage.ErrNotFound):
		j.failed(now, reasons.PayloadMissing)
	case !errors.As(err, &unrendered):
		j.failed(now, reasons.PassFailed)
	case forGood(err):
		j.refused(now, reasonOf(err, reasons.RenderFailed))
	default:
		j.failed(now, reasonOf(err, reasons.RenderFailed))
	}
	n.options.Logger.WarnContext(context.Background(), "belfry: a chunk of a campaign failed", "type", j.Kind, "status", j.Status, "reason", j.ReasonCode)
}

// maxChunkContent ends a chunk early whose messages are long, in bytes.
const maxChunkContent = 8 << 20

// chunk is the decision about the next recipients of a campaign. The zero value
// is none.
type chunk struct {
	people []addressee
	hashes string // fingerprint of the key of the recipients' hashes
	next   int64  // the cursor behind it
	last   bool
}

// anyHashKey in the place of a fingerprint says that a person has released the
// campaign under another key.
const anyHashKey = "*"

var errHashKey = errors.New("notify: the campaign began under another key for the hashes of recipients")

// unrenderedError says that no recipient of a chunk could be rendered, which speaks
// against the renderer and not against the recipients.
type unrenderedError struct{ first error }

func (e *unrenderedError) Error() string {
	return "notify: no recipient in a chunk of a campaign could be rendered: " + e.first.Error()
}

func (e *unrenderedError) Unwrap() error { return e.first }

// chunkBatch collects the messages of chunks, so that ensuring them takes few
// statements.
type chunkBatch struct {
	users    []*userMessageRow
	outgoing []*messageRow
	answers  map[any]Ensured // by the message as it was wanted
	stored   map[*messageRow]*messageRow
}

// dispatchChunks stores the messages of chunks and moves the cursors behind them,
// in the transaction that has just settled the rows: their versions fence it.
func (n generator) dispatchChunks(ctx context.Context, tx storage.Tx, done []work.Done[messagingJobRow, chunk]) error {
	var rows []*messagingJobRow
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
	now := driver.Now(n.store)
	for i, j := range rows {
		if !b.conflicts(chunks[i]) {
			b.advance(j, chunks[i], now)
			continue
		}
		j.stopped(now, reasons.Conflict)
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

func (n generator) ensureChunks(ctx context.Context, tx storage.Tx, chunks []chunk) (*chunkBatch, error) {
	b := &chunkBatch{answers: map[any]Ensured{}, stored: map[*messageRow]*messageRow{}}
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

// created are the rows that are new.
func created(answers []Ensured, rows []*messageRow) (out []*messageRow) {
	for i, a := range answers {
		if a.Outcome == storage.Created {
			out = append(out, rows[i])
		}
	}
	return out
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
func (b *chunkBatch) advance(j *messagingJobRow, c chunk, now time.Time) {
	generated, skipped, repeated, why := b.count(c)
	j.generation.advance(now, c.next, generated, skipped, repeated)
	j.HashKey = c.hashes
	switch {
	case !c.last:
		j.goOn(now)
	case j.Generated == 0:
		j.skipped(now, cmp.Or(why, reasons.NoRecipients))
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
	var messages []*messageRow
	for _, a := range c.people {
		if b.outcome(a.outgoing) == storage.Created && a.outgoing.Status == StatusCreated {
			m := b.stored[a.outgoing]
			stopForConflict(m)
			messages = append(messages, m)
		}
	}
	return outgoingMessages.Save(ctx, tx, messages...)
}
