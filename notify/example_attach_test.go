package notify_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
)

// A renderer makes a file for each recipient and attaches it.
func ExampleAttach() {
	ctx := context.Background()
	store, _ := newStore()
	out := notify.New(store, nil, notify.ChannelFunc("email:print", func(_ context.Context, m notify.Message) (notify.Receipt, error) {
		for _, a := range m.Attachments {
			fmt.Printf("%s: %s (%s): %s\n", m.To, a.Name, a.MediaType, a.Data)
		}
		return notify.Receipt{}, nil
	}))
	out.Register(notify.Type{Name: "grades", Renderer: notify.RendererFunc(func(ctx context.Context, _ notify.Job, to notify.Recipient) (notify.Content, error) {
		file := strings.NewReader("name,grade\n" + to.Name + ",A")
		grades, err := notify.Attach(ctx, store.Blobs(), "grades.csv", "text/csv", "", file)
		return notify.Content{Subject: "Your grades", Text: "Enclosed.", Attachments: []notify.AttachmentRef{grades}}, err
	})})

	job := notify.Job{
		Type: "grades", PartitionKey: "class-3b", RowKey: "2026-1",
		Recipients: []notify.Recipient{{Ref: "17", Channel: "email:print", Address: "sam@example.com", Name: "Sam"}},
	}
	if _, err := out.Notify(ctx, job, time.Time{}); err != nil {
		panic(err)
	}
	fmt.Println(belfry.NewPoller(store, nil, out).Drain(ctx))
	// Output:
	// sam@example.com: grades.csv (text/csv): name,grade
	// Sam,A
	// <nil>
}
