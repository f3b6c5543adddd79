package notify_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// heldFiles counts the files that were read and whose call has not ended.
type heldFiles struct {
	sync.Mutex
	now, most int
}

func (f *heldFiles) add(n int) {
	f.Lock()
	defer f.Unlock()
	f.now += n
	f.most = max(f.most, f.now)
}

// Of attachments no more bytes are held than the budget has, whatever the group; a
// message that has more goes by itself, and one without any does not wait.
func TestAttachmentsAreHeldWithinABudget(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ size, budget, most int }{
		"two at a time": {40, 100, 2}, "each by itself": {150, 100, 1}, "all": {4, 100, 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := mockClock()
			spy := &storetest.Spy{Store: memory.New(&memory.Options{Clock: clk})}
			p, held := &provider{}, &heldFiles{}
			h := newHost(t, spy, clk, p)
			h.with(&notify.Options{AttachmentBytes: int64(tt.budget)}, p)
			for i := range 12 {
				file := h.attach("a.pdf", "", strings.Repeat(string(rune('a'+i)), tt.size))
				h.ensure(letter(fmt.Sprint("letter ", i), fmt.Sprint("r", i), func(m *notify.OutgoingMessage) {
					m.Content.Attachments = []notify.AttachmentRef{file}
				}))
			}
			h.ensure(letter("plain", "sam"))
			spy.SetHook(func(c storetest.Call) error {
				if c.Table == "blob_chunk" {
					held.add(1)
				}
				return nil
			})
			p.answer = func(_ context.Context, m channel.Message) (channel.Receipt, error) {
				if m.Text != "plain" {
					defer held.add(-1)
					if len(m.Attachments) != 1 || len(m.Attachments[0].Data) != tt.size {
						t.Errorf("%+v", m.Attachments)
					}
				}
				return channel.Receipt{}, nil
			}
			h.run("notify.distributor")
			spy.SetHook(nil)
			if held.most > tt.most || held.now != 0 || len(h.texts()) != 13 {
				t.Errorf("%d files at once, want %d; %d are left; %d were sent", held.most, tt.most, held.now, len(h.texts()))
			}
		})
	}
}
