package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// MaxCallback bounds the body of a callback that is looked at. The largest that
// a provider documents is SendGrid's, 768 KiB.
const MaxCallback = 1 << 20

// Refused is a [channel.ErrWebhookRefused] that says why.
func Refused(provider, why string) error {
	return fmt.Errorf("%w: %s: %s", channel.ErrWebhookRefused, provider, why)
}

// DecodeCallback reads the JSON of a callback that was proved to be the
// provider's. The error does not quote it.
func DecodeCallback(provider string, body []byte, v any) error {
	if json.Unmarshal(body, v) != nil {
		return errors.New(provider + ": callback is not the JSON that is documented")
	}
	return nil
}

var messageID = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// MessageID returns what may be a [channel.Message].ID that a provider gives
// back, and else nothing.
func MessageID(text string) string {
	if !messageID.MatchString(text) {
		return ""
	}
	return text
}

// ProviderID returns a provider's id of a message or an event if it is one that
// can be stored: at most 200 visible ASCII characters.
func ProviderID(text string) string {
	if len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return text
}

// Text is a JSON string, or a number or a boolean as it is written: providers
// are not always of one mind. Anything else is empty.
type Text string

// UnmarshalJSON never fails.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = ""
	var text string
	switch {
	case len(b) == 0 || b[0] == '{' || b[0] == '[' || string(b) == "null":
	case json.Unmarshal(b, &text) == nil:
		*t = Text(text)
	default:
		*t = Text(b)
	}
	return nil
}
