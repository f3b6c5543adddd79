package belfry_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/notify/gate"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

// running is a poller at work inside a bubble, whose time passes by itself.
func running(t *testing.T, store storage.Store, services ...belfry.Service) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = belfry.NewPoller(store, nil, services...).Run(ctx)
	}()
	return func() { cancel(); <-ended }
}

// A channel that hangs holds up no other, of whatever tenant.
func TestAChannelThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(&memory.Options{Clock: clock.New()})
		hung := channel.Func("email:hung", func(ctx context.Context, _ channel.Message) (channel.Receipt, error) {
			<-ctx.Done()
			return channel.Receipt{}, ctx.Err()
		})
		var mu sync.Mutex
		var called []time.Time
		well := channel.Func("email:well", func(context.Context, channel.Message) (channel.Receipt, error) {
			mu.Lock()
			defer mu.Unlock()
			called = append(called, store.Clock().Now())
			return channel.Receipt{ID: "1"}, nil
		})
		out := notify.New(store, &notify.Options{CallTimeout: time.Second}, hung, well)
		out.Register(notify.Type{Name: "news", Renderer: notify.Template{Subject: "News"}})
		out.Register(notify.Type{Name: "code", Renderer: notify.Template{Subject: "Your code"}, Urgent: true})
		to := func(n int, channel string) []notify.Recipient {
			all := make([]notify.Recipient, n)
			for i := range all {
				all[i] = notify.Recipient{Ref: fmt.Sprint(i), Channel: channel, Address: fmt.Sprint("p", i, "@example.com")}
			}
			return all
		}
		for i := range 10 {
			if _, err := out.Notify(t.Context(), notify.Job{Scope: "acme", Type: "news", PartitionKey: "all", RowKey: fmt.Sprint(i), Recipients: to(600, "email:hung")}); err != nil {
				t.Fatal(err)
			}
		}
		stop := running(t, store, out)
		<-store.Clock().After(time.Second)
		said := store.Clock().Now()
		if _, err := out.Notify(t.Context(), notify.Job{Scope: "other", Type: "code", PartitionKey: "sam", RowKey: "1", Recipients: to(1, "email:well")}); err != nil {
			t.Fatal(err)
		}
		<-store.Clock().After(10 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(called) != 1 || called[0].Sub(said) > time.Second {
			t.Errorf("an urgent message of %v went out %v", said, called)
		}
		stop()
	})
}

