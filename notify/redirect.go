package notify

import (
	"context"
	"errors"
	"fmt"
	"html"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/notify/channel"
)

// Redirect is a mail channel for a staging system: all its mails go to one address, and
// show it. The subject begins with whom the mail was for, the header
// X-Belfry-Redirected says that it was redirected; copies are left out, and so is the
// link that would unsubscribe the recipient. Rows, gates and inboxes know the recipient as ever; what
// becomes of the mail suppresses no address.
//
// Keys, capabilities, look-ups, idempotency and bounds are those of c; mails go one by
// one. It panics on a channel of
// another method than "email", on a chain (redirect its channels), and on an address
// that is none. Where only some recipients are allowed, see package gate's Guard.
func Redirect(to string, c channel.Channel) channel.Channel {
	clean, err := channel.NormaliseAddress("email", to)
	switch _, chain := c.(*failover); {
	case c == nil || channel.Method(c.Key()) != "email":
		panic("notify: Redirect: the channel is not for e-mail")
	case chain:
		panic(fmt.Sprintf("notify: Redirect: %q is a chain; redirect its channels", c.Key()))
	case err != nil:
		panic("notify: Redirect: the address is not a mail address")
	}
	r := &redirected{Channel: c, to: clean}
	if lookup, ok := c.(channel.StatusLookup); ok {
		return &askable{r, lookup}
	}
	return r
}

// redirected sends every mail to one address.
type redirected struct {
	channel.Channel
	to string
}

// askable is a redirected channel that can be asked.
type askable struct {
	*redirected
	lookup channel.StatusLookup
}

// elsewhere marks a channel whose messages do not reach their recipients.
func (*redirected) elsewhere() {}

func goesElsewhere(c channel.Channel) bool {
	_, ok := c.(interface{ elsewhere() })
	return ok
}

// Send sends m to the one address.
func (r *redirected) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	receipt, err := r.Channel.Send(ctx, r.of(m))
	var e *channel.Error
	if errors.As(err, &e) && e.Suppress != "" { // it speaks of another address
		spared := *e
		spared.Suppress = ""
		return receipt, &spared
	}
	return receipt, err
}

// of is m as it goes out.
func (r *redirected) of(m channel.Message) channel.Message {
	m.Subject = shortened("["+m.To+"] "+m.Subject, channel.MaxSubject)
	if m.UnsubscribeURL != "" {
		m.Text = strings.ReplaceAll(m.Text, m.UnsubscribeURL, "")
		m.HTML = strings.ReplaceAll(m.HTML, html.EscapeString(m.UnsubscribeURL), "")
	}
	m.To, m.UnsubscribeURL = r.to, ""
	m.Mail.CC, m.Mail.BCC = nil, nil
	headers := map[string]string{"X-Belfry-Redirected": "yes"}
	for name, value := range m.Mail.Headers {
		headers[name] = value
	}
	m.Mail.Headers = headers
	return m
}

// shortened is text of at most so many bytes, and whole characters.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[:limit]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return strings.TrimSpace(text)
}

// IdempotencyWindow is the channel's, or none.
func (r *redirected) IdempotencyWindow() time.Duration {
	if s, ok := r.Channel.(channel.IdempotentSend); ok {
		return s.IdempotencyWindow()
	}
	return 0
}

// MaxCalls is the channel's bound, or none.
func (r *redirected) MaxCalls() int {
	if b, ok := r.Channel.(channel.Bounded); ok {
		return b.MaxCalls()
	}
	return math.MaxInt
}

// Capabilities are the channel's.
func (r *redirected) Capabilities() channel.Capabilities { return channel.CapabilitiesOf(r.Channel) }

// ReportedBy is the channel's provider.
func (r *redirected) ReportedBy() string {
	if p, ok := r.Channel.(Reported); ok {
		return p.ReportedBy()
	}
	return transport(r.Key())
}

// LookupWindow is the channel's.
func (a *askable) LookupWindow() time.Duration { return a.lookup.LookupWindow() }

// Lookup asks about a mail as it went out.
func (a *askable) Lookup(ctx context.Context, m channel.Message) (channel.LookupResult, error) {
	return a.lookup.Lookup(ctx, a.of(m))
}
