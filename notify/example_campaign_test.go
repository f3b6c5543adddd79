package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
)

const membersCSV = `id,email,name,code
1,sam@example.com,Sam,A1
2,kim@example.com,Kim,B2
1,sam@EXAMPLE.com,Sam,A1
3,nowhere,Joe,C3
`

// A campaign goes to the members in a file: each once, each with a code of their
// own.
func ExampleCampaigns_PutAudience() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, &notify.Options{Concurrency: 1}, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject, "-", m.Text)
		return channel.Receipt{}, nil
	}))
	out.Register(notify.Type{Name: "voucher", Renderer: notify.Template{
		Subject: "{{.Season}} is here", Text: "{{.Recipient.Name}}, your code is {{.code}}",
	}})

	members := notify.AudienceCSV(strings.NewReader(membersCSV), notify.CSVColumns{Ref: "id", Address: "email", Name: "name"})
	payload, err := out.Campaigns().PutAudience(ctx, members, &notify.PayloadOptions{
		EventData: json.RawMessage(`{"Season":"Spring"}`), Channel: "email:print",
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(payload.Recipients, "members, skipped:", payload.Skipped)

	job := notify.MessagingJob{
		Type: "voucher", GUID: "spring-2026", BusinessUnit: "club",
		Blob: payload.Blob, AudienceSize: payload.Recipients,
	}
	_, err = out.Campaigns().Start(ctx, job, time.Time{}) // at once
	if err != nil {
		panic(err)
	}
	if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
		panic(err)
	}
	p, err := out.Campaigns().Progress(ctx, "", "spring-2026")
	fmt.Println(p.Status, "generated", p.Generated, "skipped", p.Skipped, "repeated", p.Repeated, p.Messages, err)
	// Unordered output:
	// 4 members, skipped: [line 5: BadAddress]
	// sam@example.com - Spring is here - Sam, your code is A1
	// kim@example.com - Spring is here - Kim, your code is B2
	// Generated generated 2 skipped 1 repeated 1 map[SentToProvider:2 Skipped:1] <nil>
}

// A person stops a campaign while its messages wait.
func ExampleCampaigns_Cancel() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil) // this process makes messages, and sends none
	out.Register(notify.Type{Name: "voucher", Renderer: notify.Template{Subject: "Spring is here"}})
	payload, err := out.Campaigns().PutAudience(ctx, notify.AudienceOf(func(yield func(notify.Recipient, error) bool) {
		for _, name := range []string{"sam", "kim"} {
			if !yield(notify.Recipient{Ref: name, Address: name + "@example.com"}, nil) {
				return
			}
		}
	}), &notify.PayloadOptions{Channel: "email:elsewhere"})
	if err != nil {
		panic(err)
	}
	job := notify.MessagingJob{Type: "voucher", GUID: "spring-2026", Blob: payload.Blob}
	if _, err := out.Campaigns().Start(ctx, job, time.Time{}); err != nil {
		panic(err)
	}
	poller := belfry.NewPoller(store, nil, out)
	if err := poller.Drain(ctx); err != nil {
		panic(err)
	}
	if err := out.Campaigns().Cancel(ctx, "", "spring-2026", notify.By{Actor: "sam", Reason: "the wrong season"}); err != nil {
		panic(err)
	}
	if err := poller.Drain(ctx); err != nil {
		panic(err)
	}
	p, err := out.Campaigns().Progress(ctx, "", "spring-2026")
	fmt.Println(p.Status, p.Messages, err)
	// Output: Cancelled map[Cancelled:2] <nil>
}

// A provider refused for good what it should have taken. When it does again, whoever is
// on call sends again what has failed.
func ExampleSupport_RetryFailed() {
	ctx := context.Background()
	store, clk := newStore()
	mails := notifytest.Scripted(channel.Permanent("554", nil))
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "Your visit"}})
	poller := belfry.NewPoller(store, nil, out)
	job := notify.Job{
		Type: "visit", PartitionKey: "visit-7", RowKey: "made",
		Recipients: []notify.Recipient{{Ref: "17", Channel: mails.Key(), Address: "sam@example.com"}},
	}
	if _, err := out.Notify(ctx, job); err != nil {
		panic(err)
	}
	if err := poller.Drain(ctx); err != nil {
		panic(err)
	}
	clk.Add(2 * time.Hour)

	by := notify.By{Actor: "kim", Reason: "the provider has mended it"}
	failed := notify.Failures{Channel: mails.Key(), Reason: "554"}
	for _, dryRun := range []bool{true, false, false} {
		report, err := out.Support().RetryFailed(ctx, "", failed, by, &notify.ActionOptions{DryRun: dryRun})
		fmt.Println(report.Done, report.Refused, err)
	}
	fmt.Println(poller.Drain(ctx))
	messages, _, err := out.Support().Messages(ctx, "", "made", storage.Page{})
	if err != nil {
		panic(err)
	}
	for _, m := range messages {
		fmt.Println(m.AttemptNo, m.Status)
	}
	// Output:
	// 1 0 <nil>
	// 1 0 <nil>
	// 0 1 <nil>
	// <nil>
	// 0 FailedFinal
	// 1 SentToProvider
}

// A booking is cancelled before its reminder goes out.
func ExampleSupport_Cancel() {
	ctx := context.Background()
	store, clk := newStore()
	mails := notifytest.NewRecorder()
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "Your visit"}})
	job := notify.Job{
		Type: "visit", PartitionKey: "visit-7", RowKey: "tomorrow",
		Recipients: []notify.Recipient{{Ref: "17", Channel: mails.Key(), Address: "sam@example.com"}},
	}
	asked, err := out.NotifyAt(ctx, job, clk.Now().Add(24*time.Hour))
	if err != nil {
		panic(err)
	}
	by := notify.By{Actor: "booking", Reason: "the visit was cancelled"}
	fmt.Println(out.Support().Cancel(ctx, "", notify.ArtifactNotificationJob, asked.Key, by))
	clk.Add(48 * time.Hour)
	fmt.Println(belfry.NewPoller(store, nil, out).Drain(ctx))
	messages, _, err := out.Support().Messages(ctx, "", "tomorrow", storage.Page{})
	fmt.Println(len(messages), err)
	// Output:
	// <nil>
	// <nil>
	// 0 <nil>
}
