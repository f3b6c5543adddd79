// Command custom-channel adds a transport that Belfry does not have: carrier
// pigeons. The channel is one method (channel.go), its provider's callbacks
// another (webhook.go); retries, doubts, duplicates and late callbacks are
// Belfry's business. It plays provider and host over real HTTP.
//
//	go run ./examples/custom-channel
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/notifyhttp"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "custom-channel:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer) error {
	clk := clock.NewMock() // a real program leaves it out
	clk.Set(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC))
	store := memory.New(&memory.Options{Clock: clk})
	provider := &loft{secret: []byte("between the loft and us")}
	var err error
	if provider.url, err = serve(provider); err != nil {
		return err
	}
	out := notify.New(store, nil, pigeons{provider.url})
	out.Register(notify.Type{Name: "invitation", Renderer: notify.Template{Text: "Come at noon."}})
	host, err := serve(http.StripPrefix("/webhooks", notifyhttp.Webhooks(out, nil, landings{provider.secret})))
	if err != nil {
		return err
	}

	if err := invite(ctx, out, "the tower", "the storm", "nowhere"); err != nil {
		return err
	}
	if err := belfry.NewPoller(store, nil, out).Drain(ctx); err != nil {
		return err
	}
	if err := show(ctx, w, out, "after sending", "nowhere FailedFinal 404", "the storm SentToProvider", "the tower SentToProvider"); err != nil {
		return err
	}
	answers, err := provider.report(ctx, host+"/webhooks/pigeon", clk.Now())
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "the loft calls back, each time twice and once forged:", answers)
	if !slices.Equal(answers, []int{204, 204, 403, 204, 204, 403}) {
		return errors.New("a callback was not answered as it should be")
	}
	return show(ctx, w, out, "after the callbacks", "nowhere FailedFinal 404", "the storm FailedFinal lost", "the tower Delivered")
}

// invite asks for one message to each of them.
func invite(ctx context.Context, out *notify.Notifier, names ...string) error {
	job := notify.Job{
		Record: storage.Record{Type: "invitation"}, PartitionKey: "party", RowKey: keys.AutomationRowKey("party"),
		EntityType: "party", Entity: "1", EventData: []byte(`{}`),
	}
	for _, name := range names {
		job.Recipients = append(job.Recipients, notify.Recipient{Ref: name, Channel: "pigeon:loft", Address: name})
	}
	_, err := out.Notify(ctx, job, time.Time{})
	return err
}

// show prints the messages and compares them with what they should be.
func show(ctx context.Context, w io.Writer, out *notify.Notifier, when string, want ...string) error {
	messages, err := out.Support().AllMessages(ctx, "", notify.Page{})
	if err != nil {
		return err
	}
	var got []string
	for _, m := range messages {
		got = append(got, strings.TrimSpace(m.Address+" "+m.Status+" "+m.ReasonCode))
	}
	slices.Sort(got)
	fmt.Fprintln(w, when+":", strings.Join(got, ", "))
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s it should be %q", when, want)
	}
	return nil
}
