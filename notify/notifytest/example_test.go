package notifytest_test

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
)

// printer stands in for the *testing.T of a test.
type printer struct{}

func (printer) Helper() {}

func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (printer) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

var t printer

func Example() {
	mails := notifytest.NewRecorder()
	_, err := mails.Send(context.Background(), channel.Message{ // in earnest a Notifier does this
		ID: "5f1d", To: "sam@example.com", Subject: "Your certificate expires", Attempt: 1,
	})
	fmt.Println(err)

	mails.Sent(t, 1)
	fmt.Println(mails.To(t, "sam@example.com").Subject)
	mails.Sent(t, 2) // fails
	// Output:
	// <nil>
	// Your certificate expires
	// email:test sent 1 messages, want 2
	// 	sam@example.com: "Your certificate expires" (message 5f1d, attempt 1)
}

func ExampleAttachment() {
	mails := notifytest.NewRecorder()
	_, err := mails.Send(context.Background(), channel.Message{
		ID: "5f1d", To: "sam@example.com", Subject: "Your certificate", Attempt: 1,
		Attachments: []channel.Attachment{{Name: "certificate.pdf", MediaType: "application/pdf", Data: []byte("%PDF")}},
	})
	fmt.Println(err)

	m := mails.To(t, "sam@example.com")
	fmt.Printf("%s\n", notifytest.Attachment(t, m, "certificate.pdf").Data)
	notifytest.Attachment(t, m, "invoice.pdf") // fails
	// Output:
	// <nil>
	// %PDF
	// message 5f1d has 0 attachments "invoice.pdf", want 1; it has +"certificate.pdf" (application/pdf, 4 bytes)
}

func ExampleFailing() {
	mails := notifytest.Failing(channel.Permanent("550", nil))
	_, err := mails.Send(context.Background(), channel.Message{ID: "5f1d", To: "nobody@example.com"})
	fmt.Println(err)
	mails.Sent(t, 0)
	// Output: channel: Permanent send error 550
}

func ExampleScripted() {
	mails := notifytest.Scripted(channel.Transient("throttled", 0, nil), nil)
	for range 2 {
		_, err := mails.Send(context.Background(), channel.Message{ID: "5f1d", To: "sam@example.com"})
		fmt.Println(err)
	}
	mails.Sent(t, 1)
	// Output:
	// channel: Transient send error throttled
	// <nil>
}

func ExampleSlow() {
	ctx, release, done := context.Background(), make(chan struct{}), make(chan error)
	mails := notifytest.Slow(release)
	go func() {
		_, err := mails.Send(ctx, channel.Message{ID: "5f1d", To: "sam@example.com"})
		done <- err
	}()
	fmt.Println(mails.Wait(ctx, 1), len(mails.Messages())) // the call is under way
	close(release)
	fmt.Println(<-done, len(mails.Messages()))
	// Output:
	// <nil> 0
	// <nil> 1
}

func ExampleRecorder_WithLookup() {
	ctx, m := context.Background(), channel.Message{ID: "5f1d", To: "sam@example.com"}
	mails := notifytest.Scripted(notifytest.AcceptedThen(channel.Unknown("reset", nil))).WithLookup()
	_, err := mails.Send(ctx, m)
	fmt.Println(err)
	found, err := mails.Lookup(ctx, m)
	fmt.Println(found.Status, err)
	// Output:
	// channel: Unknown send error reset
	// Accepted <nil>
}
