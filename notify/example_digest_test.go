package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
)

// What happens to a person's documents in a day is one mail, the next morning.
func ExampleDigest() {
	ctx := context.Background()
	store, clk := newStore()
	out := notify.New(store, nil, channel.Func("email:print", func(_ context.Context, m channel.Message) (channel.Receipt, error) {
		fmt.Print(m.Subject, "\n", m.Text)
		return channel.Receipt{}, nil
	}))
	out.Register(notify.Type{
		Name:   "comment",
		Digest: notify.Digest{Window: 24 * time.Hour, At: "08:00", Zone: "Europe/Dublin"},
		Renderer: notify.Template{
			Subject: "{{len .Entries}} new comments",
			Text:    "{{range .Entries}}- {{.By}} on {{.Document}}\n{{end}}{{if .More}}and {{.More}} more\n{{end}}",
		},
	})

	var last notify.Job
	for i, by := range []string{"Kim", "Lee", "Pat", "Ash"} {
		last = notify.Job{
			Type: "comment", PartitionKey: "document-7", RowKey: keys.AutomationRowKey(fmt.Sprint("comment ", i)),
			EventData:  json.RawMessage(`{"By":"` + by + `","Document":"the budget"}`),
			Recipients: []notify.Recipient{{Ref: "17", Channel: "email:print", Address: "sam@example.com"}},
		}
		_, err := out.Notify(ctx, last)
		orPanic(err)
	}
	poller := belfry.NewPoller(store, nil, out)
	orPanic(poller.Drain(ctx))
	trace, err := out.Trace(ctx, "", last.Coordinates())
	orPanic(err)
	fmt.Println(trace.Job.Status+":", trace.Digests[0])

	clk.Add(24 * time.Hour)
	orPanic(poller.Drain(ctx))
	trace, err = out.Trace(ctx, "", last.Coordinates())
	orPanic(err)
	fmt.Println(trace.Digests[0])
	// Output:
	// Digested: waits for the digest of 08:00, with 3 others (2026-03-02 GMT)
	// 4 new comments
	// - Kim on the budget
	// - Lee on the budget
	// - Pat on the budget
	// - Ash on the budget
	// told in the digest of 08:00, with 3 others (2026-03-02 GMT)
}
