package notify

import "time"

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

// Receipt is the provider's acceptance of a message.
type Receipt struct {
	// ID is the provider's id of the message; empty where there is none.
	ID string
}
