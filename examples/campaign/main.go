// Command campaign sends a voucher to the members in a CSV file. A dry run says
// first what would happen; an urgent alarm overtakes the crowd; and when all of it
// is planned again, no member gets a second mail.
//
//	go run ./examples/campaign
//	go run ./examples/campaign -n 100000
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// provider counts mails by their recipient.
type provider struct {
	mu   sync.Mutex // Send is called from several goroutines
	sent map[string]int
}

func (p *provider) Key() string { return "email:count" }

func (p *provider) Send(_ context.Context, m channel.Message) (channel.Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent[m.To]++
	return channel.Receipt{ID: m.ID}, nil
}

// mails says how many there were, and how many of them went to the same people.
func (p *provider) mails() (all, doubled int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.sent {
		all, doubled = all+n, doubled+n-1
	}
	return all, doubled
}

// file has the members. Of a thousand one is in it twice, and one has no address
// that can be one.
func file(n int) io.Reader {
	var f bytes.Buffer
	fmt.Fprintln(&f, "id,email,name,code")
	for i := range n {
		id, host := i, "@club.example"
		switch i % 1000 {
		case 500:
			host = ""
		case 999:
			id, host = i-1, "@CLUB.example"
		}
		fmt.Fprintf(&f, "%d,member-%06d%s,Member %d,SPRING-%06d\n", id, id, host, id, id)
	}
	return &f
}

// plan puts the members into a payload, and ensures the campaign and its schedule.
// To say it again changes nothing.
func plan(ctx context.Context, out *notify.Notifier, n int) (notify.MessagingJob, notify.Payload) {
	members := notify.AudienceCSV(file(n), notify.CSVColumns{Ref: "id", Address: "email", Name: "name"})
	payload, err := out.Campaigns().PutAudience(ctx, members, &notify.PayloadOptions{
		EventData: json.RawMessage(`{"Season":"Spring"}`), Channel: "email:count", Locale: "en",
	})
	check(err)
	job := notify.MessagingJob{
		Type: "voucher", GUID: "spring-2026", BusinessUnit: "club",
		Blob: payload.Blob, AudienceSize: payload.Recipients,
	}
	_, err = out.Campaigns().Start(ctx, job, time.Time{})
	check(err)
	return job, payload
}

func main() {
	n := flag.Int("n", 5000, "`number` of members in the file, at least 1000")
	flag.Parse()
	if *n < 1000 {
		log.Fatal("-n is less than 1000: no member would be in the file twice")
	}
	ctx, store, mails := context.Background(), memory.New(nil), &provider{sent: map[string]int{}}
	out := notify.New(store, nil, mails)
	out.Register(notify.Type{Name: "voucher", Renderer: notify.Template{
		Subject: "{{.Season}} is here", Text: "Dear {{.Recipient.Name}}, your voucher is {{.code}}.",
	}})
	out.Register(notify.Type{Name: "alarm", Urgent: true, Renderer: notify.Template{Subject: "Fire in the {{.Room}}"}})
	poller := belfry.NewPoller(store, nil, out)

	job, payload := plan(ctx, out, *n)
	fmt.Printf("%d members, %d of them without an address, the first in line %d\n", payload.Recipients, payload.SkippedCount, payload.Skipped[0].Line)
	forecast, err := out.Campaigns().DryRun(ctx, job, 1)
	check(err)
	fmt.Printf("A dry run would make %d mails; %d members are in the file twice; the first mail says:\n  %s\n",
		forecast.Generated, forecast.Repeated, forecast.Samples[0].Content.Text)

	for all := 0; all < *n/4; all, _ = mails.mails() { // in production: poller.Run(ctx)
		_, err := poller.PollOnce(ctx, 100)
		check(err)
	}
	_, err = out.Notify(ctx, notify.Job{
		Type: "alarm", PartitionKey: "sauna", RowKey: "fire-1", EventData: json.RawMessage(`{"Room":"sauna"}`),
		Recipients: []notify.Recipient{{Ref: "warden", Channel: "email:count", Address: "warden@club.example"}},
	})
	check(err)
	_, err = poller.PollOnce(ctx, 100)
	check(err)
	all, _ := mails.mails()
	fmt.Printf("A fire! One poll later %d alarm is out; half of the crowd still waits: %t\n", mails.sent["warden@club.example"], all < *n/2)

	for range 2 { // the second time it is planned again
		check(poller.Drain(ctx))
		p, err := out.Campaigns().Progress(ctx, "", job.GUID)
		check(err)
		all, doubled := mails.mails()
		fmt.Printf("%s: %d made, %d skipped, %d repeated; %d mails with the alarm, %d doubled\n",
			p.Status, p.Generated, p.Skipped, p.Repeated, all, doubled)
		plan(ctx, out, *n)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
