package notify_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/belfry-go/belfry"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// phone is one account.
type phone struct {
	mu    sync.Mutex
	calls int           // under way
	next  chan struct{} // ends a call
}

func (*phone) Key() string { return "sms:phone" }

func (p *phone) Send(context.Context, channel.Message) (channel.Receipt, error) {
	p.mu.Lock()
	p.calls++
	p.mu.Unlock()
	<-p.next
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls--
	return channel.Receipt{}, nil
}

// A host with several stores gives all Notifiers one channel value: then ChannelConcurrency
// is that of the account, and not of each store. With a value for each it is each one's own.
func TestNotifiersOfSeveralStoresShareTheBoundOfAChannel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		accounts int
		want     int
	}{"one account": {1, 2}, "an account each": {2, 4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := make(chan struct{})
				phones := []*phone{{next: next}, {next: next}}
				var running sync.WaitGroup
				for i := range 2 {
					store := memory.New(nil)
					n := notify.New(store, &notify.Options{Logger: quiet, ChannelConcurrency: map[string]int{"sms:phone": 2}}, phones[i%c.accounts])
					n.Register(notify.Type{Name: "news", Renderer: notify.Template{Text: "News"}})
					for k := range 4 {
						to := notify.Recipient{Ref: fmt.Sprint(k), Channel: "sms:phone", Address: fmt.Sprintf("+4930123456%02d", k)}
						if _, err := n.Notify(t.Context(), notify.Job{Type: "news", RowKey: fmt.Sprint(k), Recipients: []notify.Recipient{to}}); err != nil {
							t.Fatal(err)
						}
					}
					running.Go(func() {
						if err := belfry.NewPoller(store, &belfry.Options{Logger: quiet}, n).Drain(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				for range 8 {
					synctest.Wait()
					if calls := phones[0].calls + phones[1].calls; calls > c.want {
						t.Errorf("%d calls at once, want %d", calls, c.want)
					}
					next <- struct{}{}
				}
				running.Wait()
			})
		})
	}
}
