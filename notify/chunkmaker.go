package notify

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// addressee is what one recipient gets: one of the two, both, or nothing.
type addressee struct {
	user     *userMessageRow
	outgoing *messageRow
	problem  string // reason code of what is not sent
}

// makeChunk renders the next recipients, size of them at most. One of them who
// cannot be rendered does not stop the others.
func (n generator) makeChunk(ctx context.Context, j *messagingJobRow, size int) (chunk, error) {
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
	if m.erased, err = n.erasedAhead(ctx, j, size); err != nil {
		return chunk{}, err
	}
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
	n.logPanic("a renderer panicked", m.first, slog.String("type", j.Kind))
	c.next, c.last = p.offset, p.done()
	return c, m.judge()
}

// erasedAhead tells who was erased among the next recipients.
func (n generator) erasedAhead(ctx context.Context, j *messagingJobRow, size int) (isErased, error) {
	if !n.erasure().mayBeErased() {
		return nobodyErased, nil
	}
	p, err := openPayload(ctx, n.store.Blobs(), j.Blob, j.Offset)
	if err != nil {
		return nil, err
	}
	defer p.close()
	var ahead []Recipient
	for len(ahead) < size {
		r, err := p.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		ahead = append(ahead, r)
	}
	return n.erasure().erasedAmong(ctx, map[Scope][]Recipient{j.Scope: ahead})
}

// chunkMaker makes the messages of recipients of one campaign.
type chunkMaker struct {
	erased   isErased
	n        *core
	job      jobRow
	view     Job // of the job, for the renderer
	renderer Renderer
	bytes    int // of content so far
	asked    int // renderings
	failed   int // of those
	first    error
}

func (n generator) newChunkMaker(j *messagingJobRow, h payloadHeader) *chunkMaker {
	job := j.asJob(h)
	return &chunkMaker{erased: nobodyErased, n: n.core, job: job, view: job.view(), renderer: n.registry.lookup(j.Kind).Renderer}
}

// asJob is the campaign as the job that its renderer sees.
func (j *messagingJobRow) asJob(h payloadHeader) jobRow {
	lane := j.Lane
	if lane == storage.LaneNormal {
		lane = storage.LaneBulk
	}
	return jobRow{
		tried:        tried[ofJobs]{Due: driver.Due{Record: storage.Record{Scope: j.Scope, Key: j.Key, Kind: j.Kind}, Lane: lane}},
		PartitionKey: j.Coordinates().PartitionKey, RowKey: j.GUID, BusinessUnit: j.BusinessUnit,
		EntityType: string(PathCampaign), Entity: j.GUID, EventData: h.EventData,
		InputHash: j.InputHash, SourceOn: j.CreatedOn, ValidUntil: j.ValidUntil, CreatedOn: j.CreatedOn,
	}
}

// addressee makes the messages of one recipient.
func (m *chunkMaker) addressee(ctx context.Context, r Recipient) (a addressee, err error) {
	if m.erased(m.job.Scope, r) {
		return addressee{problem: reasons.Erased}, nil
	}
	d := m.n.generator().destination(r)
	if d.Problem == "" || d.Recipient.Inbox != "" {
		m.asked++
		if d.Content, err = m.n.rendered(ctx, m.renderer, m.view, d.Recipient); err != nil {
			m.failed++
			if m.first == nil {
				m.first = err
			}
			d = d.unrendered(reasonOf(err, reasons.RenderFailed))
		}
		m.bytes += len(d.Content.Subject) + len(d.Content.Text) + len(d.Content.HTML)
	}
	rows := m.job
	rows.PartitionKey = "" // a messaging job has no partition of its own
	a.user, a.outgoing, err = m.n.generator().rowsOf(&rows, m.n.hashKey, d)
	a.problem = d.Problem
	return a, err
}

// judge fails a chunk as a whole if none of its recipients could be rendered.
func (m *chunkMaker) judge() error {
	if m.failed > 0 && m.failed == m.asked {
		return &unrenderedError{m.first}
	}
	return nil
}
