package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
)

// CheckPush refuses what no channel to devices can send.
func CheckPush(provider string, m channel.Message) error {
	if err := CheckID(provider, m); err != nil {
		return err
	}
	switch {
	case m.To == "" || len(m.To) > maxDevice || strings.ContainsFunc(m.To, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Unsendable(provider, "address", "recipient is not an address of a device").Blame(channel.FaultAddress)
	case m.Template.Name != "":
		return Unsendable(provider, "template", "message names a template, which this channel does not use")
	case len(m.Attachments) > 0:
		return Unsendable(provider, "attachments", "a message with attachments cannot be sent")
	case !m.Mail.IsZero():
		return Unsendable(provider, "mail", "a message with Content.Mail is for e-mail only")
	case m.Subject == "" && m.Text == "":
		return Unsendable(provider, "empty", "message without subject and text")
	}
	if channel.CheckCollapseKey(m.CollapseKey) != nil {
		return Unsendable(provider, "collapse-key", "collapse key is not one that every device takes")
	}
	return nil
}

// maxDevice is longer than the token, or the address, of any device.
const maxDevice = 4096

// Lifetime is for how long a provider may keep m for a device that is out of reach: until
// it is of no use, and at most as long as the provider keeps anything. Whole seconds.
func Lifetime(m channel.Message, most time.Duration) time.Duration {
	if m.ValidUntil.IsZero() {
		return most
	}
	return min(max(m.ValidUntil.Sub(m.On), 0), most).Truncate(time.Second)
}

// Topic is a collapse key as web push takes it: 32 characters of base64url (RFC 8030,
// section 5.4). Equal keys have equal topics.
func Topic(key string) string {
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}
