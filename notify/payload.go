package notify

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/canonical"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage"
)

// PayloadOptions are what the recipients of a campaign have in common. Nil and
// every zero value are useful.
type PayloadOptions struct {
	// EventData is what the renderer works on, as that of a [Job]: JSON of at most
	// 32 KiB.
	EventData json.RawMessage
	// Channel, Locale and Zone are those of recipients who have none of their own;
	// Channel only of those who have an address.
	Channel, Locale, Zone string
}

// Payload is a stored audience.
type Payload struct {
	// Blob goes into the messaging job that is ensured next. A blob that no job has after
	// a day may be removed.
	Blob storage.Ref
	// Recipients goes into its AudienceSize.
	Recipients int
	// Skipped lists recipients who will get nothing, the first 100 with their line
	// and the reason code; SkippedCount counts all. They are kept in the payload,
	// so that support sees who was not reached.
	Skipped      []AudienceFault
	SkippedCount int
}

// PutAudience stores the payload of a campaign: it reads the audience once, in
// constant memory, brings every address into its one spelling, and writes a blob.
// The same recipients in the same order with the same options make the same
// content, so that a retry is compatible; in which order EventData has its members is
// all the same.
//
// What no message could be made of is an *[AudienceError] that lists every fault
// with its line, and nothing is stored. An address that its channel cannot
// deliver to is none: it is listed in the answer.
func (n Campaigns) PutAudience(ctx context.Context, a Audience, opts *PayloadOptions) (Payload, error) {
	var o PayloadOptions
	if opts != nil {
		o = *opts
	}
	header, err := payloadStart(o)
	if err != nil {
		return Payload{}, fmt.Errorf("notify: PutAudience: %w", err)
	}
	w := &audienceWriter{n: n.core, o: o}
	w.buffer.Write(header)
	next, stop := iter.Pull(a.entries)
	defer stop()
	w.pull = next
	ref, err := n.store.Blobs().Put(ctx, w)
	if w.faults.count > 0 {
		w.listRest(ctx)
		return Payload{}, &AudienceError{Faults: w.faults.first, Count: w.faults.count}
	}
	if err != nil {
		return Payload{}, fmt.Errorf("notify: PutAudience: %w", err)
	}
	return Payload{Blob: ref, Recipients: w.count, Skipped: w.skipped.first, SkippedCount: w.skipped.count}, nil
}

func payloadStart(o PayloadOptions) ([]byte, error) {
	if len(o.EventData) == 0 {
		o.EventData = json.RawMessage("null")
	}
	data, err := canonical.JSON(o.EventData)
	if err != nil {
		return nil, fmt.Errorf("EventData: %w", err)
	}
	if o.Channel != "" {
		if err := checkMethod(channel.Method(o.Channel)); err != nil {
			return nil, fmt.Errorf("its Channel: %w", err)
		}
	}
	start := append(mustJSON(payloadHeader{payloadFormat, data}), '\n')
	if len(start) > maxSharedData {
		return nil, fmt.Errorf("EventData makes a header of %d bytes, more than %d", len(start), maxSharedData)
	}
	return start, nil
}

// audienceWriter is the reader that a blob is put from: lines are made as they
// are asked for. The first fault ends it, since nothing will be stored.
type audienceWriter struct {
	n       *core
	o       PayloadOptions
	pull    func() (entry, bool)
	buffer  bytes.Buffer
	count   int
	skipped faultList
	faults  faultList
}

var errFaulty = errors.New("notify: the audience has faults")

func (w *audienceWriter) Read(p []byte) (int, error) {
	for w.buffer.Len() < len(p) {
		e, ok := w.pull()
		if !ok {
			break
		}
		if e.err != nil {
			return 0, e.err
		}
		line, err := w.line(e)
		if err != nil {
			w.faults.add(e.line, err.Error())
			return 0, errFaulty
		}
		w.count++
		w.buffer.Write(line)
	}
	return w.buffer.Read(p)
}

// line is the recipient as it is stored, or why it cannot be.
func (w *audienceWriter) line(e entry) ([]byte, error) {
	if e.fault != nil {
		return nil, e.fault
	}
	r := e.to
	if r.Address != "" {
		r.Channel = cmp.Or(r.Channel, w.o.Channel)
	}
	r.Locale, r.Zone = cmp.Or(r.Locale, w.o.Locale), cmp.Or(r.Zone, w.o.Zone)
	if err := r.check(); err != nil {
		return nil, err
	}
	d := w.n.generator().destination(r)
	line := append(mustJSON(d.Recipient), '\n')
	switch {
	case len(line) > maxRecipientLine:
		return nil, fmt.Errorf("the recipient has %d bytes, more than %d", len(line), maxRecipientLine)
	case !r.valid():
		return nil, errors.New("a field is not valid UTF-8")
	case d.Problem != "":
		w.skipped.add(e.line, d.Problem)
	}
	return line, nil
}

