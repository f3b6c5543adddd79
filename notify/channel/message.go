package channel

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Message is what a [Channel] sends: finished parts for one recipient. A
// channel adds nothing to them but what its transport needs.
type Message struct {
	// ID is random, stable over all attempts, and never a sequence, so it may be
	// shown to providers. It is the idempotency key and the file name, where a
	// channel has one.
	ID string
	// Channel is the key of the channel that was asked for.
	Channel string
	// To is the normalised address, Name the recipient's display name.
	To, Name string
	// Subject has no line breaks. Any part may be empty.
	Subject, Text, HTML string
	// Locale is the BCP 47 tag of the parts, if it is known.
	Locale string
	// Attempt counts the provider calls for this message, this one included: 1
	// is the first.
	Attempt int
	// On is the store's time at which this attempt began: the Date of a mail.
	On time.Time
	// Template is set where the provider holds the text itself. A channel that cannot
	// use it refuses the message with a Permanent error.
	Template ProviderTemplate
	// Metadata may be passed on to the provider, which gives it back in webhooks.
	Metadata map[string]string
	// Attachments are files and inline pictures, loaded for this call. A channel
	// that cannot send them refuses the message with a Permanent error.
	Attachments []Attachment
	// Mail is what only an e-mail has, with the copies that gates have let through. A
	// channel that cannot send all of it refuses the message with a Permanent error.
	Mail Mail
	// CollapseKey names what the message is the latest word on: a device that still shows an
	// older one of the same key shows this one instead. ValidUntil is from when on it is of
	// no use; zero: not set. Channels to devices pass both on, others ignore them.
	CollapseKey string
	ValidUntil  time.Time
	// UnsubscribeURL takes one-click unsubscribes (RFC 8058); empty: there is none.
	// Mail channels put it into the headers.
	UnsubscribeURL string
}

// ProviderTemplate names a text that the provider holds, as WhatsApp requires.
// The zero value is none.
type ProviderTemplate struct {
	Name   string   `json:"name,omitempty"`
	Params []string `json:"params,omitempty"` // in the order of the template's placeholders
}

// Attachment is a part of a [Message], loaded for the call. Messages share the
// Data, so a channel does not change it.
type Attachment struct {
	Name, MediaType, ContentID string
	Data                       []byte
}

// Receipt is the provider's acceptance of a message.
type Receipt struct {
	// ID is the provider's id of the message; empty where there is none.
	ID string
	// Refused is how many of the copies the provider did not take, though it took the
	// message.
	Refused int
}

// ErrContent is the cause of every refusal of a message's content.
var ErrContent = errors.New("channel: content refused")

var collapseKey = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// CheckCollapseKey refuses what some devices do not take: all but 1 to 64 letters, digits,
// '_', '.', ':' and '-'. Empty is none. The error is an [ErrContent].
func CheckCollapseKey(key string) error {
	if key != "" && !collapseKey.MatchString(key) {
		return fmt.Errorf("%w: collapse key is not 1 to 64 letters, digits, '_', '.', ':' and '-'", ErrContent)
	}
	return nil
}

// Limits in bytes of the parts of a message.
const (
	MaxSubject  = 900 // a header line of 998 with its name
	MaxText     = 64 << 10
	MaxHTML     = 256 << 10
	MaxMetadata = 8 << 10 // of template parameters and metadata together, and of mail headers, as JSON
)
