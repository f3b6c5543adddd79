package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"regexp"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/calls"
	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Mail is what only an e-mail has; other channels refuse a message with any of it. The
// zero value is none. Addresses may have a display name: "Ann Bell <ann@school.example>".
type Mail struct {
	// ReplyTo is where answers go; empty: what the channel says.
	ReplyTo string `json:"replyTo,omitempty"`
	// CC and BCC get a copy, of which the message is one call with one outcome: at most
	// 20 in all, each address once. A gate may leave some of them out, see [Gate]; nobody
	// gets one of a redirected message. They see the recipient's unsubscribe link.
	CC  []string `json:"cc,omitempty"`
	BCC []string `json:"bcc,omitempty"`
	// InReplyTo is the Message-ID of the mail that this one answers, and References
	// those before it, oldest first: without angle brackets. Mails that name the same
	// one in References are a thread, whether a mail has that id or not.
	InReplyTo  string   `json:"inReplyTo,omitempty"`
	References []string `json:"references,omitempty"`
	// Headers are others, of those in [Options].MailHeaders: ASCII, 900 bytes each.
	Headers map[string]string `json:"headers,omitempty"`
}

// maxCopies bounds those who get a mail beside its recipient.
const maxCopies = 20

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

func sizeOf(m Mail) int {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts cannot fail
	}
	return len(text)
}

func (m Mail) checkAddresses() error {
	if m.ReplyTo != "" {
		if a, err := ParseMailbox(m.ReplyTo); err != nil || !printable(a.Address) {
			return errors.New("ReplyTo is no mail address")
		}
	}
	if len(m.CC)+len(m.BCC) > maxCopies {
		return fmt.Errorf("%d copies, more than %d", len(m.CC)+len(m.BCC), maxCopies)
	}
	seen := map[string]bool{}
	for i, text := range slices.Concat(m.CC, m.BCC) {
		a, err := ParseMailbox(text)
		if err != nil {
			return fmt.Errorf("copy %d (CC, then BCC) goes to no mail address", i+1)
		}
		if to := spelling.Folded("email", a.Address); seen[to] {
			return fmt.Errorf("copy %d (CC, then BCC) is the second one to its address", i+1)
		} else {
			seen[to] = true
		}
	}
	return nil
}

