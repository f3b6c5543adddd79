package smtp

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/notify/channel"
)

var returnKey = []byte("0123456789abcdef0123456789abcdef")

// returning makes a channel whose mails come back.
func returning(t *testing.T, addr string, key []byte) *Channel {
	t.Helper()
	return open(t, addr, &Options{TLS: NoTLS, ReturnPath: &ReturnPath{Address: "bounces@mail.school.example", Key: key}})
}

// Each message has a return path of its own, the same at each call. It is short enough for
// every server. What is not a message of a notifier's comes from the sender.
func TestEachMessageHasItsReturnPath(t *testing.T) {
	t.Parallel()
	s := serve(t, &server{})
	c := returning(t, s.addr, returnKey)
	again, other, foreign := message(), message(), message()
	other.ID, foreign.ID = strings.Repeat("f", 32), "5f1d"
	for _, m := range []channel.Message{message(), again, other, foreign} {
		send(t, c, m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var from []string
	for _, line := range s.commands {
		if path, ok := strings.CutPrefix(line, "MAIL FROM:<"); ok {
			path, _, _ = strings.Cut(path, ">")
			from = append(from, path)
		}
	}
	if len(from) != 4 || from[0] != from[1] || from[0] == from[2] || from[3] != "office@school.example" {
		t.Fatalf("%q", from)
	}
	for _, path := range from[:3] {
		local, _, _ := strings.Cut(path, "@")
		if len(local) > 64 || !regexp.MustCompile(`^bounces\+[a-z2-7]{42}@mail\.school\.example$`).MatchString(path) {
			t.Errorf("%s has %d octets before its at sign", path, len(local))
		}
	}
	if strings.Contains(strings.Join(s.mails, ""), "bounces+") {
		t.Error("the mail itself names its return path")
	}
}

func TestAReturnPathThatCannotBeUsedIsNamed(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]ReturnPath{
		"is not a mail address":    {Address: "bounces", Key: returnKey},
		"ReturnPath.Address":       {Address: "Bounces <bounces@school.example>", Key: returnKey},
		"at most 21 plain octets":  {Address: "returned-mail-of-school@school.example", Key: returnKey},
		"not a mail address":       {Address: `"a b"@school.example`, Key: returnKey},
		"Punycode":                 {Address: "bounces@bücher.example", Key: returnKey},
		"ReturnPath.Key needs 32 ": {Address: "bounces@school.example", Key: returnKey[:15]},
	} {
		if _, err := New("mail.example", &Options{From: "office@school.example", ReturnPath: &p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// returned is a report about recipients, as Postfix writes it; each of them is the fields of
// a group.
func returned(to string, recipients ...string) string {
	return strings.ReplaceAll(`Return-Path: <>
From: MAILER-DAEMON@mx.example (Mail Delivery System)
Subject: Undelivered Mail Returned to Sender
To: `+to+`
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b1"
Message-Id: <20260301080005.ABC@mx.example>

--b1
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

This is the mail system. canary@canary.example could not be reached.

--b1
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example
X-Postfix-Sender: rfc822; office@school.example
Arrival-Date: Sun,  1 Mar 2026 08:00:00 +0000 (UTC)

`+strings.Join(recipients, "\n\n")+`

--b1
Content-Type: message/rfc822

From: office@school.example
To: canary@canary.example
Subject: canary

canary
--b1--
`, "\n", "\r\n")
}

func recipient(address, action, status string) string {
	return "Final-Recipient: rfc822; " + address + "\nOriginal-Recipient: rfc822;elsewhere@canary.example\nAction: " + action + "\nStatus: " + status +
		"\nRemote-MTA: dns; mx.example\nDiagnostic-Code: smtp; 550 " + status + " <" + address + ">:\n    User unknown"
}

// told is an event without its ids.
type told struct {
	Kind    channel.StatusKind
	Address string
	Code    string
	Lasting bool
}

func TestAMailThatCameBackIsRead(t *testing.T) {
	t.Parallel()
	c := returning(t, "127.0.0.1:1", returnKey)
	path, _ := c.returns.of(id)
	const failed, bounced, accepted = channel.KindFailed, channel.KindBounced, channel.KindAccepted
	sam, kim := "sam@example.com", "kim@example.com"
	hard := returned(path, recipient(sam, "failed", "5.1.1"))
	for name, tt := range map[string]struct {
		raw  string
		want []told
	}{
		"no such mailbox":     {hard, []told{{failed, sam, "5.1.1", false}, {bounced, sam, "5.1.1", true}}},
		"a full mailbox":      {returned(path, recipient(sam, "failed", "5.2.2")), []told{{failed, sam, "5.2.2", false}, {bounced, sam, "5.2.2", false}}},
		"a policy":            {returned(path, recipient(sam, "failed", "5.7.1 (blocked)")), []told{{failed, sam, "5.7.1", false}, {bounced, sam, "5.7.1", false}}},
		"after days of tries": {returned(path, recipient(sam, "failed", "4.4.7")), []told{{failed, sam, "4.4.7", false}, {bounced, sam, "4.4.7", false}}},
		"an odd status":       {returned(path, recipient(sam, "failed", "unknown")), []told{{failed, sam, "", false}, {bounced, sam, "", false}}},
		"delayed":             {returned(path, recipient(sam, "delayed", "4.4.1")), []told{{accepted, sam, "", false}}},
		"delivered":           {returned(path, recipient(sam, "Delivered", "2.0.0")), []told{{channel.KindDelivered, sam, "", false}}},
		"relayed":             {returned(path, recipient(sam, "relayed", "2.0.0")), []told{{accepted, sam, "", false}}},
		"two recipients": {returned(path, recipient("<"+sam+">", "failed", "5.1.1"), recipient(kim, "delayed", "4.4.1")), []told{
			{failed, sam, "5.1.1", false}, {bounced, sam, "5.1.1", true}, {accepted, kim, "", false},
		}},
		"an address in UTF-8":       {strings.ReplaceAll(strings.ReplaceAll(hard, "rfc822; "+sam, "utf-8; jörg@example.com"), "message/delivery", "message/global-delivery"), []told{{failed, "jörg@example.com", "5.1.1", false}, {bounced, "jörg@example.com", "5.1.1", true}}},
		"a telephone number":        {strings.ReplaceAll(hard, "rfc822; "+sam, "x400; /C=DE/"), nil},
		"in upper case":             {strings.ReplaceAll(hard, path, strings.ToUpper(path)), []told{{failed, sam, "5.1.1", false}, {bounced, sam, "5.1.1", true}}},
		"by the server's header":    {strings.Replace(strings.ReplaceAll(hard, path, "undisclosed-recipients:;"), "Return-Path: <>", "Delivered-To: "+strings.Trim(path, "<>"), 1), []told{{failed, sam, "5.1.1", false}, {bounced, sam, "5.1.1", true}}},
		"out of office":             {"To: " + path + "\r\nSubject: I am away\r\n\r\ncanary\r\n", nil},
		"a complaint":               {strings.ReplaceAll(hard, "report-type=delivery-status", "report-type=feedback-report"), nil},
		"a report without a report": {strings.ReplaceAll(hard, "message/delivery-status", "text/plain"), nil},
		"an odd line at the end":    {strings.ReplaceAll(hard, "    User unknown", "    User unknown\r\n\r\n: odd"), []told{{failed, sam, "5.1.1", false}, {bounced, sam, "5.1.1", true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := c.Events(channel.WebhookRequest{Body: []byte(tt.raw)})
			if err != nil {
				t.Fatal(err)
			}
			var got []told
			for _, e := range events {
				got = append(got, told{e.Kind, string(e.Address), e.Code, e.Lasting})
				if e.MessageID != id || e.ProviderMessageID != id+"@school.example" || e.Provider != "smtp" || !e.AddressOnly || e.EventID == "" {
					t.Errorf("%#v", e)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(fmt.Sprint(events), "canary") || strings.Contains(fmt.Sprint(events), sam) {
				t.Error("an event shows an address")
			}
			again, err := c.Events(channel.WebhookRequest{Body: []byte(tt.raw)})
			if diff := cmp.Diff(events, again); diff != "" || err != nil {
				t.Errorf("delivered again: %v %s", err, diff)
			}
		})
	}
}

// Only with the key can it be said that a mail came back.
func TestAForgedReturnIsRefused(t *testing.T) {
	t.Parallel()
	c := returning(t, "127.0.0.1:1", returnKey)
	path, _ := c.returns.of(id)
	others, _ := returning(t, "127.0.0.1:1", []byte("fedcba9876543210")).returns.of(id)
	report := recipient("sam@example.com", "failed", "5.1.1")
	for name, raw := range map[string]string{
		"another key":     returned(others, report),
		"no return path":  returned("office@school.example", report),
		"another message": returned(strings.Replace(path, path[9:12], "aaa", 1), report),
		"another domain":  returned(strings.ReplaceAll(path, "mail.school.example", "mail.school.example.org"), report),
		"longer":          returned(strings.ReplaceAll(path, "<bounces", "<x.bounces"), report),
		"in its text":     strings.ReplaceAll(returned("office@school.example", report), "could not be reached", path),
		"nothing":         "",
		"not a mail":      "\x00\x01",
	} {
		if events, err := c.Events(channel.WebhookRequest{Body: []byte(raw)}); !errors.Is(err, channel.ErrWebhookRefused) || len(events) > 0 {
			t.Errorf("%s: %v, %v", name, events, err)
		}
	}
	if _, err := open(t, "127.0.0.1:1", nil).Events(channel.WebhookRequest{Body: []byte(returned(path, report))}); !errors.Is(err, channel.ErrWebhookRefused) {
		t.Errorf("without a return path: %v", err)
	}
	for name, raw := range map[string]string{
		"no boundary":   strings.ReplaceAll(returned(path, report), `; boundary="b1"`, ""),
		"no fields":     strings.ReplaceAll(returned(path, report), "Reporting-MTA: dns; mx.example\r\n", ": \r\n"),
		"cut in a part": returned(path, report)[:700],
	} {
		if events, err := c.Events(channel.WebhookRequest{Body: []byte(raw)}); err == nil && len(events) > 0 || errors.Is(err, channel.ErrWebhookRefused) {
			t.Errorf("%s: %v, %v", name, events, err)
		}
	}
}

// Whatever comes to a return path is read without a panic, and names its message.
func FuzzReturned(f *testing.F) {
	c, err := New("mail.example", &Options{From: "office@school.example", ReturnPath: &ReturnPath{Address: "bounces@mail.school.example", Key: returnKey}})
	if err != nil {
		f.Fatal(err)
	}
	path, _ := c.returns.of(id)
	f.Add("multipart/report; report-type=delivery-status; boundary=b", "--b\r\nContent-Type: message/delivery-status\r\n\r\n"+recipient("sam@example.com", "failed", "5.1.1")+"\r\n--b--\r\n")
	f.Add("text/plain", "I am away")
	f.Fuzz(func(t *testing.T, kind, body string) {
		events, err := c.Events(channel.WebhookRequest{Body: []byte("To: " + path + "\r\nContent-Type: " + kind + "\r\n\r\n" + body)})
		for _, e := range events {
			if err != nil || e.MessageID != id || e.Address == "" || e.Kind == "" {
				t.Errorf("%#v, %v", e, err)
			}
		}
	})
}
