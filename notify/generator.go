package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/backoff"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// generated is the decision about one job: the messages to ensure.
type generated struct {
	users    []*userMessageRow
	outgoing []*messageRow
	entries  []*digestEntry
	before   storage.Ref // the blob that it named before
	cut      bool        // recipients were erased: the row has the others
}

// generatorSpec is the generator pass: it renders a job once for each
// recipient. It may be repeated at any point.
func (n generator) generatorSpec() work.Spec[jobRow, generated] {
	return work.Spec[jobRow, generated]{
		Name: "notify.generator", Table: jobs,
		Claimable: []string{StatusReady}, Busy: StatusGenerating,
		Types:    n.registry.rendered,
		Limit:    renderTimeout,
		Stream:   n.generateAll,
		Weight:   func(g generated) int { return len(g.users) + len(g.outgoing) + 2*len(g.entries) },
		Dispatch: n.dispatchMessages,
		Fail:     func(now time.Time, j *jobRow, _ error) { j.failed(now, reasons.PassFailed) },
		Abandon:  func(now time.Time, j *jobRow) { j.abandoned(now) },
		Release:  func(now time.Time, j *jobRow) { j.released(now) },
	}
}

// renderTimeout is how long renderers and recipient sources may be at a group of jobs.
func renderTimeout(string) time.Duration { return time.Hour }

// generateAll lands each job as soon as it is rendered: one may have thousands of
// recipients, whose messages go out while the next is rendered.
func (n generator) generateAll(ctx context.Context, items []work.Item[jobRow], land func(*jobRow, generated)) error {
	subscribed, err := n.subscribers(ctx, items)
	if err != nil {
		return err
	}
	gone, err := n.erasedOf(ctx, items, subscribed)
	if err != nil {
		return err
	}
	var out generated
	work.GuardEach(len(items), func(i int) error {
		it := items[i]
		out = generated{before: it.Row.Frozen.Blob}
		others, cut := it.Row.withoutErased(gone, subscribed[it.Row.question()].Subscribers)
		out.cut = cut
		made, err := n.generate(it.Ctx, it.Row, others)
		if err == nil {
			made.before, made.cut = out.before, cut
			out = made
		}
		return err
	}, func(i int, err error) {
		if err != nil {
			n.generateFailed(items[i], err)
		}
		land(items[i].Row, out)
	})
	return nil
}

// erasedOf tells who was erased of those whom jobs are for.
func (n generator) erasedOf(ctx context.Context, items []work.Item[jobRow], subscribed map[Question]NotificationOption) (isErased, error) {
	if !n.erasure().mayBeErased() {
		return nobodyErased, nil
	}
	all := map[Scope][]Recipient{}
	for _, it := range items {
		all[it.Row.Scope] = append(append(all[it.Row.Scope], it.Row.Recipients...), subscribed[it.Row.question()].Subscribers...)
	}
	return n.erasure().erasedAmong(ctx, all)
}

// withoutErased takes those who were erased out of the recipients of a job, and out of its
// subscribers.
func (j *jobRow) withoutErased(gone isErased, subscribers []Recipient) (others []Recipient, cut bool) {
	is := func(r Recipient) bool { return gone(j.Scope, r) }
	if cut = slices.ContainsFunc(j.Recipients, is); cut {
		j.Recipients = slices.DeleteFunc(slices.Clone(j.Recipients), is)
	}
	if slices.ContainsFunc(subscribers, is) {
		subscribers = slices.DeleteFunc(slices.Clone(subscribers), is)
	}
	return subscribers, cut
}

// generateFailed settles a job whose generation ended in an error. One that
// failed only since its context ended is given back uncounted.
func (n generator) generateFailed(it work.Item[jobRow], err error) {
	j, now := it.Row, driver.Now(n.store)
	j.Status = StatusGenerating
	switch {
	case work.Uncounted(it.Ctx, err):
		j.released(now.Add(work.AwayWait))
		return
	case forGood(err):
		j.refused(now, reasonOf(err, reasons.RenderFailed))
	default:
		j.failed(now, reasonOf(err, reasons.RenderFailed))
	}
	n.unrendered(j, err)
}

