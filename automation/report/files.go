package report

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// maxParts bounds the files of a report, since a small row names them.
const maxParts = 8

// file is a stored part.
type file struct {
	notify.AttachmentRef
	body bool
}

// write streams the parts into blobs. What an earlier part has stored when a later
// one fails is collected in its time, as nobody keeps it.
func (t Type) write(ctx context.Context, blobs storage.Blobs, parts []Part) ([]file, error) {
	if len(parts) > maxParts {
		return nil, automation.Permanent(fmt.Errorf("%w: %d parts, more than %d", notify.ErrContent, len(parts), maxParts))
	}
	left := t.MaxBytes
	var out []file
	for i, p := range parts {
		ref, err := p.store(ctx, blobs, left)
		if errors.Is(err, notify.ErrContent) {
			err = automation.Permanent(err) // the next try would make just this
		}
		if err != nil {
			return nil, fmt.Errorf("report: part %d: %w", i+1, err)
		}
		left -= ref.Blob.Size
		out = append(out, file{ref, p.Body})
	}
	return out, nil
}

// store runs Write beside the blob that takes what it gives; whichever fails first
// ends the other.
func (p Part) store(ctx context.Context, blobs storage.Blobs, limit int64) (ref notify.AttachmentRef, err error) {
	if p.Write == nil {
		return ref, fmt.Errorf("%w: it has no Write", notify.ErrContent)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.Write = unbroken(p.Write)
	r, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = w.CloseWithError(work.Guard(func() error { return p.Write(ctx, w) })) // never fails
	}()
	ref, err = notify.PutFile(ctx, blobs, notify.AttachmentRef{Name: p.Name, MediaType: p.MediaType, ContentID: p.ContentID}, r, limit)
	if err != nil {
		_ = r.CloseWithError(err) // never fails
		cancel()
	}
	<-written
	return ref, err
}

// unbroken makes a failure of the io.EOF that write may return, of something that it
// reads and that broke off: a pipe would take it for the end of a whole part.
func unbroken(write func(context.Context, io.Writer) error) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		err := write(ctx, w)
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
}
