package belfry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
)

// BenchmarkPipeline takes jobs from Ensure to the channel, through all passes, on
// PostgreSQL: 20,000 messages, each of a job of its own or a thousand to a job.
func BenchmarkPipeline(b *testing.B) {
	for name, perJob := range map[string]int{"one-message-per-job": 1, "thousand-messages-per-job": 1000} {
		b.Run(name, func(b *testing.B) {
			const messages = 20_000
			for range b.N {
				p := newPipeline(b, storetest.Postgres(b, clock.New()), nil)
				b.StartTimer()
				p.ensure(b, messages/perJob, perJob, 1)
				p.run(b, messages)
				b.StopTimer()
			}
			b.ReportMetric(float64(messages*b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkTenants takes 5,000 messages from Ensure to the channel, under gates that look
// at each: those of one tenant, and each of a tenant of its own.
func BenchmarkTenants(b *testing.B) {
	for adapter, open := range map[string]func(testing.TB, clock.Clock) storage.Store{"postgres": storetest.Postgres, "sqlite": storetest.SQLite} {
		for _, tenants := range []int{1, 5000} {
			b.Run(fmt.Sprintf("%s/%d", adapter, tenants), func(b *testing.B) {
				const messages = 5000
				for range b.N {
					store := open(b, clock.New())
					p := newPipeline(b, store, nil, gate.New(store, &gate.Options{
						Caps: []gate.Cap{{Limit: 100, Per: time.Hour}}, Rates: []gate.Rate{{Channel: channelKey, Limit: 10_000, Per: time.Second, Burst: 10_000}},
					})...)
					b.StartTimer()
					p.ensure(b, messages, 1, tenants)
					p.run(b, messages)
					b.StopTimer()
				}
				b.ReportMetric(float64(messages*b.N)/b.Elapsed().Seconds(), "messages/s")
			})
		}
	}
}

// BenchmarkSendClaims sends messages that wait: in batches, and one by one with
// sixteen workers.
func BenchmarkSendClaims(b *testing.B) {
	for _, way := range []struct {
		name     string
		options  *belfry.Options
		messages int
	}{
		{"batches", nil, 4000},
		{"row-by-row", &belfry.Options{Batch: 1, InFlight: 16, Concurrency: 16}, 400},
	} {
		b.Run(way.name, func(b *testing.B) {
			for range b.N {
				p := newPipeline(b, storetest.Postgres(b, clock.New()), way.options)
				p.put(b, way.messages)
				b.StartTimer()
				p.run(b, way.messages)
				b.StopTimer()
			}
			b.ReportMetric(float64(way.messages*b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// pipeline is a notifier and its poller.
type pipeline struct {
	*notify.Notifier
	poller *belfry.Poller
	sent   chan struct{}
}

func newPipeline(b *testing.B, store storage.Store, opts *belfry.Options, gates ...gate.Gate) *pipeline {
	b.StopTimer()
	p := &pipeline{sent: make(chan struct{}, 1<<16)}
	p.Notifier = notify.New(store, &notify.Options{Gates: gates}, channel.Func(channelKey, func(context.Context, channel.Message) (channel.Receipt, error) {
		p.sent <- struct{}{}
		return channel.Receipt{}, nil
	}))
	p.Register(notify.Type{Name: "visit", Renderer: notify.Template{Subject: "Visit", Text: "Dear {{.Recipient.Name}}"}})
	p.poller = belfry.NewPoller(store, opts, p.Notifier)
	return p
}

// ensure stores jobs of some tenants with their recipients, a thousand a call.
func (p *pipeline) ensure(b *testing.B, n, recipients, tenants int) {
	for first := 0; first < n; first += 1000 {
		var jobs []notify.Job
		var schedules []notify.Schedule
		for i := first; i < min(first+1000, n); i++ {
			j := notify.Job{Scope: notify.Scope(fmt.Sprint("tenant", i%tenants)), Type: "visit", PartitionKey: fmt.Sprint("car", i), RowKey: "visit", Entity: fmt.Sprint("car", i)}
			for k := range recipients {
				ref := fmt.Sprintf("%d-%d", i, k)
				j.Recipients = append(j.Recipients, notify.Recipient{Ref: ref, Name: "customer", Channel: channelKey, Address: "c" + ref + "@example.com"})
			}
			jobs, schedules = append(jobs, j), append(schedules, notify.ScheduleFor(j, time.Time{}))
		}
		if _, err := p.EnsureNotificationJob(b.Context(), nil, jobs...); err != nil {
			b.Fatal(err)
		}
		if _, err := p.EnsureNotificationScheduler(b.Context(), nil, schedules...); err != nil {
			b.Fatal(err)
		}
	}
}

// put stores messages that are due at once.
func (p *pipeline) put(b *testing.B, n int) {
	for first := 0; first < n; first += 1000 {
		var batch []notify.OutgoingMessage
		for i := first; i < min(first+1000, n); i++ {
			batch = append(batch, notify.OutgoingMessage{
				Scope: "tenant", Channel: channelKey, PartitionKey: "job", NotificationType: "visit",
				RecipientRef: fmt.Sprint(i), Address: fmt.Sprintf("c%d@example.com", i), Content: notify.Content{Text: "Dear customer"},
			})
		}
		if _, err := p.EnsureOutgoingMessage(b.Context(), nil, batch...); err != nil {
			b.Fatal(err)
		}
	}
}

// run polls until so many messages have gone out and are settled.
func (p *pipeline) run(b *testing.B, messages int) {
	ctx, stop := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- p.poller.Run(ctx) }()
	for range messages {
		<-p.sent
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		b.Error(err)
	}
}
