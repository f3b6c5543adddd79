package notify

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

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

// addressee is what one recipient gets: one of the two, both, or nothing.
type addressee struct {
	user     *UserMessage
	outgoing *OutgoingMessage
	problem  string // reason code of what is not sent
}

// anyHashKey in the place of a fingerprint says that a person has released the
// campaign under another key.
const anyHashKey = "*"

var errHashKey = errors.New("notify: the campaign began under another key for the hashes of recipients")

// unrenderedError says that nobody in a chunk could be rendered, which speaks
// against the renderer and not against the recipients.
type unrenderedError struct{ first error }

func (e *unrenderedError) Error() string {
	return "notify: nobody in a chunk of a campaign could be rendered: " + e.first.Error()
}

func (e *unrenderedError) Unwrap() error { return e.first }

// makeChunk renders the next recipients, size of them at most. One of them who
// cannot be rendered does not stop the others.
func (n *Notifier) makeChunk(ctx context.Context, j *MessagingJob, size int) (chunk, error) {
	if j.Offset > 0 && j.HashKey != n.hashKey && j.HashKey != anyHashKey {
		return chunk{}, errHashKey
	}
	p, err := openPayload(ctx, n.store.Blobs(), j.Blob, j.Offset)
	if err != nil {
		return chunk{}, err
	}
	defer p.close()
	c := chunk{hashes: n.hashKey}
	m := n.newChunkMaker(j, p.header)
	for len(c.people) < size && m.bytes < maxChunkContent && ctx.Err() == nil {
		r, err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return chunk{}, err
		}
		a, err := m.addressee(ctx, r)
		if err != nil {
			return chunk{}, err
		}
		c.people = append(c.people, a)
	}
	n.logPanic("a renderer panicked", m.first, slog.String("type", j.Type))
	c.next, c.last = p.offset, p.done()
	return c, m.judge()
}

// chunkMaker makes the messages of recipients of one campaign.
type chunkMaker struct {
	n        *Notifier
	view     Job // what the renderer sees
	renderer Renderer
	bytes    int // of content so far
	asked    int // renderings
	failed   int // of those
	first    error
}

func (n *Notifier) newChunkMaker(j *MessagingJob, h payloadHeader) *chunkMaker {
	return &chunkMaker{n: n, view: j.view(h), renderer: n.registry.lookup(j.Type).Renderer}
}

// view is the campaign as a renderer sees it.
func (j *MessagingJob) view(h payloadHeader) Job {
	partition, err := keys.CampaignPartition(j.BusinessUnit)
	if err != nil {
		partition = j.GUID // without a business unit that can be part of a key
	}
	lane := j.Lane
	if lane == storage.LaneNormal {
		lane = storage.LaneBulk
	}
	return Job{
		Record:       storage.Record{Scope: j.Scope, Key: j.Key, Type: j.Type, Lane: lane},
		PartitionKey: partition, RowKey: j.GUID, BusinessUnit: j.BusinessUnit,
		EntityType: string(PathCampaign), Entity: j.GUID, EventData: h.EventData,
		InputHash: j.InputHash, SourceOn: j.CreatedOn, CreatedOn: j.CreatedOn,
	}
}

// addressee makes the messages of one recipient.
func (m *chunkMaker) addressee(ctx context.Context, r Recipient) (a addressee, err error) {
	d := m.n.destination(r)
	if d.Problem == "" || d.Recipient.Inbox != "" {
		if d.Content, err = m.render(ctx, d.Recipient); err != nil {
			m.failed++
			if m.first == nil {
				m.first = err
			}
			d.Content, d.Problem, d.Recipient.Inbox = Content{}, reasonOf(err, ReasonRenderFailed), ""
		}
		m.bytes += len(d.Content.Subject) + len(d.Content.Text) + len(d.Content.HTML)
	}
	a.problem = d.Problem
	rows := m.view
	rows.PartitionKey = "" // a messaging job has no partition of its own
	if d.Recipient.Inbox != "" {
		a.user = d.userMessage(&rows)
		if err := fillUserMessage(m.n, storage.Now(m.n.store), a.user); err != nil {
			return a, err
		}
	}
	if d.Recipient.Channel != "" {
		a.outgoing, err = m.n.outgoing(&rows, frozen{HashKey: m.n.hashKey}, d)
		return a, err
	}
	return a, nil
}

func (m *chunkMaker) render(ctx context.Context, r Recipient) (c Content, err error) {
	m.asked++
	err = work.Guard(func() (err error) {
		c, err = m.renderer.Render(ctx, m.view, r)
		return err
	})
	if err != nil {
		return c, err
	}
	return c, c.check()
}

// judge fails a chunk as a whole if nobody in it could be rendered.
func (m *chunkMaker) judge() error {
	if m.failed > 0 && m.failed == m.asked {
		return &unrenderedError{m.first}
	}
	return nil
}
