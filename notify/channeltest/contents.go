package channeltest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/belfry-go/belfry/notify/channel"
)

// contents are what a message can hold.
var contents = []check{
	{"right to left and emoji", func(tr *trial) {
		m := tr.message(0)
		m.Text = "مرحبا سام، שלום 👩🏽‍🎓 \u202bתעודה\u202c 📅 Ünïcode"
		m.Name, m.Subject = "سام 👋🏽", "شهادتك 📜"
		tr.is(tr.send(tr.t.Context(), m), accepted)
		if all := tr.server.seen(); len(all) != 1 || !strings.Contains(all[0].text, m.Text) {
			tr.t.Errorf("the recipient reads %q, want %q", all, m.Text)
		}
	}},
	{"five megabytes", func(tr *trial) {
		m := tr.message(0)
		m.Text = strings.Repeat("ten bytes ", 5<<20/10)
		e := tr.send(tr.t.Context(), m)
		if all := tr.server.seen(); len(all) > 1 {
			tr.t.Errorf("%d requests that could deliver", len(all))
		}
		if e == nil {
			if all := tr.server.seen(); len(all) != 1 || !strings.Contains(all[0].text, m.Text) {
				tr.t.Error("it was accepted, but did not arrive as a whole")
			}
			return
		}
		tr.is(e, channel.ClassPermanent)
		tr.blames(e, channel.FaultMessage, "")
	}},
	{"line breaks in fields", injections},
	{"concurrent", func(tr *trial) {
		const workers, each = 8, 4
		var all sync.WaitGroup
		errs := make(chan error, workers*each)
		for w := range workers {
			all.Go(func() {
				for n := range each {
					if _, err := tr.channel.Send(tr.t.Context(), tr.message(w*each+n)); err != nil {
						errs <- err
					}
				}
			})
		}
		all.Wait()
		close(errs)
		for err := range errs {
			tr.t.Error(err)
		}
		tr.requests(workers * each)
		for n := range workers * each {
			if got := tr.delivered(tr.message(n).Text); got != 1 {
				tr.t.Errorf("message %d was delivered %d times", n, got)
			}
		}
	}},
	{"printed", func(tr *trial) {
		for _, verb := range []string{"%v", "%+v", "%#v"} {
			printed := fmt.Sprintf(verb, tr.channel)
			for _, secret := range tr.h.Secrets {
				if strings.Contains(printed, secret) {
					tr.t.Errorf("%s shows %q", verb, secret)
				}
			}
		}
	}},
}

func (tr *trial) delivered(text string) (n int) {
	for _, d := range tr.server.seen() {
		if strings.Contains(d.text, text) {
			n++
		}
	}
	return n
}

// fields are those of a message that end in a header, an address or a parameter
// somewhere. mail says that they are headers of every mail.
var fields = []struct {
	name string
	mail bool
	of   func(*channel.Message) *string
}{
	{"ID", true, func(m *channel.Message) *string { return &m.ID }},
	{"To", true, func(m *channel.Message) *string { return &m.To }},
	{"Name", true, func(m *channel.Message) *string { return &m.Name }},
	{"Subject", true, func(m *channel.Message) *string { return &m.Subject }},
	{"UnsubscribeURL", true, func(m *channel.Message) *string { return &m.UnsubscribeURL }},
	{"Mail.ReplyTo", true, func(m *channel.Message) *string { return &m.Mail.ReplyTo }},
	{"Mail.InReplyTo", true, func(m *channel.Message) *string { return &m.Mail.InReplyTo }},
	{"Locale", false, func(m *channel.Message) *string { return &m.Locale }},
	{"Template.Name", false, func(m *channel.Message) *string { return &m.Template.Name }},
}

// injections end a field with a line break and a header. Mails refuse them, since
// what they become is up to the provider; others never make a header of them.
func injections(tr *trial) {
	mail := channel.Method(tr.channel.Key()) == "email"
	for n, f := range fields {
		m := tr.message(n)
		*f.of(&m) += "\r\nX-Injected: 1"
		before := len(tr.server.seen())
		e := tr.send(tr.t.Context(), m)
		if e != nil {
			tr.is(e, channel.ClassPermanent)
		}
		after := tr.server.seen()[before:]
		if mail && f.mail && (e == nil || len(after) > 0) {
			tr.t.Errorf("%s: a mail with a line break in it was sent", f.name)
		}
		for _, d := range after {
			if d.header.Get("X-Injected") != "" {
				tr.t.Errorf("%s makes a header of the request", f.name)
			}
		}
	}
}
