package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// generated is the decision about one job: the messages to ensure, and the
// blob that its row names from now on.
type generated struct {
	users    []*userMessageRow
	outgoing []*messageRow
	keep     storage.Ref
}

// generatorSpec is the generator pass: it renders a job once for each
// recipient. It may be repeated at any point.
//
//spec:f-005 n-004
func (n generator) generatorSpec() work.Spec[jobRow, generated] {
	return work.Spec[jobRow, generated]{
		Name: "notify.generator", Table: jobs,
		Claimable: []string{StatusReady}, Busy: StatusGenerating,
		Types:    n.registry.rendered,
		Stream:   n.generateAll,
		Weight:   func(g generated) int { return len(g.users) + len(g.outgoing) },
		Dispatch: n.dispatchMessages,
		Fail:     func(now time.Time, j *jobRow, _ error) { j.failed(now, ReasonPassFailed) },
		Abandon:  func(now time.Time, j *jobRow) { j.abandoned(now) },
		Release:  func(now time.Time, j *jobRow) { j.released(now) },
	}
}

// generateAll lands each job as soon as it is rendered: one may have thousands of
// recipients, whose messages go out while the next is rendered.
func (n generator) generateAll(ctx context.Context, items []work.Item[jobRow], land func(*jobRow, generated)) error {
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
func (n generator) generateFailed(it work.Item[jobRow], err error) {
	j, now := it.Row, driver.Now(n.store)
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
	n.logPanic("a renderer panicked", err, slog.String("type", j.Kind))
	// The error's text may hold personal data.
	n.options.Logger.Warn("belfry: a job could not be rendered", slog.String("type", j.Kind), slog.Int64("id", j.ID),
		slog.String("reason", j.ReasonCode), slog.String("status", j.Status))
}

// generate freezes what the job means and says which messages that makes.
func (n generator) generate(ctx context.Context, j *jobRow, subscribers []Recipient) (generated, error) {
	f, err := n.frozenOf(ctx, j, subscribers)
	if err != nil {
		return generated{}, err
	}
	out, err := n.messagesOf(j, f)
	if err != nil {
		return generated{}, err
	}
	out.keep = j.Frozen.Blob
	now := driver.Now(n.store)
	if len(out.users)+len(out.outgoing) == 0 {
		j.skipped(now, cmp.Or(f.problem(), ReasonNoRecipients))
		return out, nil
	}
	j.generated(now)
	j.ReasonCode = f.problem()
	return out, nil
}

// frozenOf is what the first run decided, or decides it now.
func (n generator) frozenOf(ctx context.Context, j *jobRow, subscribers []Recipient) (frozen, error) {
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
//
//spec:n-059
func (n generator) dispatchMessages(ctx context.Context, tx storage.Tx, done []work.Done[jobRow, generated]) error {
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
func created(answers []Ensured, rows []*messageRow) (out []*messageRow) {
	for i, a := range answers {
		if a.Outcome == storage.Created {
			out = append(out, rows[i])
		}
	}
	return out
}

// logPanic logs err if it is a panic.
func (n *core) logPanic(text string, err error, where slog.Attr) {
	calls.LogPanic(n.options.Logger, text, err, where)
}

// batch collects the messages of many jobs, so that ensuring them takes few
// statements. owners has the job of each user message, then of each outgoing one.
type batch struct {
	users      []*userMessageRow
	outgoing   []*messageRow
	usersOf    []*jobRow
	outgoingOf []*jobRow
	keep       []storage.Ref
}

func (b *batch) add(d work.Done[jobRow, generated]) {
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
func (b *batch) stopConflicts(ctx context.Context, tx storage.Tx, all []Ensured, stored []*messageRow) error {
	stopped := map[*jobRow]bool{}
	var held []*jobRow
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
	var messages []*messageRow
	for i, j := range b.outgoingOf {
		if stopped[j] && all[len(b.users)+i].Outcome == storage.Created {
			stored[i].conflicted()
			messages = append(messages, stored[i])
		}
	}
	return outgoingMessages.Save(ctx, tx, messages...)
}

// maxInline is how many bytes of frozen inputs a job's row holds itself.
const maxInline = 2 << 10

// frozen is what the first run of the generator made of a job: whom it is for,
// under which hashes, and what it says. Later runs use it, so that an address
// or a template that changes in between makes neither a conflict nor a second
// message.
type frozen struct {
	HashKey    string     `json:"hashKey,omitempty"` // fingerprint of the host's key
	Deliveries []delivery `json:"deliveries"`
}

// delivery is one recipient with a normalised address and a rendered message.
type delivery struct {
	Recipient Recipient `json:"recipient"`
	Hash      string    `json:"hash,omitempty"` // RecipientKeyHash, of those with a channel
	Content   Content   `json:"content"`
	Problem   string    `json:"problem,omitempty"` // reason code: nothing is sent
}

// frozenRef is where the frozen inputs of a job are: in the row while they are
// small, else in a blob of their own. The zero value is none.
type frozenRef struct {
	Inline json.RawMessage `json:"inline,omitempty"`
	Blob   storage.Ref     `json:"blob,omitzero"`
}

func (r frozenRef) isZero() bool { return len(r.Inline) == 0 && r.Blob.IsZero() }

// freeze puts f where it belongs.
//
//spec:n-046
func freeze(ctx context.Context, blobs storage.Blobs, f frozen) (frozenRef, error) {
	text := mustJSON(f)
	if len(text) <= maxInline {
		return frozenRef{Inline: text}, nil
	}
	ref, err := blobs.Put(ctx, bytes.NewReader(text))
	return frozenRef{Blob: ref}, err
}

// thaw reads what an earlier run froze.
func thaw(ctx context.Context, blobs storage.Blobs, r frozenRef) (f frozen, err error) {
	text := []byte(r.Inline)
	if !r.Blob.IsZero() {
		if text, err = readBlob(ctx, blobs, r.Blob); err != nil {
			return f, fmt.Errorf("notify: frozen inputs: %w", err)
		}
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("notify: frozen inputs: %w", err)
	}
	return f, nil
}

func readBlob(ctx context.Context, blobs storage.Blobs, ref storage.Ref) ([]byte, error) {
	r, err := blobs.Open(ctx, ref, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, ref.Size+1))
}

// render decides for each recipient where its message goes and what it says. One
// who is named twice with the same destination gets one message.
func (n generator) render(ctx context.Context, j *jobRow, to []Recipient) (frozen, error) {
	renderer := n.registry.lookup(j.Kind).Renderer
	if renderer == nil {
		return frozen{}, fmt.Errorf("notify: type %q has no renderer here", j.Kind)
	}
	f := frozen{HashKey: n.hashKey, Deliveries: make([]delivery, 0, len(to))}
	for _, r := range to {
		d := n.destination(r)
		if d.Problem == "" || d.Recipient.Inbox != "" {
			content, err := renderer.Render(ctx, j.view(), d.Recipient)
			if err == nil {
				err = content.check()
			}
			if err != nil {
				return frozen{}, err
			}
			d.Content = content
		}
		f.Deliveries = append(f.Deliveries, d)
	}
	return f, nil
}

// destination normalises where a recipient is reached. A destination that is
// missing or malformed is a problem of this recipient, not a failure of the job.
func (n generator) destination(r Recipient) delivery {
	d := delivery{Recipient: r}
	if r.Channel == "" {
		if r.Inbox == "" {
			d.Problem = ReasonNoDestination
		}
		return d
	}
	method := Method(r.Channel)
	address, err := normalise(method, r.Address)
	if err != nil {
		d.Problem, address = ReasonBadAddress, r.Address
	}
	d.Recipient.Address = address
	d.Hash = n.recipientHash(r.Ref, method, address)
	return d
}

// messagesOf makes the rows of what was frozen.
func (n generator) messagesOf(j *jobRow, f frozen) (generated, error) {
	var out generated
	for _, d := range f.Deliveries {
		if d.Recipient.Inbox != "" {
			m := d.userMessage(j)
			if err := fillUserMessage(n.core, driver.Now(n.store), m); err != nil {
				return generated{}, err
			}
			out.users = append(out.users, m)
		}
		if d.Recipient.Channel == "" {
			continue
		}
		m, err := n.outgoing(j, f, d)
		if err != nil {
			return generated{}, err
		}
		out.outgoing = append(out.outgoing, m)
	}
	return out, nil
}

//spec:f-051
func (d delivery) userMessage(j *jobRow) *userMessageRow {
	return &userMessageRow{
		Record:       storage.Record{Scope: j.Scope, Kind: j.Kind, Lane: j.Lane},
		PartitionKey: d.Recipient.Inbox, JobPartitionKey: j.PartitionKey, JobRowKey: j.RowKey,
		BusinessUnit: j.BusinessUnit, RecipientRef: d.Recipient.Ref,
		Content: d.Content, InputHash: j.InputHash, SourceOn: j.SourceOn,
	}
}

// outgoing is the message of d; one that has a problem is kept as skipped, so
// that support sees who was not reached.
//
//spec:f-049
func (n generator) outgoing(j *jobRow, f frozen, d delivery) (*messageRow, error) {
	t := n.registry.lookup(j.Kind)
	m := &messageRow{
		Record:       storage.Record{Scope: j.Scope, Kind: d.Recipient.Channel, Lane: j.Lane},
		PartitionKey: j.RowKey, JobPartitionKey: j.PartitionKey,
		NotificationType: j.Kind, BusinessUnit: j.BusinessUnit, Method: Method(d.Recipient.Channel),
		RecipientRef: d.Recipient.Ref, RecipientHash: d.Hash, HashKey: f.HashKey,
		RecipientName: d.Recipient.Name, Address: d.Recipient.Address, Zone: d.Recipient.Zone,
		Content: d.Content, InputHash: j.InputHash,
		InDoubt: t.InDoubt, Mandatory: t.Mandatory, CreatedOn: driver.Now(n.store),
	}
	m.ValidUntil = t.validUntil(j.ValidUntil, m.CreatedOn, m.Lane)
	status := StatusCreated
	if d.Problem != "" {
		status = StatusSkipped
	}
	if err := n.begin(m, status); err != nil {
		return nil, err
	}
	if d.Problem != "" {
		m.ReasonCode, m.EndedOn = d.Problem, m.CreatedOn
	}
	return m, nil
}