// unrendered tells of a try that could not render a job, the error itself in its row alone.
func (n generator) unrendered(j *jobRow, err error) {
	j.Diagnostics = storable.Detail(err.Error())
	n.logPanic("a renderer panicked", err, slog.String("type", j.Kind))
	// The error's text may hold personal data.
	n.options.Logger.WarnContext(context.Background(), "belfry: a job could not be rendered", slog.String("type", j.Kind), slog.Int64("id", j.ID),
		slog.String("reason", j.ReasonCode), slog.String("status", j.Status))
}

// generate freezes what the job means and says which messages that makes. Those of
// recipients who cannot be rendered yet are made by another try.
func (n generator) generate(ctx context.Context, j *jobRow, subscribers []Recipient) (generated, error) {
	if j.isDigest() {
		return n.close(ctx, j)
	}
	f, later, err := n.frozenOf(ctx, j, subscribers)
	if err != nil {
		return generated{}, err
	}
	out, err := n.messagesOf(j, f)
	if err != nil {
		return generated{}, err
	}
	now := driver.Now(n.store)
	j.TracedOn = f.tracedOn(now)
	switch {
	case later != nil:
		j.failed(now, reasonOf(later, reasons.RenderFailed))
		n.unrendered(j, later)
	case len(out.entries) > 0:
		j.digested(now)
		j.ReasonCode = f.problem()
	case len(out.users)+len(out.outgoing) == 0:
		reason := cmp.Or(f.problem(), reasons.NoRecipients)
		if len(f.Deliveries) > 0 && j.stale(now, n.registry.lookup(j.Kind)) {
			reason = reasons.TooLate
		}
		j.skipped(now, reason)
	default:
		j.generated(now)
		j.ReasonCode = f.problem()
	}
	return out, nil
}

// frozenOf is what earlier runs decided, with what is decided now. later is the error of
// a recipient who is left to another try.
func (n generator) frozenOf(ctx context.Context, j *jobRow, subscribers []Recipient) (f frozen, later, err error) {
	if j.Frozen.isZero() {
		f = n.addressed(slices.Concat(j.Recipients, subscribers))
	} else {
		if f, err = thaw(ctx, n.store.Blobs(), j.Frozen); err != nil {
			return f, nil, err
		}
		if f = n.joined(f, j); !f.open() {
			return f, nil, nil
		}
	}
	n.aside(j, &f)
	if later, err = n.render(ctx, j, &f); err != nil {
		return frozen{}, nil, err
	}
	j.Frozen, err = freeze(ctx, n.store.Blobs(), f)
	return f, later, err
}

