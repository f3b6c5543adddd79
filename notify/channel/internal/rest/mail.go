package rest

import (
	"maps"
	"net/mail"
	"net/url"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// Mailbox reads a setting that is a mail address with or without a name.
func (f *Faults) Mailbox(name, text string) mail.Address {
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsAny(text, breaks) {
		f.Add(true, name+" is not a mail address")
		return mail.Address{}
	}
	return *a
}

// breaks are the characters that no header may hold.
const breaks = "\r\n\x00"

// CheckMail refuses what no API that makes mails of parts can send. Most of it the
// providers would refuse too; what ends up in a header is not left to them.
func CheckMail(provider string, m channel.Message) error {
	unsendable := func(code, why string) *channel.Error { return Unsendable(provider, code, why) }
	if err := CheckID(provider, m); err != nil {
		return err
	}
	switch {
	case !isAddress(m.To):
		return unsendable("address", "recipient is not a mail address").Blame(channel.FaultAddress)
	case strings.ContainsAny(m.Subject+m.Name, breaks):
		return unsendable("header", "subject or name holds a line break or a NUL")
	case m.Template.Name != "":
		return unsendable("template", "message names a template, which this channel does not use")
	case m.UnsubscribeURL != "" && !isWebAddress(m.UnsubscribeURL):
		return unsendable("header", "UnsubscribeURL is not an https address")
	}
	if err := m.Mail.Check(); err != nil {
		return unsendable("header", "Mail has a value that cannot be a header")
	}
	for _, a := range m.Attachments {
		if len(a.Data) == 0 {
			return unsendable("attachment", "attachment without data")
		}
		if strings.ContainsAny(a.Name+a.MediaType+a.ContentID, breaks+";") {
			return unsendable("header", "name or type of an attachment holds a line break, a NUL or a semicolon")
		}
	}
	return nil
}

// isAddress accepts a bare address and nothing around it.
func isAddress(to string) bool {
	a, err := mail.ParseAddress(to)
	return err == nil && a.Address == to && len(to) <= 254 && !strings.ContainsAny(to, breaks)
}

// isWebAddress accepts what may stand between angle brackets in a header.
func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Host != "" && len(text) <= 900 &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' || r == ',' })
}

// MailHeaders are those of a mail that CheckMail lets through, beside its addresses and
// its subject.
func MailHeaders(m channel.Message) map[string]string {
	h := map[string]string{"Auto-Submitted": "auto-generated"} // no out-of-office replies (RFC 3834)
	if m.UnsubscribeURL != "" {
		h["List-Unsubscribe"] = "<" + m.UnsubscribeURL + ">"
		h["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
	}
	if m.Mail.InReplyTo != "" {
		h["In-Reply-To"] = "<" + m.Mail.InReplyTo + ">"
	}
	if len(m.Mail.References) > 0 {
		h["References"] = "<" + strings.Join(m.Mail.References, "> <") + ">"
	}
	maps.Copy(h, m.Mail.Headers)
	return h
}

// Mailboxes reads mailboxes that CheckMail lets through.
func Mailboxes(all []string) (out []mail.Address) {
	for _, text := range all {
		if a, err := channel.ParseMailbox(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// Spelled is a mailbox as APIs take it in JSON: its name in quotes and in UTF-8, not in
// the encoded words of a header.
func Spelled(a mail.Address) string {
	if a.Name == "" {
		return a.Address
	}
	return `"` + quoted.Replace(a.Name) + `" <` + a.Address + ">"
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// MailText is the text of a mail. Of one without text and HTML it is the subject, which
// is then all there is to say: providers refuse empty mails.
func MailText(m channel.Message) string {
	if m.Text == "" && m.HTML == "" {
		return m.Subject
	}
	return m.Text
}
