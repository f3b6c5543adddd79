package notify

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/storage"
)

// MaxAttachments bounds the attachments of a message, in bytes and in number.
const (
	MaxAttachments     = 20 << 20
	maxAttachmentCount = 20
)

// AttachmentRef is a part of a [Content] that is kept in a blob: a file, or a
// picture that the HTML shows.
type AttachmentRef struct {
	Name      string `json:"name"`      // the file name that the recipient sees
	MediaType string `json:"mediaType"` // "application/pdf"
	// ContentID makes the part an inline one, which the HTML shows as
	// "cid:{ContentID}": letters, digits, '-', '_' and '.'.
	ContentID string `json:"contentId,omitempty"`
	// Blob is complete before the content is stored; it is kept with the message.
	Blob storage.Ref `json:"blob"`
}

// Attachment is a part of a [Message], loaded for the call.
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
	for i, a := range all {
		if err := a.check(); err != nil {
			return fmt.Errorf("%w: attachment %d: %w", ErrContent, i, err)
		}
		size += a.Blob.Size
	}
	if size > MaxAttachments {
		return fmt.Errorf("%w: attachments have %d bytes, more than %d", ErrContent, size, MaxAttachments)
	}
	return nil
}

func (a AttachmentRef) check() error {
	switch {
	case a.Blob.IsZero():
		return errors.New("it names no blob")
	case a.Name == "" || len(a.Name) > 200 || !utf8.ValidString(a.Name) || strings.ContainsAny(a.Name, "\r\n\x00/\\\""):
		return errors.New("its name is empty, too long, or holds what no file name may")
	case !mediaType.MatchString(a.MediaType):
		return fmt.Errorf("%.40q is no media type", a.MediaType)
	case strings.Trim(a.ContentID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "":
		return errors.New("its content id holds more than letters, digits, '-', '_' and '.'")
	}
	return nil
}
