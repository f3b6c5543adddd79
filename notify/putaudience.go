package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage"
)

// PayloadOptions are what the recipients of a campaign have in common. Nil and
// every zero value are useful.
type PayloadOptions struct {
	// EventData is what the renderer works on, as that of a [Job]: JSON of at most
	// MaxSharedData bytes.
	EventData json.RawMessage
	// Channel, Locale and Zone are those of recipients who have none of their own;
	// Channel only of those who have an address.
	Channel, Locale, Zone string
}

// Payload is a stored audience.
type Payload struct {
	// Blob goes into the messaging job that is ensured next. Nobody keeps it until
	// then for longer than a day.
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
// content, so that a retry is compatible.
//
// What no message could be made of is an *[AudienceError] that lists every fault
// with its line, and nothing is stored. An address that its channel cannot
// deliver to is none: it is listed in the answer.
func (n *Notifier) PutAudience(ctx context.Context, a Audience, opts *PayloadOptions) (Payload, error) {
	var o PayloadOptions
	if opts != nil {
		o = *opts
	}
	header, err := payloadStart(o)
	if err != nil {
		return Payload{}, fmt.Errorf("notify: PutAudience: %w", err)
	}
	w := &audienceWriter{n: n, o: o}
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
	var data bytes.Buffer
	if err := json.Compact(&data, o.EventData); err != nil {
		return nil, fmt.Errorf("EventData: %w", err)
	}
	if o.Channel != "" {
		if err := checkMethod(Method(o.Channel)); err != nil {
			return nil, fmt.Errorf("Channel: %w", err)
		}
	}
	start := append(mustJSON(payloadHeader{payloadFormat, data.Bytes()}), '\n')
	if len(start) > MaxSharedData {
		return nil, fmt.Errorf("EventData makes a header of %d bytes, more than %d", len(start), MaxSharedData)
	}
	return start, nil
}

// audienceWriter is the reader that a blob is put from: lines are made as they
// are asked for. The first fault ends it, since nothing will be stored.
type audienceWriter struct {
	n       *Notifier
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
	d := w.n.destination(r)
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
