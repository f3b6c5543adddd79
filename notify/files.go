package notify

import (
	"context"
	"io"
	"sync"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// files are the attachments of the messages of a group that are called or about to be,
// by the names of their blobs.
type files struct {
	mu     sync.Mutex
	byName map[string]*file
}

// file is read once for those messages that have it at the same time.
type file struct {
	data []byte
	read bool
	uses int
}

// load reads what a message carries. It comes before the call-started write: a message
// whose files cannot be read is tried again, and never in doubt.
func (n sender) load(ctx context.Context, it sending, f *files) bool {
	err := f.load(ctx, n.store.Blobs(), it.Row.Content.blobs())
	switch {
	case err == nil:
		return true
	case work.Interrupted(it.Ctx):
		it.Row.released(driver.Now(n.store))
	default:
		it.Row.unasked(driver.Now(n.store), ReasonAttachment)
	}
	return false
}

// load is called by one goroutine. Whatever it returns, drop ends it.
func (f *files) load(ctx context.Context, blobs storage.Blobs, refs []storage.Ref) error {
	f.use(refs)
	for _, ref := range refs {
		if f.get(ref.Name).read {
			continue
		}
		data, err := readBlob(ctx, blobs, ref)
		if err == nil && int64(len(data)) != ref.Size {
			err = errSize
		}
		if err != nil {
			return err
		}
		f.keep(ref.Name, data)
	}
	return nil
}

func (f *files) use(refs []storage.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ref := range refs {
		if f.byName == nil {
			f.byName = map[string]*file{}
		}
		if f.byName[ref.Name] == nil {
			f.byName[ref.Name] = &file{}
		}
		f.byName[ref.Name].uses++
	}
}

func (f *files) drop(refs []storage.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ref := range refs {
		if f.byName[ref.Name].uses--; f.byName[ref.Name].uses == 0 {
			delete(f.byName, ref.Name)
		}
	}
}

func (f *files) keep(name string, data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byName[name].data, f.byName[name].read = data, true
}

func (f *files) get(name string) file {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *f.byName[name]
}

// of are the attachments of m as the channel gets them.
func (f *files) of(m *messageRow) []Attachment {
	var out []Attachment
	for _, a := range m.Content.Attachments {
		out = append(out, Attachment{Name: a.Name, MediaType: a.MediaType, ContentID: a.ContentID, Data: f.get(a.Blob.Name).data})
	}
	return out
}

// ofFiles is the key of a Notifier's budget of attachments.
type ofFiles struct{ of *registry }

// budget bounds the bytes of attachments. A file that several messages have counts for
// each, since channels encode it for each.
func (n *core) budget(m *messageRow) []calls.Bound {
	var size int64
	for _, ref := range m.Content.blobs() {
		size += ref.Size
	}
	if size == 0 {
		return nil
	}
	return []calls.Bound{{Key: ofFiles{n.registry}, Most: int(n.options.AttachmentBytes), Weight: int(size)}}
}

func readBlob(ctx context.Context, blobs storage.Blobs, ref storage.Ref) ([]byte, error) {
	r, err := blobs.Open(ctx, ref, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, ref.Size+1))
}
