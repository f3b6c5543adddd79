package smtp

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	netmail "net/mail"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/notify/channel"
)

// ReturnPath has each mail come back to an address of its own, which says what message it
// was: a server that accepted a mail reports there that it could not deliver it. The
// server of its domain must deliver mail for bounces+anything@… like that for bounces@…, to
// what calls Notifier.Bounced of package notify; and the domain must allow the mail server to send
// for it (SPF).
type ReturnPath struct {
	// Address is what the addresses begin with, in at most 21 octets before the at sign:
	// "bounces@mail.school.example" makes "bounces+…@mail.school.example".
	Address string
	// Key makes the addresses, so that only those who got a mail can forge a report, about
	// that mail: 32 random bytes, the same in every process. With another key reports about
	// mails that went out are refused.
	Key []byte
}

const (
	idBytes    = 16 // of a message
	proofBytes = 10
	maxLocal   = 64 // octets of a local part (RFC 5321, section 4.5.3.1.1)
)

// sealing is the form of ids in addresses: of one case, since servers may change it.
var sealing = base32.StdEncoding.WithPadding(base32.NoPadding)

// returns makes return paths, and reads what comes back to them.
type returns struct {
	local, domain string
	key           []byte
	path          *regexp.Regexp
}

// atom is a local part without quotes (RFC 5321, section 4.1.2).
var atom = regexp.MustCompile("^[A-Za-z0-9!#$%&'*/=?^_`{|}~.+-]+$")

func newReturns(p *ReturnPath) (*returns, error) {
	a, err := netmail.ParseAddress(p.Address)
	if err != nil || a.Address != p.Address {
		return nil, errors.New("smtp: ReturnPath.Address is not a mail address")
	}
	at := strings.LastIndexByte(a.Address, '@')
	r := &returns{local: a.Address[:at], domain: a.Address[at+1:], key: slices.Clone(p.Key)}
	sealed := sealing.EncodedLen(idBytes + proofBytes)
	switch most := maxLocal - 1 - sealed; {
	case !atom.MatchString(r.local), len(r.local) > most:
		return nil, fmt.Errorf("smtp: ReturnPath.Address needs at most %d plain octets before its at sign", most)
	case strings.ContainsFunc(r.domain, func(c rune) bool { return c > '~' }):
		return nil, errors.New("smtp: ReturnPath.Address: write the domain in Punycode")
	case len(r.key) < 16:
		return nil, errors.New("smtp: ReturnPath.Key needs 32 random bytes")
	}
	r.path = regexp.MustCompile(fmt.Sprintf(`(?i)(?:^|[^a-z0-9.+_-])%s\+([a-z2-7]{%d})@%s(?:$|[^a-z0-9.-])`, regexp.QuoteMeta(r.local), sealed, regexp.QuoteMeta(r.domain)))
	return r, nil
}

// of is the return path of a message: the same at each call of it. What is not an id of a
// notifier's message has none.
func (r *returns) of(id string) (path string, ok bool) {
	raw, err := hex.DecodeString(id)
	if r == nil || err != nil || len(raw) != idBytes {
		return "", false
	}
	sealed := sealing.EncodeToString(append(raw, r.proof(raw)...))
	return "<" + r.local + "+" + strings.ToLower(sealed) + "@" + r.domain + ">", true
}

// proof is what can be added to an id only with the key. The id itself is in the Message-ID
// anyway.
func (r *returns) proof(id []byte) []byte {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte("belfry-return-path-1"))
	mac.Write(id)
	return mac.Sum(nil)[:proofBytes]
}

// message is the id of the message that a text's return path is of; empty: it has none.
func (r *returns) message(text string) string {
	for _, found := range r.path.FindAllStringSubmatch(text, -1) {
		raw, err := sealing.DecodeString(strings.ToUpper(found[1]))
		if err == nil && hmac.Equal(r.proof(raw[:idBytes]), raw[idBytes:]) {
			return hex.EncodeToString(raw[:idBytes])
		}
	}
	return ""
}

// receivers are the headers by which a mail says to whom it was delivered: servers add the
// first ones.
var receivers = []string{"Delivered-To", "X-Original-To", "Envelope-To", "X-Envelope-To", "To"}

// received is the id of the message to whose return path a mail came.
func (r *returns) received(h netmail.Header) string {
	for _, name := range receivers {
		for _, value := range h[textproto.CanonicalMIMEHeaderKey(name)] {
			if id := r.message(value); id != "" {
				return id
			}
		}
	}
	return ""
}

