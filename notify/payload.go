package notify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/belfry-go/belfry/storage"
)

// Limits in bytes of what a campaign's payload holds.
const (
	MaxSharedData    = 32 << 10 // EventData of a campaign
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
