package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/sqlite"
)

// opening is when the demonstration begins. Its clock is a mock one that runs
// with the real one, and jumps over waits: those after a kill take minutes.
var opening = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

const (
	guid    = "spring-2026"
	unit    = "club"
	warden  = "warden@club.example"
	voucher = "voucher"
	alarm   = "alarm"
)

// club is the host: its database and what it tells Belfry.
type club struct {
	store *sqlite.Store
	clk   *clock.Mock
	out   *notify.Notifier
}

func openClub(ctx context.Context, s settings, now time.Time, channels ...notify.Channel) (*club, error) {
	clk := clock.NewMock()
	clk.Set(now)
	store, err := sqlite.Open(ctx, filepath.Join(s.dir, "club.db"), &sqlite.Options{Clock: clk})
	if err != nil {
		return nil, err
	}
	out := notify.New(store, &notify.Options{Concurrency: 250}, channels...)
	out.Register(notify.Type{Name: voucher, Renderer: notify.Template{
		Subject: "{{.Season}} is here",
		Text:    "Dear {{.Recipient.Name}},\nyour voucher is {{.code}}.\n",
	}})
	out.Register(notify.Type{Name: alarm, Urgent: true, Renderer: notify.Template{Subject: "Fire in the {{.Room}}"}})
	return &club{store, clk, out}, nil
}

// plan puts the members into a payload and ensures the campaign. To say it again
// changes nothing.
func (c *club) plan(ctx context.Context, s settings) (notify.MessagingJob, notify.Payload, error) {
	f, err := os.Open(filepath.Join(s.dir, "members.csv"))
	if err != nil {
		return notify.MessagingJob{}, notify.Payload{}, err
	}
	defer f.Close()
	members := notify.AudienceCSV(f, notify.CSVColumns{Ref: "id", Address: "email", Name: "name"})
	payload, err := c.out.Campaigns().PutAudience(ctx, members, &notify.PayloadOptions{
		EventData: json.RawMessage(`{"Season":"Spring"}`), Channel: "email:journal", Locale: "en",
	})
	if err != nil {
		return notify.MessagingJob{}, payload, err
	}
	job := notify.MessagingJob{
		Record: storage.Record{Type: voucher}, GUID: guid, BusinessUnit: unit,
		Blob: payload.Blob, AudienceSize: payload.Recipients,
	}
	if _, err := c.out.EnsureMessagingJob(ctx, nil, job); err != nil {
		return job, payload, err
	}
	_, err = c.out.EnsureNotificationScheduler(ctx, nil, notify.ScheduleForCampaign(job, time.Time{}))
	return job, payload, err
}

// raiseAlarm tells the warden about a fire.
func (c *club) raiseAlarm(ctx context.Context) error {
	job := notify.Job{
		Record: storage.Record{Type: alarm}, PartitionKey: "sauna", RowKey: "fire-1", BusinessUnit: unit,
		EventData:  json.RawMessage(`{"Room":"sauna"}`),
		Recipients: []notify.Recipient{{Ref: "warden", Channel: "email:journal", Address: warden}},
	}
	_, err := c.out.Notify(ctx, job, time.Time{})
	return err
}

func (c *club) count(ctx context.Context, query string) (n int, err error) {
	err = c.store.DB().QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