// dispatchMessages ensures the messages of settled jobs, in bulk, and puts a
// job on hold whose messages stand for something else.
func (n generator) dispatchMessages(ctx context.Context, tx storage.Tx, done []work.Done[jobRow, generated]) error {
	var b batch
	var cut []*jobRow
	for _, d := range done {
		b.add(d)
		if d.Result.cut {
			cut = append(cut, d.Row)
		}
	}
	if err := jobRecipients.Save(ctx, tx, cut...); err != nil {
		return err
	}
	if err := n.store.Blobs().Keep(ctx, tx, b.keep...); err != nil {
		return err
	}
	if err := driver.Release(ctx, tx, b.drop...); err != nil {
		return err
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
	if err := b.stopConflicts(ctx, tx, append(users, outgoing...), stored); err != nil {
		return err
	}
	return n.enter(ctx, tx, b.entries)
}

// batch collects the messages of many jobs, so that ensuring them takes few
// statements. owners has the job of each user message, then of each outgoing one.
type batch struct {
	users      []*userMessageRow
	outgoing   []*messageRow
	usersOf    []*jobRow
	outgoingOf []*jobRow
	entries    []*digestEntry
	keep, drop []storage.Owned
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
	b.entries = append(b.entries, d.Result.entries...)
	if now, before := d.Row.Frozen.Blob, d.Result.before; now != before {
		if !now.IsZero() {
			b.keep = append(b.keep, ownedBy(jobs, d.Row, now))
		}
		if !before.IsZero() {
			b.drop = append(b.drop, ownedBy(jobs, d.Row, before))
		}
	}
}

// render makes what is open. One recipient who cannot be rendered costs no other
// anything: it is tried again like a job, and then, or at once where that is of no use,
// given up. Where none can be rendered the error speaks against the job. later is an
// error that is tried again.
func (n generator) render(ctx context.Context, j *jobRow, f *frozen) (later, err error) {
	renderer := n.registry.lookup(j.Kind).Renderer
	if renderer == nil {
		return nil, fmt.Errorf("notify: type %q has no renderer here", j.Kind)
	}
	_, again := backoff.After(j.Key, j.RetryCount+1)
	var first error
	for i := range f.Deliveries {
		d := &f.Deliveries[i]
		if !d.Open {
			continue
		}
		content, err := n.rendered(ctx, renderer, j.view(), d.Recipient)
		switch {
		case err == nil:
			d.Content, d.Open = content, false
			continue
		case ctx.Err() != nil:
			return nil, err
		case forGood(err) || !again:
			*d = d.unrendered(reasonOf(err, reasons.RenderFailed))
		default:
			later = cmp.Or(later, err)
		}
		first = cmp.Or(first, err)
	}
	j.Diagnostics = ""
	if first != nil {
		j.Diagnostics = storable.Detail(first.Error())
	}
	if first != nil && !slices.ContainsFunc(f.Deliveries, delivery.isRendered) {
		return nil, first
	}
	return later, nil
}

// messagesOf makes the rows of what was frozen.
func (n generator) messagesOf(j *jobRow, f frozen) (out generated, err error) {
	for _, d := range f.Deliveries {
		if d.Open {
			continue
		}
		if d.Digested {
			e, err := d.entry(j, driver.Now(n.store))
			if err != nil {
				return generated{}, err
			}
			out.entries = append(out.entries, e)
			continue
		}
		user, outgoing, err := n.rowsOf(j, f.HashKey, d)
		if err != nil {
			return generated{}, err
		}
		if user != nil {
			out.users = append(out.users, user)
		}
		if outgoing != nil {
			out.outgoing = append(out.outgoing, outgoing)
		}
	}
	return out, nil
}

// rowsOf are the rows of one recipient, each of them only where there is one.
func (n generator) rowsOf(j *jobRow, hashKey string, d delivery) (user *userMessageRow, outgoing *messageRow, err error) {
	if d.Recipient.Inbox != "" && !j.stale(driver.Now(n.store), n.registry.lookup(j.Kind)) {
		user = d.userMessage(j)
		if err := fillUserMessage(n.core, driver.Now(n.store), user); err != nil {
			return nil, nil, err
		}
	}
	if d.Recipient.Channel != "" {
		if outgoing, err = n.outgoing(j, hashKey, d); err == nil {
			n.registry.lookup(j.Kind).escalates(j, user, outgoing)
		}
	}
	return user, outgoing, err
}

func (d delivery) userMessage(j *jobRow) *userMessageRow {
	d.Content.Mail = channel.Mail{} // an inbox does not show who else gets the mail
	d.Content.Text, d.Content.HTML = linked(d.Content.Text, d.Content.HTML, "")
	return &userMessageRow{
		Record: storage.Record{Scope: j.Scope, Kind: j.Kind}, Lane: j.Lane,
		PartitionKey: d.Recipient.Inbox, JobPartitionKey: j.PartitionKey, JobRowKey: j.RowKey,
		BusinessUnit: j.BusinessUnit, RecipientRef: d.Recipient.Ref,
		Content: d.Content, InputHash: j.InputHash, ByJob: true, SourceOn: j.SourceOn,
	}
}

// outgoing is the message of d; one that has a problem is kept as skipped, so
// that support sees who was not reached.
func (n generator) outgoing(j *jobRow, hashKey string, d delivery) (*messageRow, error) {
	t := n.registry.lookup(j.Kind)
	m := &messageRow{
		Due:          driver.Due{Record: storage.Record{Scope: j.Scope, Kind: d.Recipient.Channel}, Lane: j.Lane},
		PartitionKey: j.RowKey, JobPartitionKey: j.PartitionKey,
		NotificationType: j.Kind, BusinessUnit: j.BusinessUnit, Method: channel.Method(d.Recipient.Channel),
		RecipientRef: d.Recipient.Ref, RecipientHash: d.Hash, HashKey: hashKey,
		RecipientName: d.Recipient.Name, Address: d.Recipient.Address, Zone: d.Recipient.Zone,
		Content: d.Content, InputHash: j.InputHash, ByJob: true,
		InDoubt: t.InDoubt, ConsentGroup: t.Group, OptIn: n.optIn(t.Group), Mandatory: t.Mandatory, Requested: t.Requested, CreatedOn: driver.Now(n.store),
	}
	m.ValidUntil = t.validUntil(j.until(t), m.CreatedOn, m.Lane)
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