// Health names the channel and the type of reminder whose calls do not return though
// their time is over, each in its tenant.
func TestHealthNamesWhoDoesNotReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, gone := memory.New(&memory.Options{Clock: clock.New()}), make(chan struct{})
		deaf := channel.Func("email:deaf", func(context.Context, channel.Message) (channel.Receipt, error) {
			<-gone
			return channel.Receipt{}, nil
		})
		out := notify.New(store, &notify.Options{CallTimeout: time.Second, Concurrency: 1}, deaf)
		reminders := automation.New(store, out, nil)
		reminders.Register(automation.ReminderType{
			Name: "lesson", Template: notify.Template{Subject: "Lesson"}, CallTimeout: time.Hour,
			Recipients: automation.RecipientFunc(func(context.Context, automation.Due) ([]notify.Recipient, error) {
				<-gone
				return nil, nil
			}),
		})
		began := store.Clock().Now().UTC()
		for _, tenant := range []storage.Scope{"acme", "other"} {
			_, err := out.EnsureOutgoingMessage(t.Context(), nil, notify.OutgoingMessage{
				Scope: tenant, Channel: "email:deaf", PartitionKey: "1", NotificationType: "news", RecipientRef: "sam", Address: "sam@example.com",
				Content: notify.Content{Subject: "News"},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := reminders.Ensure(t.Context(), automation.Candidate{
			Scope: "acme", Type: "lesson", Source: automation.Source{Type: "lesson", ID: "1"}, SendAt: began.Format("15:04"), Zone: "UTC",
			TargetDate: automation.Date{Year: began.Year(), Month: began.Month(), Day: began.Day()},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		p, ended := belfry.NewPoller(store, nil, reminders, out), make(chan struct{})
		go func() {
			defer close(ended)
			_ = p.Run(ctx)
		}()
		is := func(when string, reach storage.ScopeFilter, want ...health.Stuck) {
			t.Helper()
			synctest.Wait()
			got, err := p.Health(t.Context(), reach)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Stuck {
				got.Stuck[i].Since = got.Stuck[i].Since.Truncate(2 * time.Second)
			}
			if !slices.Equal(got.Stuck, want) {
				t.Errorf("%s: %+v, want %+v", when, got.Stuck, want)
			}
		}
		<-store.Clock().After(59 * time.Minute)
		is("in time", storage.Everywhere())
		<-store.Clock().After(90 * time.Second)
		held := []health.Stuck{{Pass: "notify.distributor", Kind: "email:deaf", Rows: 2, Since: began}, {Pass: "automation", Kind: "lesson", Rows: 1, Since: began}}
		is("late", storage.Everywhere(), held...)
		held[0].Rows = 1
		is("one tenant's", storage.Within("acme"), held...)
		is("another's", storage.Within("other"), held[0])
		close(gone)
		is("returned", storage.Everywhere())
		cancel()
		<-ended
	})
}

// A gate that does not answer loses its messages after a while, and another try sends
// them, once.
func TestAGateThatHangsLosesItsMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(&memory.Options{Clock: clock.New()})
		var asked, sent atomic.Int32
		answer := make(chan struct{})
		slow := gate.Func(func(context.Context, gate.Attempt) (gate.Verdict, error) {
			if asked.Add(1) == 1 {
				<-answer
			}
			return gate.Proceed(), nil
		})
		out := notify.New(store, &notify.Options{Gates: []gate.Gate{slow}}, channel.Func("mail", func(context.Context, channel.Message) (channel.Receipt, error) {
			sent.Add(1)
			return channel.Receipt{ID: "1"}, nil
		}))
		out.Register(notify.Type{Name: "news", Renderer: notify.Template{Subject: "News"}})
		to := []notify.Recipient{{Ref: "sam", Channel: "mail", Address: "sam@example.com"}}
		if _, err := out.Notify(t.Context(), notify.Job{Scope: "acme", Type: "news", PartitionKey: "all", RowKey: "1", Recipients: to}); err != nil {
			t.Fatal(err)
		}
		stop := running(t, store, out)
		<-store.Clock().After(50 * time.Minute)
		synctest.Wait()
		if asked.Load() != 1 || sent.Load() != 0 {
			t.Errorf("after 50 minutes the gate was asked %d times, and %d messages were sent", asked.Load(), sent.Load())
		}
		<-store.Clock().After(2 * time.Hour)
		synctest.Wait()
		if sent.Load() != 1 {
			t.Errorf("%d messages were sent after almost three hours", sent.Load())
		}
		close(answer)
		<-store.Clock().After(time.Hour)
		synctest.Wait()
		if sent.Load() != 1 {
			t.Errorf("%d messages were sent when the gate answered after all", sent.Load())
		}
		stop()
	})
}

// few is a channel that makes two calls at once.
type few struct{ channel.Channel }

func (few) MaxCalls() int { return 2 }

// I-12: a process that is killed leaves no more calls of a channel open than it makes at
// once, since none begins before the results of those before it are stored.
func TestI12_NoCallBeginsBeforeTheResultsBeforeItAreStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		store := &storetest.Spy{Store: memory.New(&memory.Options{Clock: clock.New()}), Hook: func(c storetest.Call) error {
			sent := func(r driver.Row) bool { return driver.RecordOf(r).Status == notify.StatusSentToProvider }
			if down.Load() && c.Verb == storetest.Update && slices.ContainsFunc(c.Rows, sent) {
				return storage.ErrUnavailable
			}
			return nil
		}}
		var calls atomic.Int64
		out := notify.New(store, nil, few{channel.Func("email:few", func(context.Context, channel.Message) (channel.Receipt, error) {
			calls.Add(1)
			return channel.Receipt{ID: "1"}, nil
		})})
		out.Register(notify.Type{Name: "news", Renderer: notify.Template{Subject: "News"}})
		job := notify.Job{Type: "news", PartitionKey: "all", RowKey: "1"}
		for i := range 20 {
			job.Recipients = append(job.Recipients, notify.Recipient{Ref: fmt.Sprint(i), Channel: "email:few", Address: fmt.Sprint("p", i, "@example.com")})
		}
		if _, err := out.Notify(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		down.Store(true)
		stop := running(t, store, out)
		<-store.Clock().After(5 * time.Second)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls while no result could be stored, want 2", n)
		}
		down.Store(false)
		<-store.Clock().After(10 * time.Second)
		stop()
		if n := calls.Load(); n != 20 {
			t.Errorf("%d calls in all", n)
		}
	})
}
