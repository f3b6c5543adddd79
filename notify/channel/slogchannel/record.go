package slogchannel

import (
	"log/slog"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
)

// sizes say which message it is, and nothing personal.
func sizes(m notify.Message) []slog.Attr {
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
	return attrs
}

func nothing(notify.Message) []slog.Attr { return nil }

func hashed(key []byte) func(notify.Message) []slog.Attr {
	return func(m notify.Message) []slog.Attr {
		return []slog.Attr{slog.String("to_hash", keys.RecipientHash(key, "", notify.Method(m.Channel), m.To))}
	}
}

func content(m notify.Message) []slog.Attr {
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
