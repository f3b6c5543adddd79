package mail

import (
	"fmt"
	netmail "net/mail"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-go/belfry/notify"
)

// Mail is a message in the form in which it is handed over.
type Mail struct {
	// ID is the Message-ID without its angle brackets.
	ID string
	// From and To are the addresses of the envelope, in angle brackets.
	From, To string
	// UTF8 says that To is not ASCII, so a server must support SMTPUTF8
	// (RFC 6531).
	UTF8 bool
	// Bytes are headers and body. Lines end in CRLF; dots are not doubled yet.
	Bytes []byte
}

// Build makes a mail of m, or says with a Permanent error why no mail can be
// made of it. The error holds nothing personal.
func (s Sender) Build(m notify.Message) (*Mail, error) {
	to, err := check(m)
	if err != nil {
		return nil, err
	}
	id := m.ID + "@" + s.domain
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	s.address(msg)
	msg.ToMailAddress(&netmail.Address{Name: displayName(m.Name), Address: to.Address})
	msg.Subject(oneSpace(m.Subject))
	msg.SetMessageIDWithValue(id)
	msg.SetDateWithValue(m.On.UTC())
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office replies (RFC 3834)
	setUnsubscribe(msg, m.UnsubscribeURL)
	setBody(msg, m)
	attach(msg, m)
	all, err := write(msg, m)
	if err != nil {
		return nil, notify.Permanent("mail", fmt.Errorf("mail: write message: %w", err))
	}
	return &Mail{ID: id, From: envelope(s.from), To: envelope(*to), UTF8: !ascii(to.Address), Bytes: all}, nil
}

func envelope(a netmail.Address) string {
	a.Name = ""
	return a.String()
}
