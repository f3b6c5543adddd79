package channel

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/spelling"
)

// Mail is what only an e-mail has; other channels refuse a message with any of it. The
// zero value is none. Addresses may have a display name: "Ann Bell <ann@school.example>".
type Mail struct {
	// ReplyTo is where answers go; empty: what the channel says.
	ReplyTo string `json:"replyTo,omitempty"`
	// CC and BCC get a copy, of which the message is one call with one outcome: at most
	// 20 in all, each address once. A gate may leave some of them out; a message that
	// is redirected has none. They see the recipient's unsubscribe link.
	CC  []string `json:"cc,omitempty"`
	BCC []string `json:"bcc,omitempty"`
	// InReplyTo is the Message-ID of the mail that this one answers, and References
	// those before it, oldest first: without angle brackets. Mails that name the same
	// one in References are a thread, whether a mail has that id or not.
	InReplyTo  string   `json:"inReplyTo,omitempty"`
	References []string `json:"references,omitempty"`
	// Headers are others, of those that the host allows in notify.Options: ASCII, 900 bytes each.
	Headers map[string]string `json:"headers,omitempty"`
}

// IsZero reports whether there is nothing in it.
func (m Mail) IsZero() bool {
	return m.ReplyTo == "" && len(m.CC)+len(m.BCC)+len(m.References)+len(m.Headers) == 0 && m.InReplyTo == ""
}

// Check refuses what would make another header, or a header of the transport: mail
// channels ask it too. The error is an [ErrContent] and holds no address.
func (m Mail) Check() error {
	if m.IsZero() {
		return nil
	}
	err := m.checkAddresses()
	if err == nil {
		err = m.checkThread()
	}
	for name, value := range m.Headers {
		if err == nil {
			err = checkHeader(name, value)
		}
	}
	if size := sizeOf(m); err == nil && size > MaxMetadata {
		err = fmt.Errorf("they have %d bytes, more than %d", size, MaxMetadata)
	}
	if err != nil {
		return fmt.Errorf("%w: mail headers: %w", ErrContent, err)
	}
	return nil
}

func (m Mail) checkAddresses() error {
	if m.ReplyTo != "" {
		if a, err := ParseMailbox(m.ReplyTo); err != nil || !printable(a.Address) {
			return errors.New("ReplyTo is not a mail address")
		}
	}
	if len(m.CC)+len(m.BCC) > maxCopies {
		return fmt.Errorf("%d copies, more than %d", len(m.CC)+len(m.BCC), maxCopies)
	}
	seen := map[string]bool{}
	for i, text := range slices.Concat(m.CC, m.BCC) {
		a, err := ParseMailbox(text)
		if err != nil {
			return fmt.Errorf("copy %d (CC, then BCC) is not a mail address", i+1)
		}
		if to := spelling.Folded("email", a.Address); seen[to] {
			return fmt.Errorf("copy %d (CC, then BCC) repeats an address", i+1)
		} else {
			seen[to] = true
		}
	}
	return nil
}

func (m Mail) checkThread() error {
	all := m.References
	if m.InReplyTo != "" {
		all = slices.Concat(all, []string{m.InReplyTo})
	}
	size := 0
	for _, id := range all {
		if len(id) > 250 || !messageID.MatchString(id) || encodedWord.MatchString(id) {
			return errors.New("InReplyTo or References has an entry that is not a Message-ID without its angle brackets")
		}
		size += len(id) + len("<> ")
	}
	if size > MaxSubject {
		return fmt.Errorf("InReplyTo and References have %d bytes, more than %d", size, MaxSubject)
	}
	return nil
}

// maxCopies bounds those who get a mail beside its recipient.
const maxCopies = 20

func sizeOf(m Mail) int {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts cannot fail
	}
	return len(text)
}

// MayBeSet reports whether a message may have a header of that name: it is one, and
// neither made by the transport nor one that has relays send to others.
func MayBeSet(header string) bool { return headerName.MatchString(header) && !isReserved(header) }

var messageID = regexp.MustCompile(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]+@[A-Za-z0-9.:\[\]-]+$`)

// encodedWord finds what a reader would decode, line breaks too.
var encodedWord = regexp.MustCompile(`=\?[^?]*\?[bBqQ]\?[^?]*\?=`)

var headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,59}$`)

// reserved are headers that the transport makes, or that have relays send to others:
// no list of a host may allow them. One that ends in '-' stands for all that begin so.
var reserved = []string{
	"from", "sender", "to", "cc", "bcc", "reply-to", "subject", "date", "message-id", "in-reply-to", "references",
	"return-path", "received", "mime-version", "content-", "resent-", "dkim-", "domainkey-", "arc-", "authentication-",
	"list-unsubscribe", "list-unsubscribe-post", "auto-submitted", "apparently-to", "errors-to", "return-receipt-to", "disposition-notification-to",
	"x-smtpapi", "x-sg-", "x-mc-", "x-mailgun-", "x-pm-", "x-msys-", "x-ses-", "x-mj-", "x-mailjet-", "x-campaign", "x-envelope-", "x-original-to", "x-rcpt-to",
}

func isReserved(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(reserved, func(r string) bool {
		return name == r || strings.HasSuffix(r, "-") && strings.HasPrefix(name, r)
	})
}

// checkHeader does not say a name that is none, which may be anything.
func checkHeader(name, value string) error {
	switch {
	case !headerName.MatchString(name):
		return errors.New("a key of Headers is not a name of a header")
	case isReserved(name):
		return fmt.Errorf("%s is set by the channel, not by a message", name)
	case value == "" || len(value) > MaxSubject || !printable(value) || encodedWord.MatchString(value):
		return fmt.Errorf("the value of %s is not 1 to %d printable ASCII characters", name, MaxSubject)
	}
	return nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) && strings.TrimSpace(s) == s
}

// ParseMailbox reads a mail address with or without a display name, and brings the
// address into its one spelling. The error holds nothing of it. Mail channels use it.
func ParseMailbox(text string) (mail.Address, error) {
	if strings.ContainsAny(text, "\r\n\x00") || encodedWord.MatchString(text) || len(text) > MaxSubject {
		return mail.Address{}, spelling.ErrUnusable
	}
	a, err := mail.ParseAddress(text)
	if err != nil || len(a.Address) > 254 || strings.ContainsAny(a.Name, "\r\n\x00") {
		return mail.Address{}, spelling.ErrUnusable
	}
	if a.Address, err = spelling.Of("email", a.Address); err != nil {
		return mail.Address{}, spelling.ErrUnusable
	}
	return *a, nil
}

// NormaliseAddress gives the spelling of an address in which gates, the list of
// suppressed addresses and channels know it: E.164 for the methods sms, whatsapp and
// voice, a lower-case domain in Punycode for email, and no spaces around any other. The error
// says that the method cannot deliver to it, and never holds it.
func NormaliseAddress(method, text string) (string, error) { return spelling.Of(method, text) }
