package notify

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// Content is what a message says. Any part may be empty, but not all of them.
type Content struct {
	// Subject is one line; a line break or a NUL in it is refused, since it
	// would start another header.
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text,omitempty"`
	HTML    string `json:"html,omitempty"`
	// Locale is the BCP 47 tag that the renderer chose.
	Locale string `json:"locale,omitempty"`
	// Missing are the locales that the renderer looked for before it, in vain.
	Missing []string `json:"missing,omitempty"`
	// Version is that of the templates that made it, where they have one.
	Version  string                   `json:"version,omitempty"`
	Template channel.ProviderTemplate `json:"template,omitzero"`
	Metadata map[string]string        `json:"metadata,omitempty"`
	// CollapseKey is that of [channel.Message]; channels to anything but devices ignore it.
	CollapseKey string `json:"collapseKey,omitempty"`
	// Attachments go with an e-mail; channels without them refuse the message.
	Attachments []AttachmentRef `json:"attachments,omitempty"`
	// Mail is what only an e-mail has; an inbox leaves it out.
	Mail channel.Mail `json:"mail,omitzero"`
	// UnsubscribeURL is the https address of a page on which the recipient wants no more such
	// messages, and which takes one click (RFC 8058); empty: that of Options.Unsubscribe.
	UnsubscribeURL string `json:"unsubscribeUrl,omitempty"`
}

// checkText refuses a content that says nothing, as that of a type without a template.
func (c Content) checkText() error {
	if c.Subject != "" || c.Text != "" || c.HTML != "" || c.Template.Name != "" || len(c.Metadata) > 0 || len(c.Attachments) > 0 {
		return nil
	}
	return fmt.Errorf("%w: it is empty: give its type a Template or a Renderer that makes a subject, a text, HTML, a provider's template, metadata or an attachment", channel.ErrContent)
}

// check refuses what no channel may send.
func (c Content) check() error {
	for _, p := range []struct {
		name, text string
		limit      int
	}{{"subject", c.Subject, channel.MaxSubject}, {"text", c.Text, channel.MaxText}, {"HTML", c.HTML, channel.MaxHTML}} {
		switch {
		case len(p.text) > p.limit:
			return fmt.Errorf("%w: %s has %d bytes, more than %d", channel.ErrContent, p.name, len(p.text), p.limit)
		case !utf8.ValidString(p.text) || strings.ContainsRune(p.text, 0):
			return fmt.Errorf("%w: %s holds a NUL or is not valid UTF-8", channel.ErrContent, p.name)
		}
	}
	if u := c.UnsubscribeURL; u != "" && (!strings.HasPrefix(u, "https://") || len(u) > 2000 || strings.ContainsAny(u, "\r\n<> ") || !utf8.ValidString(u)) {
		return fmt.Errorf("%w: the UnsubscribeURL is not an https address of at most 2000 bytes", channel.ErrContent)
	}
	if len(c.Version) > 200 || strings.ContainsRune(c.Version, 0) || !utf8.ValidString(c.Version) {
		return fmt.Errorf("%w: version is not a text of at most 200 bytes", channel.ErrContent)
	}
	if strings.ContainsAny(c.Subject, "\r\n") {
		return fmt.Errorf("%w: subject holds a line break", channel.ErrContent)
	}
	if extra := mustJSON(Content{Template: c.Template, Metadata: c.Metadata}); len(extra) > channel.MaxMetadata {
		return fmt.Errorf("%w: template parameters and metadata have %d bytes, more than %d", channel.ErrContent, len(extra), channel.MaxMetadata)
	}
	if err := cmp.Or(channel.CheckCollapseKey(c.CollapseKey), c.Mail.Check()); err != nil {
		return err
	}
	return checkAttachments(c.Attachments)
}

// blobs are those that the content names.
func (c Content) blobs() []storage.Ref {
	var out []storage.Ref
	for _, a := range c.Attachments {
		out = append(out, a.Blob)
	}
	return out
}

// textBytes is how long its texts are.
func (c Content) textBytes() int { return len(c.Subject) + len(c.Text) + len(c.HTML) }

// hashOr is the hash that a caller gives with a content, else that of the content;
// empty where there is none.
func (c Content) hashOr(given string) string {
	if given != "" || string(mustJSON(c)) == "{}" {
		return given
	}
	return c.Hash()
}

