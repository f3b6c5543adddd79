package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
)

const membersCSV = `id,email,name,code
1,sam@example.com,Sam,A1
2,kim@example.com,Kim,B2
1,sam@EXAMPLE.com,Sam,A1
3,nowhere,Joe,C3
`

// A campaign goes to the members in a file: each once, each with a code of their
// own.
//
//spec:n-010
func ExampleCampaigns_PutAudience() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, &notify.Options{Concurrency: 1}, notify.ChannelFunc("email:print", func(_ context.Context, m notify.Message) (notify.Receipt, error) {
		fmt.Println(m.To, "-", m.Subject, "-", m.Text)
		return notify.Receipt{}, nil
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
	if _, err := out.EnsureMessagingJob(ctx, nil, job); err != nil {
		panic(err)
	}
	if _, err := out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(job, time.Time{})); err != nil {
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
	if _, err := out.EnsureMessagingJob(ctx, nil, job); err != nil {
		panic(err)
	}
	if _, err := out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(job, time.Time{})); err != nil {
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