var messageID = regexp.MustCompile(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]+@[A-Za-z0-9.:\[\]-]+$`)

func (m Mail) checkThread() error {
	all := m.References
	if m.InReplyTo != "" {
		all = slices.Concat(all, []string{m.InReplyTo})
	}
	size := 0
	for _, id := range all {
		if len(id) > 250 || !messageID.MatchString(id) || encodedWord.MatchString(id) {
			return errors.New("InReplyTo or References holds what is no Message-ID without its angle brackets")
		}
		size += len(id) + len("<> ")
	}
	if size > MaxSubject {
		return fmt.Errorf("InReplyTo and References have %d bytes, more than %d", size, MaxSubject)
	}
	return nil
}

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

// MayBeSet reports whether a message may have a header of that name: it is one, and
// neither made by the transport nor one that has relays send to others.
func MayBeSet(header string) bool { return headerName.MatchString(header) && !isReserved(header) }

// checkHeader does not say a name that is none, which may be anything.
func checkHeader(name, value string) error {
	switch {
	case !headerName.MatchString(name):
		return errors.New("a name among Headers is no name of a header")
	case isReserved(name):
		return fmt.Errorf("%s is not for a message to set", name)
	case value == "" || len(value) > MaxSubject || !printable(value) || encodedWord.MatchString(value):
		return fmt.Errorf("the value of %s is not 1 to %d printable ASCII characters", name, MaxSubject)
	}
	return nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) && strings.TrimSpace(s) == s
}

// usualHeaders may always be set: they say something about a mail, and have nobody do
// anything.
var usualHeaders = []string{"Feedback-ID", "Importance", "Keywords", "List-ID", "Organization", "Precedence", "Priority", "Sensitivity",
	"X-Auto-Response-Suppress", "X-Entity-Ref-ID", "X-Priority"}

// checkMailHeaders panics on what Options cannot allow.
func checkMailHeaders(names []string) {
	for _, name := range names {
		if !MayBeSet(name) {
			panic(fmt.Sprintf("notify: New: MailHeaders: %.40q is not for a message to set", name))
		}
	}
}

// allowed refuses headers that the host has not allowed.
func (n *core) allowed(c Content) error {
	for name := range c.Mail.Headers {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(usualHeaders, same) && !slices.ContainsFunc(n.options.MailHeaders, same) {
			return fmt.Errorf("%w: mail headers: %.60q is not among Options.MailHeaders", ErrContent, name)
		}
	}
	return nil
}

// ParseMailbox reads a mail address with or without a display name, and brings the
// address into its one spelling. The error holds nothing of it. Mail channels use it.
func ParseMailbox(text string) (netmail.Address, error) {
	if strings.ContainsAny(text, "\r\n\x00") || encodedWord.MatchString(text) || len(text) > MaxSubject {
		return netmail.Address{}, spelling.ErrUnusable
	}
	a, err := netmail.ParseAddress(text)
	if err != nil || len(a.Address) > 254 || strings.ContainsAny(a.Name, "\r\n\x00") {
		return netmail.Address{}, spelling.ErrUnusable
	}
	if a.Address, err = spelling.Of("email", a.Address); err != nil {
		return netmail.Address{}, spelling.ErrUnusable
	}
	return *a, nil
}

// keepCopies leaves out the copies whose address is not wanted.
func keepCopies(m Mail, wanted func(address string) bool) Mail {
	drop := func(text string) bool {
		a, err := ParseMailbox(text)
		return err != nil || !wanted(a.Address)
	}
	m.CC = slices.DeleteFunc(slices.Clone(m.CC), drop)
	m.BCC = slices.DeleteFunc(slices.Clone(m.BCC), drop)
	return m
}

// copiesOf are the addresses that get one.
func copiesOf(m Mail) (out []string) {
	keepCopies(m, func(address string) bool { out = append(out, address); return true })
	return out
}

// letters are the mail parts of messages as they go out.
type letters map[*messageRow]Mail

// wish is one copy that a message is to have, as long as no gate is against it.
type wish struct {
	it      sending
	address string
}

// askCopies asks the gates about those who get a copy, each as an attempt of its own
// that counts nothing: whom a gate skips or redirects gets none. The recipient of the
// message gets no copy, and nobody one of a redirected message.
func (n sender) askCopies(ctx context.Context, items []sending, p parcel) ([]sending, letters) {
	wishes := wishesOf(items, p.to)
	for _, g := range n.gates {
		if len(wishes) == 0 {
			break
		}
		var err error
		if wishes, err = n.granted(ctx, g, wishes); err != nil {
			items = n.withoutCopies(ctx, items)
			return items, lettersOf(items, nil)
		}
	}
	return items, lettersOf(items, wishes)
}

// wishesOf are the copies that messages name, but for those of redirected ones.
func wishesOf(items []sending, to redirects) (wishes []wish) {
	for _, it := range items {
		if to[it.Row] != "" {
			continue
		}
		for _, address := range copiesOf(it.Row.Content.Mail) {
			if spelling.Folded("email", address) != spelling.Folded("email", it.Row.Address) {
				wishes = append(wishes, wish{it, address})
			}
		}
	}
	return wishes
}

// granted are the copies that a gate is not against.
func (n sender) granted(ctx context.Context, g Gate, wishes []wish) (out []wish, err error) {
	verdicts, err := n.askAbout(ctx, g, wishes, calls.Gate)
	for i, v := range verdicts {
		if err == nil && !v.deniesCopy() {
			out = append(out, wishes[i])
		}
	}
	return out, err
}

// asks is how a gate is asked.
type asks func(ctx context.Context, log *slog.Logger, gate any, attempts []Attempt, ask func(context.Context, []Attempt) ([]Verdict, error), known func(Verdict) bool) ([]Verdict, error)

// askAbout asks a gate about copies.
func (n sender) askAbout(ctx context.Context, g Gate, wishes []wish, how asks) ([]Verdict, error) {
	attempts := make([]Attempt, len(wishes))
	for i, w := range wishes {
		attempts[i] = n.copyAttempt(w.it.Row, w.address)
	}
	return how(ctx, n.options.Logger, g, attempts, g.Ask, Verdict.known)
}

// deniesCopy reports whether a gate's word about a copy means that there is none.
func (v Verdict) deniesCopy() bool { return v.Action == ActionSkip || v.To != "" }

// withoutCopies settles the messages that have copies, about which a gate has not
// answered, and returns the others.
func (n sender) withoutCopies(ctx context.Context, items []sending) (open []sending) {
	for _, it := range items {
		switch m := it.Row.Content.Mail; {
		case len(m.CC)+len(m.BCC) == 0:
			open = append(open, it)
		case it.Ctx.Err() != nil || ctx.Err() != nil:
			it.Row.released(driver.Now(n.store))
		default:
			it.Row.unasked(driver.Now(n.store), ReasonGateFailed)
		}
	}
	return open
}

// lettersOf are the mail parts with the copies that are left.
func lettersOf(items []sending, granted []wish) letters {
	out := letters{}
	wanted := map[*messageRow][]string{}
	for _, w := range granted {
		wanted[w.it.Row] = append(wanted[w.it.Row], w.address)
	}
	for _, it := range items {
		if mail := it.Row.Content.Mail; !mail.IsZero() {
			out[it.Row] = keepCopies(mail, func(address string) bool { return slices.Contains(wanted[it.Row], address) })
		}
	}
	return out
}

// copyAttempt is a copy of m to address. Whoever gets one has asked for nothing.
func (n sender) copyAttempt(m *messageRow, address string) Attempt {
	a := n.attempt(m)
	a.RecipientRef, a.RecipientHash, a.Address = "", n.recipientHash("", m.Method, address), address
	a.Requested, a.DryRun = false, true
	return a
}

// ofCopy reports whether an event is about somebody who got a copy of the message, with
// its last call or an earlier one.
func (n tracker) ofCopy(m *messageRow, e *deliveryEvent) bool {
	return !m.Redirected && (m.Copies > 0 || m.Calls > 1) && e.AddressHash != "" && !slices.Contains(n.addressHashes("email", m.Address), e.AddressHash)
}

// ofRecipients makes of events about copies that the provider has the mail, which is all
// that they say of the message.
func (n tracker) ofRecipients(events []*deliveryEvent, found map[*deliveryEvent]*messageRow) ([]*deliveryEvent, map[*deliveryEvent]*messageRow) {
	out, of := make([]*deliveryEvent, len(events)), make(map[*deliveryEvent]*messageRow, len(events))
	for i, e := range events {
		if n.ofCopy(found[e], e) {
			accepted := *e
			accepted.StatusKind = KindAccepted
			out[i] = &accepted
		} else {
			out[i] = e
		}
		of[out[i]] = found[e]
	}
	return out, of
}

// suppressCopies suppresses what events say of the addresses of copies.
func (n tracker) suppressCopies(ctx context.Context, tx storage.Tx, events []*deliveryEvent, found map[*deliveryEvent]*messageRow) error {
	var rows []*suppressionRow
	for _, e := range events {
		if m, r := found[e], e.suppresses(); r != "" && n.ofCopy(m, e) && m.Method == "email" {
			row := n.suppression(m.Scope, Destination{m.Method, m.Address}, r, e.On, e.Kind, m.MessageID)
			row.AddressHash, row.Key = e.AddressHash, suppressionKey(e.AddressHash, r)
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := suppressions.Ensure(ctx, tx, renew, rows...)
	return err
}
