package notify

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage"
)

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

// Attachment is a part of a [Message], loaded for the call. Messages share the
// Data, so a channel does not change it.
type Attachment struct {
	Name, MediaType, ContentID string
	Data                       []byte
}

var mediaType = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}$`)

// checkAttachments refuses what no mail could hold.
func checkAttachments(all []AttachmentRef) error {
	if len(all) > maxAttachmentCount {
		return fmt.Errorf("%w: %d attachments, more than %d", ErrContent, len(all), maxAttachmentCount)
	}
	var size int64
	ids := map[string]bool{"": false}
	for i, a := range all {
		if err := a.check(); err != nil {
			return fmt.Errorf("%w: attachment %d: %w", ErrContent, i+1, err)
		}
		if ids[a.ContentID] {
			return fmt.Errorf("%w: attachment %d: its content id is that of another one", ErrContent, i+1)
		}
		ids[a.ContentID] = a.ContentID != ""
		size += a.Blob.Size
	}
	if size > MaxAttachments {
		return fmt.Errorf("%w: attachments have %d bytes, more than %d", ErrContent, size, MaxAttachments)
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
		return fmt.Errorf("%.40q is no media type of the form type/subtype in lower case", a.MediaType)
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
