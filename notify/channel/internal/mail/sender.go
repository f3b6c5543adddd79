package mail

import (
	"fmt"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// Sender is who the mails of a channel come from.
type Sender struct {
	from    netmail.Address
	replyTo *netmail.Address
	domain  string
}

// NewSender reads the From address, and the Reply-To address unless it is
// empty, each with or without a display name: "School <office@example.com>".
// Both must be ASCII but for the name; the domain of From is also that of
// every Message-ID.
func NewSender(from, replyTo string) (Sender, error) {
	var s Sender
	a, err := parseSender("From", from)
	if err != nil {
		return s, err
	}
	s.from, s.domain = *a, a.Address[strings.LastIndexByte(a.Address, '@')+1:]
	if replyTo != "" {
		s.replyTo, err = parseSender("ReplyTo", replyTo)
	}
	return s, err
}

func (s Sender) address(msg *gomail.Msg) {
	msg.FromMailAddress(&s.from)
	if s.replyTo != nil {
		msg.ReplyToMailAddress(s.replyTo)
	}
}

func parseSender(option, text string) (*netmail.Address, error) {
	if strings.ContainsAny(text, forbidden) {
		return nil, fmt.Errorf("mail: %s %q holds a line break or a NUL", option, text)
	}
	a, err := netmail.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("mail: %s %q is no mail address: %w", option, text, err)
	}
	if !ascii(a.Address) {
		return nil, fmt.Errorf("mail: %s %q: the address must be ASCII; write the domain in Punycode", option, text)
	}
	if a.Name = displayName(a.Name); badHeader(a.Name) != "" {
		return nil, fmt.Errorf("mail: %s %q: the name %s", option, text, badHeader(a.Name))
	}
	return a, nil
}
