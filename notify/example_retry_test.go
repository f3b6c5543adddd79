package notify_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifytest"
	"github.com/belfry-go/belfry/storage"
)

// A provider was down for longer than messages are tried. When it is back, whoever is
// on call sends again what has failed.
func ExampleSupport_RetryFailed() {
	ctx := context.Background()
	store, clk := newStore()
	down := notify.Transient("503", 0, nil)
	mails := notifytest.Scripted(down, down, down, down)
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "Your visit"}})
	poller := belfry.NewPoller(store, nil, out)
	job := notify.Job{
		Type: "visit", PartitionKey: "visit-7", RowKey: "made",
		Recipients: []notify.Recipient{{Ref: "17", Channel: mails.Key(), Address: "sam@example.com"}},
	}
	if _, err := out.Notify(ctx, job, time.Time{}); err != nil {
		panic(err)
	}
	for range 4 {
		if err := poller.Drain(ctx); err != nil {
			panic(err)
		}
		clk.Add(2 * time.Hour)
	}

	by := notify.By{Actor: "kim", Reason: "the provider is back"}
	failed := notify.Failures{Channel: mails.Key(), Reason: "503"}
	for _, dryRun := range []bool{true, false, false} {
		report, err := out.Support().RetryFailed(ctx, "", failed, by, &notify.ActionOptions{DryRun: dryRun})
		fmt.Println(report.Retried, report.Refused, err)
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
	asked, err := out.Notify(ctx, job, clk.Now().Add(24*time.Hour))
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
