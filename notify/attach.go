package notify

import (
	"context"
	"fmt"
	"io"

	"github.com/belfry-go/belfry/storage"
)

// Attach stores what r gives and returns the attachment for a [Content]. A
// [Renderer] calls it for what it makes for one recipient, with the Blobs of its
// store; what all recipients get is better attached once and named by all of
// them. name, mediaType and contentID are checked before anything is read, and
// more than MaxAttachments bytes are refused, both with ErrContent.
//
// A content that is stored within a day keeps the file from then on. What no
// content names is removed after that day, so that a rendering which is thrown
// away leaves nothing.
func Attach(ctx context.Context, blobs storage.Blobs, name, mediaType, contentID string, r io.Reader) (AttachmentRef, error) {
	return PutFile(ctx, blobs, AttachmentRef{Name: name, MediaType: mediaType, ContentID: contentID}, r, MaxAttachments)
}

// PutFile is [Attach] with a limit in bytes of the caller's own, for files that a
// message has a link to. It returns a with its Blob.
func PutFile(ctx context.Context, blobs storage.Blobs, a AttachmentRef, r io.Reader, limit int64) (AttachmentRef, error) {
	if err := a.checkLabels(); err != nil {
		return AttachmentRef{}, fmt.Errorf("%w: attachment: %w", ErrContent, err)
	}
	ref, err := blobs.Put(ctx, &limited{r: r, left: limit, limit: limit})
	if err != nil {
		return AttachmentRef{}, fmt.Errorf("notify: attach: %w", err)
	}
	a.Blob = ref
	return a, nil
}

// limited is a reader with an error where an io.LimitReader has an end.
type limited struct {
	r           io.Reader
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: attachment has more than %d bytes", ErrContent, l.limit)
	}
	return n, err
}
