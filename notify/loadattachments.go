package notify

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/storage"
)

// errSize is a blob that is not the one whose size was checked.
var errSize = errors.New("notify: attachment: the blob has another size than its reference says")

// files are the attachments of a group of messages by the names of their blobs,
// each read once.
type files map[string][]byte

// loadAttachments reads what the messages carry. It comes before the
// call-started write: a message whose files cannot be read is tried again, and
// never in doubt.
func (n *Notifier) loadAttachments(ctx context.Context, items []sending) ([]sending, files) {
	found := files{}
	var open []sending
	for _, it := range items {
		err := found.load(ctx, n.store.Blobs(), it.Row.Content.blobs())
		switch {
		case err == nil:
			open = append(open, it)
		case it.Ctx.Err() != nil:
			it.Row.released(storage.Now(n.store))
		default:
			it.Row.unasked(storage.Now(n.store), ReasonAttachment)
		}
	}
	return open, found
}

func (f files) load(ctx context.Context, blobs storage.Blobs, refs []storage.Ref) error {
	for _, ref := range refs {
		if _, ok := f[ref.Name]; ok {
			continue
		}
		data, err := readBlob(ctx, blobs, ref)
		if err == nil && int64(len(data)) != ref.Size {
			err = errSize
		}
		if err != nil {
			return err
		}
		f[ref.Name] = data
	}
	return nil
}

// of are the attachments of m as the channel gets them.
func (f files) of(m *OutgoingMessage) []Attachment {
	var out []Attachment
	for _, a := range m.Content.Attachments {
		out = append(out, Attachment{Name: a.Name, MediaType: a.MediaType, ContentID: a.ContentID, Data: f[a.Blob.Name]})
	}
	return out
}
