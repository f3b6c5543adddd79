package notify

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Limits in bytes of the parts of a message.
const (
	MaxSubject  = 900 // a header line of 998 with its name
	MaxText     = 64 << 10
	MaxHTML     = 256 << 10
	maxMetadata = 8 << 10 // of template parameters and metadata together, as JSON
)

// ErrContent is the cause of every refusal of a message's content.
var ErrContent = errors.New("notify: content refused")

// Content is what a message says. Any part may be empty.
type Content struct {
	// Subject is one line; a line break or a NUL in it is refused, since it
	// would start another header.
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text,omitempty"`
	HTML    string `json:"html,omitempty"`
	// Locale is the BCP 47 tag that the renderer chose.
	Locale string `json:"locale,omitempty"`
	// Missing are the locales that the renderer looked for before it, in vain.
	Missing  []string          `json:"missing,omitempty"`
	Template ProviderTemplate  `json:"template,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
	// Attachments go with an e-mail; channels without them refuse the message.
	Attachments []AttachmentRef `json:"attachments,omitempty"`
}

// check refuses what no channel may send.
func (c Content) check() error {
	for _, p := range []struct {
		name, text string
		limit      int
	}{{"subject", c.Subject, MaxSubject}, {"text", c.Text, MaxText}, {"HTML", c.HTML, MaxHTML}} {
		switch {
		case len(p.text) > p.limit:
			return fmt.Errorf("%w: %s has %d bytes, more than %d", ErrContent, p.name, len(p.text), p.limit)
		case !utf8.ValidString(p.text) || strings.ContainsRune(p.text, 0):
			return fmt.Errorf("%w: %s holds a NUL or is not valid UTF-8", ErrContent, p.name)
		}
	}
	if strings.ContainsAny(c.Subject, "\r\n") {
		return fmt.Errorf("%w: subject holds a line break", ErrContent)
	}
	if extra := mustJSON(Content{Template: c.Template, Metadata: c.Metadata}); len(extra) > maxMetadata {
		return fmt.Errorf("%w: template parameters and metadata have %d bytes, more than %d", ErrContent, len(extra), maxMetadata)
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