// listRest reads on only to say what else is wrong.
func (w *audienceWriter) listRest(ctx context.Context) {
	for ctx.Err() == nil {
		e, ok := w.pull()
		if !ok || e.err != nil {
			return
		}
		if _, err := w.line(e); err != nil {
			w.faults.add(e.line, err.Error())
		}
	}
}

// valid reports whether every text of r is UTF-8, which JSON would mend silently.
func (r Recipient) valid() bool {
	for name, value := range r.Data {
		if !utf8.ValidString(name + value) {
			return false
		}
	}
	return utf8.ValidString(r.Ref + r.Channel + r.Address + r.Name + r.Locale + r.Zone + r.Inbox)
}

var _ io.Reader = (*audienceWriter)(nil)

// Limits in bytes of what a campaign's payload holds.
const (
	maxSharedData    = 32 << 10 // EventData of a campaign
	maxRecipientLine = 16 << 10 // one recipient with its data, as JSON
	maxPayloadLine   = 64 << 10
)

// ErrPayload says that a blob is not an audience that this version can read.
var ErrPayload = errors.New("notify: the payload is not an audience of this version")

// payloadFormat is what the first line of a payload begins with.
const payloadFormat = "belfry-audience-1"

// payloadHeader is the first line of a payload; a recipient is in each further
// one. All of it is JSON.
type payloadHeader struct {
	Format    string          `json:"format"`
	EventData json.RawMessage `json:"eventData"`
}

// payloadReader reads recipients one after another, and holds none of them.
type payloadReader struct {
	header payloadHeader
	offset int64 // behind the last recipient
	size   int64
	body   io.ReadCloser
	lines  *bufio.Reader
}

// openPayload reads the header, and goes to an offset that an earlier reader had;
// zero is the first recipient.
func openPayload(ctx context.Context, blobs storage.Blobs, ref storage.Ref, offset int64) (*payloadReader, error) {
	if ref.IsZero() {
		return nil, fmt.Errorf("%w: there is no blob", ErrPayload)
	}
	p := &payloadReader{size: ref.Size}
	if err := p.open(ctx, blobs, ref, 0); err != nil {
		return nil, err
	}
	if err := p.readHeader(); err != nil {
		p.close()
		return nil, err
	}
	if offset <= p.offset {
		return p, nil
	}
	p.close()
	return p, p.open(ctx, blobs, ref, offset)
}

func (p *payloadReader) open(ctx context.Context, blobs storage.Blobs, ref storage.Ref, offset int64) (err error) {
	if p.body, err = blobs.Open(ctx, ref, offset); err != nil {
		return fmt.Errorf("notify: payload: %w", err)
	}
	p.offset, p.lines = offset, bufio.NewReaderSize(p.body, maxPayloadLine)
	return nil
}

func (p *payloadReader) readHeader() error {
	line, err := p.line()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if json.Unmarshal(line, &p.header) != nil || p.header.Format != payloadFormat {
		return fmt.Errorf("%w: its first line does not say %s", ErrPayload, payloadFormat)
	}
	return nil
}

// next is the next recipient, and io.EOF behind the last.
func (p *payloadReader) next() (r Recipient, err error) {
	at := p.offset
	line, err := p.line()
	if err != nil {
		return r, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err = d.Decode(&r)
	if _, more := d.Token(); err != nil || !errors.Is(more, io.EOF) {
		return r, fmt.Errorf("%w: there is no recipient at byte %d", ErrPayload, at)
	}
	if err := r.check(); err != nil {
		return r, fmt.Errorf("%w: the recipient at byte %d: %w", ErrPayload, at, err)
	}
	return r, nil
}

func (p *payloadReader) line() ([]byte, error) {
	line, err := p.lines.ReadSlice('\n')
	p.offset += int64(len(line))
	switch {
	case err == nil:
		return line, nil
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: the line that ends at byte %d is cut off or too long", ErrPayload, p.offset)
	}
	return nil, fmt.Errorf("notify: payload: %w", err)
}

// done reports whether nothing follows.
func (p *payloadReader) done() bool { return p.offset >= p.size }

// close ends the reading. Nothing was written that could be lost by an error.
func (p *payloadReader) close() { _ = p.body.Close() }