const provider = "smtp"

// Provider returns "smtp".
func (c *Channel) Provider() string { return provider }

// Events reads a mail that came back to a return path of the channel, which is the Body of
// r: a report of a delivery that failed (RFC 3464) has an event for each recipient. Other
// mails, such as an out-of-office reply, have none. One that did not come to a return path
// of this key is refused ([channel.ErrWebhookRefused]), and so are all without
// Options.ReturnPath.
func (c *Channel) Events(r channel.WebhookRequest) ([]channel.StatusEvent, error) {
	if c.returns == nil {
		return nil, fmt.Errorf("%w: smtp: Options.ReturnPath is not set", channel.ErrWebhookRefused)
	}
	m, err := netmail.ReadMessage(bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: smtp: it is not a mail", channel.ErrWebhookRefused)
	}
	id := c.returns.received(m.Header)
	if id == "" {
		return nil, fmt.Errorf("%w: smtp: the mail did not come to a return path of this key", channel.ErrWebhookRefused)
	}
	reports, err := deliveryReports(m)
	if err != nil {
		return nil, err
	}
	var out []channel.StatusEvent
	for _, p := range reports {
		e := channel.StatusEvent{
			Provider: provider, MessageID: id, ProviderMessageID: id + "@" + c.sender.Domain(), Code: p.status,
			Address: channel.PrivateAddress(p.recipient), AddressOnly: true,
		}
		sum := sha256.Sum256([]byte(strings.Join([]string{id, m.Header.Get("Message-Id"), strings.ToLower(p.recipient), p.action, p.status}, "\x1f")))
		e.EventID = hex.EncodeToString(sum[:20])
		out = append(out, p.events(e)...)
	}
	return out, nil
}

// report is what a server says of one recipient.
type report struct {
	recipient string
	action    string // "failed", "delayed", "delivered", "relayed", "expanded"
	status    string // "5.1.1"
}

// events say it of a message, of which the server has said before that it takes it.
func (p report) events(e channel.StatusEvent) []channel.StatusEvent {
	switch p.action {
	case "delivered":
		e.Kind, e.Code = channel.KindDelivered, ""
	case "failed":
		e.Kind = channel.KindFailed
		bounced := e
		bounced.EventID += ":bounced"
		bounced.Kind, bounced.Lasting = channel.KindBounced, slices.Contains(gone, p.status)
		return []channel.StatusEvent{e, bounced}
	default: // a server goes on trying
		e.Kind, e.Code = channel.KindAccepted, ""
	}
	return []channel.StatusEvent{e}
}

var errReport = errors.New("smtp: the report of a delivery cannot be read")

// deliveryReports are those of a mail; none: it is another mail.
func deliveryReports(m *netmail.Message) ([]report, error) {
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/report" || !strings.EqualFold(params["report-type"], "delivery-status") {
		return nil, nil
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, errReport
		}
		switch kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type")); kind {
		case "message/delivery-status", "message/global-delivery-status":
			return readReports(part)
		}
	}
}

// maxReport bounds the fields of a report that are looked at.
const maxReport = 256 << 10

// readReports reads groups of fields: one about the message, and one for each recipient.
func readReports(part *multipart.Part) ([]report, error) {
	body := io.LimitReader(part, maxReport)
	if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	groups := textproto.NewReader(bufio.NewReader(body))
	var out []report
	for {
		fields, err := groups.ReadMIMEHeader()
		if p, ok := reportOf(fields); ok {
			out = append(out, p)
		}
		switch {
		case errors.Is(err, io.EOF), err != nil && len(out) > 0:
			return out, nil
		case err != nil:
			return nil, errReport
		}
	}
}

// reportOf reads the fields about one recipient; those about the message name none.
func reportOf(fields textproto.MIMEHeader) (p report, ok bool) {
	kind, recipient, _ := strings.Cut(fields.Get("Final-Recipient"), ";")
	p.recipient = strings.Trim(strings.TrimSpace(recipient), "<>")
	p.action = strings.ToLower(strings.TrimSpace(fields.Get("Action")))
	p.status = enhanced.FindString(strings.TrimSpace(fields.Get("Status")))
	kind = strings.ToLower(strings.TrimSpace(kind))
	return p, (kind == "rfc822" || kind == "utf-8") && p.recipient != "" && p.action != ""
}
