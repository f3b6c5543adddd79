package mail

import (
	"errors"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/belfry-go/belfry/notify/channel"
)

var errMailHeaders = channel.Permanent("header", errors.New("mail: Mail has a value that cannot be a header")).Blame(channel.FaultMessage)

// setMail sets the headers of m, which was checked, and the envelope of its copies.
func setMail(msg *gomail.Msg, m channel.Mail, out *Mail) {
	cc, blind := mailboxes(m.CC), mailboxes(m.BCC)
	if len(cc) > 0 {
		msg.CcMailAddress(cc...)
	}
	for _, a := range append(cc, blind...) {
		out.Copies = append(out.Copies, envelope(*a))
		out.UTF8 = out.UTF8 || !ascii(a.Address)
	}
	var names []string
	for _, a := range blind {
		names = append(names, a.String())
	}
	out.Blind = strings.Join(names, ",\r\n ")
	if m.InReplyTo != "" {
		msg.SetGenHeader(gomail.HeaderInReplyTo, "<"+m.InReplyTo+">")
	}
	if len(m.References) > 0 {
		msg.SetGenHeader(gomail.HeaderReferences, "<"+strings.Join(m.References, "> <")+">")
	}
	for name, value := range m.Headers {
		msg.SetGenHeader(gomail.Header(name), oneSpace(value))
	}
}

// mailboxes reads what was checked.
func mailboxes(all []string) (out []*netmail.Address) {
	for _, text := range all {
		if a, err := channel.ParseMailbox(text); err == nil {
			a.Name = displayName(a.Name)
			out = append(out, &a)
		}
	}
	return out
}
