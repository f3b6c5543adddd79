package mail_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/channel/internal/mail"
)

func TestContentThatMakesNoMailIsPermanent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code   string
		change func(*channel.Message)
	}{
		"header in the subject":        {"header", func(m *channel.Message) { m.Subject = "canary\r\nBcc: eve@example.com" }},
		"line feed in the subject":     {"header", func(m *channel.Message) { m.Subject = "canary\nX: y" }},
		"NUL in the subject":           {"header", func(m *channel.Message) { m.Subject = "canary\x00" }},
		"header in the name":           {"header", func(m *channel.Message) { m.Name = "canary\rBcc: eve@example.com" }},
		"encoded line break in a name": {"header", func(m *channel.Message) { m.Name = "=?utf-8?q?canary=0D=0ABcc?=" }},
		"subject that is not UTF-8":    {"header", func(m *channel.Message) { m.Subject = "canary\xff" }},
		"subject without end":          {"header", func(m *channel.Message) { m.Subject = strings.Repeat("canary", 151) }},
		"header in the address":        {"address", func(m *channel.Message) { m.To = "canary@example.com\r\nBcc: eve@example.com" }},
		"two addresses":                {"address", func(m *channel.Message) { m.To = "canary@example.com, eve@example.com" }},
		"address with a name":          {"address", func(m *channel.Message) { m.To = "Sam <canary@example.com>" }},
		"address with a parameter":     {"address", func(m *channel.Message) { m.To = "canary@example.com> NOTIFY=NEVER" }},
		"address with a NUL":           {"address", func(m *channel.Message) { m.To = "\"canary\x00\"@example.com" }},
		"no address":                   {"address", func(m *channel.Message) { m.To = "canary" }},
		"empty address":                {"address", func(m *channel.Message) { m.To = "" }},
		"address without end":          {"address", func(m *channel.Message) { m.To = strings.Repeat("canary", 50) + "@example.com" }},
		"path as id":                   {"id", func(m *channel.Message) { m.ID = "../canary" }},
		"header in the id":             {"id", func(m *channel.Message) { m.ID = "canary>\r\nBcc: eve@example.com" }},
		"id in upper case":             {"id", func(m *channel.Message) { m.ID = "CANARY" }},
		"empty id":                     {"id", func(m *channel.Message) { m.ID = "" }},
		"no date":                      {"date", func(m *channel.Message) { m.On = time.Time{} }},
		"text of a provider":           {"template", func(m *channel.Message) { m.Template.Name = "d-canary" }},
		"nothing to say":               {"empty", func(m *channel.Message) { m.Subject, m.Text, m.HTML = "", "", "" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := message()
			c.change(&m)
			_, err := sender(t).Build(m)
			var refused *channel.Error
			if !errors.As(err, &refused) || refused.Class != channel.ClassPermanent || refused.Code != c.code {
				t.Fatalf("got %v, want Permanent %s", err, c.code)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error quotes the message: %v", err)
			}
		})
	}
}

func TestSenderThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, replyTo, option string }{
		"no From":               {"", "", "From"},
		"From without address":  {"School", "", "From"},
		"header in From":        {"School\r\nBcc: x <office@school.example>", "", "From"},
		"encoded break in From": {`"=?utf-8?q?=3D=3Fa=3Fq=3F=0A=3F=3D?=" <office@school.example>`, "", "From"},
		"domain not ASCII":      {"office@schüle.example", "", "From"},
		"bad ReplyTo":           {"office@school.example", "nobody", "ReplyTo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mail.NewSender(c.from, c.replyTo)
			if err == nil || !strings.Contains(err.Error(), c.option) {
				t.Errorf("got %v, want an error about %s", err, c.option)
			}
		})
	}
}
