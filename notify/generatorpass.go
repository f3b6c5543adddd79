package notify

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// generated is the decision about one job: the messages to ensure, and the
// blob that its row names from now on.
type generated struct {
	users    []*UserMessage
	outgoing []*OutgoingMessage
	keep     storage.Ref
}

// generatorSpec is the generator pass: it renders a job once for each
// recipient. It may be repeated at any point.
func (n *Notifier) generatorSpec() work.Spec[Job, generated] {
	return work.Spec[Job, generated]{
		Name: "notify.generator", Table: jobs,
		Claimable: []string{StatusReady}, Busy: StatusGenerating,
		Types:    n.registry.rendered,
		Stream:   n.generateAll,
		Weight:   func(g generated) int { return len(g.users) + len(g.outgoing) },
		Dispatch: n.dispatchMessages,
		Fail:     func(now time.Time, j *Job, _ error) { j.failed(now, ReasonPassFailed) },
		Abandon:  func(now time.Time, j *Job) { j.abandoned(now) },
		Release:  func(now time.Time, j *Job) { j.released(now) },
	}
}

// generateAll lands each job as soon as it is rendered: one may have thousands of
// recipients, whose messages go out while the next is rendered.
func (n *Notifier) generateAll(ctx context.Context, items []work.Item[Job], land func(*Job, generated)) error {
	subscribed, err := n.subscribers(ctx, items)
	if err != nil {
		return err
	}
	for _, it := range items {
		var out generated
		err := work.Guard(func() (err error) {
			out, err = n.generate(it.Ctx, it.Row, subscribed[it.Row.question()].Subscribers)
			return err
		})
		if err != nil {
			out = generated{}
			n.generateFailed(it, err)
		}
		land(it.Row, out)
	}
	return nil
}

// generateFailed settles a job whose generation ended in an error. One that
// failed only since its context ended is given back uncounted.
func (n *Notifier) generateFailed(it work.Item[Job], err error) {
	j, now := it.Row, storage.Now(n.store)
	j.Status = StatusGenerating
	switch {
	case it.Ctx.Err() != nil:
		j.released(now)
		return
	case forGood(err):
		j.refused(now, reasonOf(err, ReasonRenderFailed))
	default:
		j.failed(now, reasonOf(err, ReasonRenderFailed))
	}
	n.logPanic("a renderer panicked", err, slog.String("type", j.Type))
	// The error's text may hold personal data.
	n.options.Logger.Warn("belfry: a job could not be rendered", slog.String("type", j.Type), slog.Int64("id", j.ID),
		slog.String("reason", j.ReasonCode), slog.String("status", j.Status))
}

// generate freezes what the job means and says which messages that makes.
func (n *Notifier) generate(ctx context.Context, j *Job, subscribers []Recipient) (generated, error) {
	f, err := n.frozenOf(ctx, j, subscribers)
	if err != nil {
		return generated{}, err
	}
	out, err := n.messagesOf(j, f)
	if err != nil {
		return generated{}, err
	}
	out.keep = j.Frozen.Blob
	now := storage.Now(n.store)
	if len(out.users)+len(out.outgoing) == 0 {
		j.skipped(now, cmp.Or(f.problem(), ReasonNoRecipients))
		return out, nil
	}
	j.generated(now)
	j.ReasonCode = f.problem()
	return out, nil
}

// frozenOf is what the first run decided, or decides it now.
func (n *Notifier) frozenOf(ctx context.Context, j *Job, subscribers []Recipient) (frozen, error) {
	if !j.Frozen.isZero() {
		return thaw(ctx, n.store.Blobs(), j.Frozen)
	}
	f, err := n.render(ctx, j, slices.Concat(j.Recipients, subscribers))
	if err != nil {
		return frozen{}, err
	}
	j.Frozen, err = freeze(ctx, n.store.Blobs(), f)
	return f, err
}

// problem says why one of the recipients is not reached; empty if all are.
func (f frozen) problem() string {
	for _, d := range f.Deliveries {
		if d.Problem != "" {
			return d.Problem
		}
	}
	return ""
}

// dispatchMessages ensures the messages of settled jobs, in bulk, and puts a
// job on hold whose messages stand for something else.
func (n *Notifier) dispatchMessages(ctx context.Context, tx storage.Tx, done []work.Done[Job, generated]) error {
	var b batch
	for _, d := range done {
		b.add(d)
	}
	if len(b.keep) > 0 {
		if err := n.store.Blobs().Keep(ctx, tx, b.keep...); err != nil {
			return err
		}
	}
	users, _, err := userKind.ensureIn(ctx, tx, b.users)
	if err != nil {
		return err
	}
	outgoing, stored, err := outgoingKind.ensureIn(ctx, tx, b.outgoing)
	if err != nil {
		return err
	}
	if err := n.tell(ctx, tx, created(outgoing, stored)); err != nil {
		return err
	}
	return b.stopConflicts(ctx, tx, append(users, outgoing...), stored)
}

// created are the rows that are new.
func created(answers []Ensured, rows []*OutgoingMessage) (out []*OutgoingMessage) {
	for i, a := range answers {
		if a.Outcome == storage.Created {
			out = append(out, rows[i])
		}
	}
	return out
}

// logPanic logs err if it is a panic: where it happened, never its value.
func (n *Notifier) logPanic(text string, err error, where slog.Attr) {
	var p *work.PanicError
	if errors.As(err, &p) {
		n.options.Logger.Error("belfry: "+text, where, slog.String("stack", string(p.Stack)))
	}
}
