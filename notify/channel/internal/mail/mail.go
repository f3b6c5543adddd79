package mail

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"regexp"
	"strings"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-go/belfry/notify/channel"
)

// Sender is who the mails of a channel come from.
type Sender struct {
	from    netmail.Address
	replyTo *netmail.Address // unless a message has its own
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

// Domain is that of From.
func (s Sender) Domain() string { return s.domain }

func (s Sender) address(msg *gomail.Msg, m channel.Mail) (err error) {
	msg.FromMailAddress(&s.from)
	replyTo := s.replyTo
	if m.ReplyTo != "" {
		replyTo, err = parseSender("ReplyTo", m.ReplyTo)
	}
	if err == nil && replyTo != nil {
		msg.ReplyToMailAddress(replyTo)
	}
	return err
}

func parseSender(option, text string) (*netmail.Address, error) {
	if strings.ContainsAny(text, forbidden) {
		return nil, fmt.Errorf("mail: %s %q holds a line break or a NUL", option, text)
	}
	a, err := netmail.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("mail: %s %q is not a mail address: %w", option, text, err)
	}
	if !ascii(a.Address) {
		return nil, fmt.Errorf("mail: %s %q: the address must be ASCII; write the domain in Punycode", option, text)
	}
	if a.Name = displayName(a.Name); badHeader(a.Name) != "" {
		return nil, fmt.Errorf("mail: %s %q: the name %s", option, text, badHeader(a.Name))
	}
	return a, nil
}

// Mail is a message in the form in which it is handed over.
type Mail struct {
	// ID is the Message-ID without its angle brackets.
	ID string
	// From and To are the addresses of the envelope, in angle brackets.
	From, To string
	// Copies are the addresses of the envelope beside To, those of BCC last; Blind are
	// BCC's as a header names them, which is not in Bytes.
	Copies []string
	Blind  string
	// UTF8 says that a local part of To or Copies is not ASCII, so a server must support
	// SMTPUTF8 (RFC 6531).
	UTF8 bool
	// Bytes are headers and body. Lines end in CRLF; dots are not doubled yet.
	Bytes []byte
}

// Build makes a mail of m, or says with a Permanent error why no mail can be
// made of it. The error holds nothing personal.
func (s Sender) Build(m channel.Message) (*Mail, error) {
	to, err := check(m)
	if err != nil {
		return nil, err
	}
	id := m.ID + "@" + s.domain
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := s.address(msg, m.Mail); err != nil {
		return nil, errMailHeaders
	}
	msg.ToMailAddress(&netmail.Address{Name: displayName(m.Name), Address: to.Address})
	msg.Subject(oneSpace(m.Subject))
	msg.SetMessageIDWithValue(id)
	msg.SetDateWithValue(m.On.UTC())
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office replies (RFC 3834)
	setUnsubscribe(msg, m.UnsubscribeURL)
	out := &Mail{ID: id, From: envelope(s.from), To: envelope(*to), UTF8: !ascii(to.Address)}
	setMail(msg, m.Mail, out)
	setBody(msg, m)
	attach(msg, m)
	all, err := write(msg, m)
	if err != nil {
		return nil, channel.Permanent("mail", fmt.Errorf("mail: write message: %w", err))
	}
	out.Bytes = ended(unfold(all))
	return out, nil
}

func envelope(a netmail.Address) string {
	a.Name = ""
	return a.String()
}

// forbidden are the characters that no header value may hold.
const forbidden = "\r\n\x00"

// maxHeader keeps every header line below 998 bytes, its name included.
const maxHeader = 900

// encodedWord finds what a reader would decode although it was not encoded, by which a
// line break could be smuggled past the check of forbidden.
var encodedWord = regexp.MustCompile(`=\?[^?]*\?[bBqQ]\?[^?]*\?=`)

var generatedID = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// check refuses what no mail can be made of, and returns the address of m.
func check(m channel.Message) (*netmail.Address, error) {
	if err := CheckID(m.ID); err != nil {
		return nil, err
	}
	to, err := parseTo(m.To)
	if err != nil {
		return nil, err
	}
	for _, h := range []struct{ name, value string }{{"name", m.Name}, {"subject", m.Subject}} {
		if why := badHeader(h.value); why != "" {
			return nil, channel.Permanent("header", errors.New("mail: "+h.name+" "+why))
		}
	}
	switch {
	case m.On.IsZero():
		return nil, channel.Permanent("date", errors.New("mail: message without On, its date"))
	case m.Subject == "" && m.Text == "" && m.HTML == "":
		return nil, channel.Permanent("empty", errors.New("mail: message without subject, text and HTML"))
	case m.Template.Name != "":
		return nil, channel.Permanent("template", errors.New("mail: message names a template, and a mail has none"))
	case !unsubscribable(m.UnsubscribeURL):
		return nil, channel.Permanent("header", errors.New("mail: UnsubscribeURL is not an https address"))
	}
	if m.Mail.Check() != nil {
		return nil, errMailHeaders
	}
	return to, checkAttachments(m.Attachments)
}

// CheckID refuses a message id that was not generated: anything but 1 to 64
// lower-case letters, digits, hyphens and underscores. So an id is safe in a
// header and as a file name, also where the case of names does not count.
func CheckID(id string) error {
	if !generatedID.MatchString(id) {
		return channel.Permanent("id", errors.New("mail: message id is not 1 to 64 of a-z, 0-9, - and _"))
	}
	return nil
}

var errRecipient = channel.Permanent("address", errors.New("mail: recipient is not a mail address")).Blame(channel.FaultAddress)

// parseTo accepts a bare address and nothing around it.
func parseTo(to string) (*netmail.Address, error) {
	a, err := netmail.ParseAddress(to)
	switch {
	case err != nil, strings.ContainsAny(to, forbidden), len(to) > 254,
		envelope(*a) != "<"+to+">":
		return nil, errRecipient
	}
	if domain := to[strings.LastIndexByte(to, '@'):]; !ascii(domain) { // Punycode, which every server takes
		if a.Address, err = channel.NormaliseAddress("email", to); err != nil {
			return nil, errRecipient
		}
	}
	return a, nil
}

// badHeader says why value cannot be in a header; empty means it can.
func badHeader(value string) string {
	switch {
	case strings.ContainsAny(value, forbidden):
		return "holds a line break or a NUL"
	case !utf8.ValidString(value):
		return "is not valid UTF-8"
	case len(value) > maxHeader:
		return "is longer than 900 bytes"
	case encodedWord.MatchString(value):
		return "holds an encoded word"
	}
	return ""
}

// oneSpace makes one space of each run of spaces and tabs and drops them at the
// ends. A header folded in such a run would get a blank line, and with some
// readers end there.
func oneSpace(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\t' }), " ")
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// displayName is a name as it is shown. A backslash becomes a slash, since
// net/mail encodes it, among letters outside ASCII, in a way that readers
// reject, itself included.
func displayName(s string) string { return strings.ReplaceAll(oneSpace(s), `\`, "/") }