// Hash is the ContentHash of c: 64 lower-case hex digits.
func (c Content) Hash() string {
	sum := keys.Sum("belfry-content-1", string(mustJSON(c)))
	return hex.EncodeToString(sum[:])
}

// mustJSON marshals what consists of texts, which cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// MaxAttachments bounds the attachments of a message, in bytes and in number.
const (
	MaxAttachments     = 20 << 20
	maxAttachmentCount = 20
	maxAttachmentName  = 200
)

// AttachmentRef is a part of a [Content] that is kept in a blob: a file, or a
// picture that the HTML shows.
type AttachmentRef struct {
	Name      string `json:"name"`      // the file name that the recipient sees
	MediaType string `json:"mediaType"` // "application/pdf"
	// ContentID makes the part an inline one, which the HTML shows as
	// "cid:{ContentID}": letters, digits, '-', '_' and '.', once in a content.
	// Without HTML the part is a file like the others.
	ContentID string `json:"contentId,omitempty"`
	// Blob is complete before the content is stored; it is kept with the message.
	// [Attach] makes one.
	Blob storage.Ref `json:"blob"`
}

var mediaType = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}$`)

// checkAttachments refuses what no mail could hold.
func checkAttachments(all []AttachmentRef) error {
	if len(all) > maxAttachmentCount {
		return fmt.Errorf("%w: %d attachments, more than %d", channel.ErrContent, len(all), maxAttachmentCount)
	}
	var size int64
	ids := map[string]bool{"": false}
	for i, a := range all {
		if err := a.check(); err != nil {
			return fmt.Errorf("%w: attachment %d: %w", channel.ErrContent, i+1, err)
		}
		if ids[a.ContentID] {
			return fmt.Errorf("%w: attachment %d: its content id is that of another one", channel.ErrContent, i+1)
		}
		ids[a.ContentID] = a.ContentID != ""
		size += a.Blob.Size
	}
	if size > MaxAttachments {
		return fmt.Errorf("%w: attachments have %d bytes, more than %d", channel.ErrContent, size, MaxAttachments)
	}
	return nil
}

func (a AttachmentRef) check() error {
	if a.Blob.IsZero() {
		return errors.New("it names no blob")
	}
	return a.checkLabels()
}

func (a AttachmentRef) checkLabels() error {
	switch {
	case a.Name == "" || len(a.Name) > maxAttachmentName:
		return fmt.Errorf("its name has %d bytes, not 1 to %d", len(a.Name), maxAttachmentName)
	case !utf8.ValidString(a.Name) || strings.ContainsFunc(a.Name, unlikely):
		return errors.New("its name holds what no file name may")
	case !mediaType.MatchString(a.MediaType):
		return fmt.Errorf("%.40q is not a media type of the form type/subtype in lower case", a.MediaType)
	case strings.HasPrefix(a.MediaType, "multipart/") || strings.HasPrefix(a.MediaType, "message/"):
		return fmt.Errorf("%.40q is the media type of a mail, not of a file", a.MediaType)
	case len(a.ContentID) > maxAttachmentName || strings.Trim(a.ContentID, contentIDCharacters) != "":
		return errors.New("its content id is too long or holds more than letters, digits, '-', '_' and '.'")
	}
	return nil
}

const contentIDCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// unlikely characters separate folders, end headers, or turn the direction of
// what follows, so that "fdp.exe" is read as "exe.pdf".
func unlikely(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || strings.ContainsRune(`/\"`, r)
}

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
		return AttachmentRef{}, fmt.Errorf("%w: attachment: %w", channel.ErrContent, err)
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
		return 0, fmt.Errorf("%w: attachment has more than %d bytes", channel.ErrContent, l.limit)
	}
	return n, err
}

// errSize is a blob that is not the one whose size was checked.
var errSize = errors.New("notify: attachment: the blob has another size than its reference says")

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
	if err != nil {
		n.notAsked(it, work.Interrupted(it.Ctx), err, reasons.AttachmentMissing)
	}
	return err == nil
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
func (f *files) of(m *messageRow) []channel.Attachment {
	var out []channel.Attachment
	for _, a := range m.Content.Attachments {
		out = append(out, channel.Attachment{Name: a.Name, MediaType: a.MediaType, ContentID: a.ContentID, Data: f.get(a.Blob.Name).data})
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
