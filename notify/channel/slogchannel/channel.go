package slogchannel

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/belfry-go/belfry/internal/spelling"
	"github.com/belfry-go/belfry/notify/channel"
)

var _ channel.Channel = (*Channel)(nil)

// Channel writes messages to a logger. It is safe for several goroutines.
type Channel struct {
	key    string
	logger *slog.Logger
	level  slog.Level
	// to and content add what Options ask for. They are functions, so that no
	// printed channel shows the key.
	to, content func(channel.Message) []slog.Attr
}

// Options are the settings of a Channel; nil means all defaults.
type Options struct {
	// Key is the key of the channel; empty means "email:slog". What stands before
	// the colon says which addresses it takes: "sms:slog" takes phone numbers.
	Key string
	// Level is that of the records; zero means slog.LevelInfo.
	Level slog.Level
	// HashKey adds a hash of the address, by which records to one recipient are
	// found: random bytes, since without them a phone number is found by trying
	// all. Empty: no hash.
	HashKey []byte
	// Unredacted adds addresses, names and texts. It is for a developer's own
	// machine.
	Unredacted bool
}

// New returns a channel that writes to logger; nil means slog.Default().
func New(logger *slog.Logger, opts *Options) *Channel {
	o := *cmp.Or(opts, new(Options))
	c := &Channel{key: cmp.Or(o.Key, "email:slog"), logger: logger, level: o.Level, to: nothing, content: nothing}
	if c.logger == nil {
		c.logger = slog.Default()
	}
	if len(o.HashKey) > 0 {
		c.to = hashed(o.HashKey)
	}
	if o.Unredacted {
		c.content = content
	}
	return c
}

// Key returns "email:slog", or what Options.Key says.
func (c *Channel) Key() string { return c.key }

// Capabilities are all that mails have.
func (c *Channel) Capabilities() channel.Capabilities {
	return channel.Capabilities{Attachments: true, Mail: true}
}

// Send writes the record and returns the message id as the receipt. Its only error
// is a context that has ended, with which nothing is written.
func (c *Channel) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channel.Receipt{}, channel.Transient("context", 0, err)
	}
	attrs := append(sizes(m), c.to(m)...)
	c.logger.LogAttrs(ctx, c.level, "belfry: message", append(attrs, c.content(m)...)...)
	return channel.Receipt{ID: m.ID}, nil
}

// sizes say which message it is, and nothing personal.
func sizes(m channel.Message) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("message", m.ID), slog.String("channel", m.Channel), slog.Int("attempt", m.Attempt),
		slog.Int("subject_bytes", len(m.Subject)), slog.Int("text_bytes", len(m.Text)), slog.Int("html_bytes", len(m.HTML)),
	}
	if m.Locale != "" {
		attrs = append(attrs, slog.String("locale", m.Locale))
	}
	if m.Template.Name != "" {
		attrs = append(attrs, slog.String("template", m.Template.Name))
	}
	if len(m.Attachments) > 0 {
		size := 0
		for _, a := range m.Attachments {
			size += len(a.Data)
		}
		attrs = append(attrs, slog.Int("attachments", len(m.Attachments)), slog.Int("attachment_bytes", size))
	}
	if copies := len(m.Mail.CC) + len(m.Mail.BCC); copies > 0 {
		attrs = append(attrs, slog.Int("copies", copies))
	}
	return attrs
}

func nothing(channel.Message) []slog.Attr { return nil }

func hashed(key []byte) func(channel.Message) []slog.Attr {
	return func(m channel.Message) []slog.Attr {
		return []slog.Attr{slog.String("to_hash", spelling.Hash(key, "", channel.Method(m.Channel), m.To))}
	}
}

func content(m channel.Message) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("to", m.To), slog.String("name", m.Name),
		slog.String("subject", m.Subject), slog.String("text", m.Text), slog.String("html", m.HTML),
	}
	if len(m.Template.Params) > 0 {
		attrs = append(attrs, slog.Any("params", m.Template.Params))
	}
	for _, a := range m.Attachments {
		attrs = append(attrs, slog.String("attachment", a.Name))
	}
	return attrs
}
