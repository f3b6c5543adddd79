package notify_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel/smtp"
	"github.com/belfry-go/belfry/storage"
)

// A mail server takes a mail, finds that there is no such mailbox, and sends a report to the
// mail's return path. The host's server for that domain hands each mail that it gets to
// Bounced: by LMTP, by a pipe ("belfry-bounces unix - n n - - pipe" in Postfix), or as a
// mailbox that is read from time to time.
func ExampleNotifier_Bounced() {
	ctx := context.Background()
	store, _ := newStore()
	relay := newRelay()
	mails, err := smtp.New(relay.Addr().String(), &smtp.Options{
		From: "School <office@school.example>", TLS: smtp.NoTLS,
		ReturnPath: &smtp.ReturnPath{Address: "bounces@mail.school.example", Key: []byte("32 random bytes from the secrets")},
	})
	orPanic(err)
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "Your visit"}})
	job := notify.Job{
		Type: "visit", PartitionKey: "visit-7", RowKey: "made",
		Recipients: []notify.Recipient{{Ref: "17", Channel: mails.Key(), Address: "sam@example.com"}},
	}
	_, err = out.Notify(ctx, job)
	orPanic(err)
	orPanic(belfry.NewPoller(store, nil, out).Drain(ctx))

	raw := cameBack(<-relay.from)
	for range 2 { // mail servers deliver again
		report, err := out.Bounced(ctx, raw)
		fmt.Println(report.Applied, report.Repeated, err)
	}
	messages, _, err := out.Support().Messages(ctx, "", "made", storage.Page{})
	fmt.Println(messages[0].Status, messages[0].ReasonCode, err)
	suppressed, _, err := out.Contacts().Suppressed(ctx, "", storage.Page{})
	fmt.Println(len(suppressed), suppressed[0].Reason, suppressed[0].Source, err)
	_, err = out.Bounced(ctx, cameBack("bounces@mail.school.example"))
	fmt.Println(err)
	// Output:
	// 2 0 <nil>
	// 0 2 <nil>
	// FailedFinal 5.1.1 <nil>
	// 1 HardBounce smtp <nil>
	// channel: webhook refused
}

// cameBack is what the other server writes to a return path (RFC 3464).
func cameBack(path string) []byte {
	return []byte(`From: MAILER-DAEMON@mx.example.com
To: <` + path + `>
Subject: Undelivered Mail Returned to Sender
Content-Type: multipart/report; report-type=delivery-status; boundary="b"
Message-ID: <1@mx.example.com>

--b
Content-Type: text/plain

I am sorry to have to inform you that your message could not be delivered.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.com

Final-Recipient: rfc822; sam@example.com
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 no such user

--b--
`)
}

// relay is a mail server that takes everything, and says from whom.
type relay struct {
	net.Listener
	from chan string
}

func newRelay() relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	orPanic(err)
	r := relay{l, make(chan string, 10)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(conn)
		}
	}()
	return r
}

func (r relay) serve(conn net.Conn) {
	defer conn.Close()
	fmt.Fprint(conn, "220 relay\r\n")
	data := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		line := lines.Text()
		if path, ok := strings.CutPrefix(line, "MAIL FROM:<"); ok {
			path, _, _ = strings.Cut(path, ">")
			r.from <- path
		}
		switch {
		case data && line != ".":
		case line == "DATA":
			data = true
			fmt.Fprint(conn, "354 go on\r\n")
		default:
			data = false
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}
