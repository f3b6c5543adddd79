package notify_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/notify/channel"
	"github.com/belfry-go/belfry/storage/memory"
)

// moody is a channel that answers at random, and keeps what it has taken.
type moody struct {
	carrier
	story *moodyStory
}

// moodyStory keeps what became of each message, whichever channel had it.
type moodyStory struct {
	sync.Mutex
	t       *testing.T
	random  *rand.Rand
	mood    map[string]int    // of each channel: 0 is well
	taken   map[string]int    // how often, by the message
	doubted map[string]string // the channel, by the message
	calls   map[string]int    // at one moment, by the message
}

func (m moody) Send(_ context.Context, msg channel.Message) (channel.Receipt, error) {
	s := m.story
	s.Lock()
	defer s.Unlock()
	s.calls[msg.ID]++
	if at := s.doubted[msg.ID]; at != "" && at != m.key {
		s.t.Errorf("%s is in doubt at %s, and %s is called", msg.Text, at, m.key)
	}
	mood := s.mood[m.key]
	if s.random.IntN(4) == 0 {
		mood = s.random.IntN(8)
	}
	switch mood {
	case 1:
		return channel.Receipt{}, busy
	case 2:
		return channel.Receipt{}, revoked
	case 3:
		return channel.Receipt{}, channel.Permanent("554", nil)
	case 4:
		s.doubted[msg.ID] = m.key
		return channel.Receipt{}, io.EOF
	case 5:
		s.doubted[msg.ID] = m.key
		s.taken[msg.ID]++
		return channel.Receipt{}, io.EOF
	case 6:
		return channel.Receipt{}, channel.Transient("throttled", time.Duration(s.random.IntN(7200))*time.Second, nil)
	}
	s.taken[msg.ID]++
	return channel.Receipt{ID: m.key + msg.ID}, nil
}

// asking is a moody channel that can be asked.
type asking struct{ moody }

func (asking) LookupWindow() time.Duration { return 0 }

func (a asking) Lookup(_ context.Context, msg channel.Message) (channel.LookupResult, error) {
	s := a.story
	s.Lock()
	defer s.Unlock()
	if s.doubted[msg.ID] != a.key || msg.Channel != a.key {
		s.t.Errorf("%s is asked about %s as %s, which is in doubt at %q", a.key, msg.Text, msg.Channel, s.doubted[msg.ID])
	}
	if s.taken[msg.ID] > 0 {
		return channel.LookupResult{Status: channel.LookupAccepted}, nil
	}
	return channel.LookupResult{Status: channel.LookupAbsent}, nil
}

// Whatever three channels answer, no message is taken twice, none leaves the channel
// that it is in doubt at, every poll comes to an end, and in the end each message has
// one.
func TestI9_ChannelsAtRandomTakeEachMessageOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			clk := mockClock()
			s := &moodyStory{t: t, random: rand.New(rand.NewPCG(seed, 1)), mood: map[string]int{}, taken: map[string]int{}, doubted: map[string]string{}, calls: map[string]int{}}
			keys := []string{channelKey, nextKey, lastKey}
			var channels []channel.Channel
			for i, key := range keys {
				m := moody{carrier{nil, key}, s}
				if i == int(seed%3) {
					channels = append(channels, asking{m})
				} else {
					channels = append(channels, m)
				}
			}
			h := newHost(t, memory.New(&memory.Options{Clock: clk}), clk, &provider{})
			h.with(&notify.Options{Concurrency: 1}, notify.Failover(channels[0], channels[1:]...))
			var all int
			for step := range 60 {
				for _, key := range keys {
					if s.random.IntN(8) == 0 {
						s.mood[key] = s.random.IntN(8)
					}
					if step > 40 {
						s.mood[key] = 0
					}
				}
				if step < 40 {
					h.ensure(letter(fmt.Sprint("m", all), fmt.Sprint("r", all)))
					all++
				}
				s.poll(h)
				clk.Add(time.Duration(s.random.IntN(3600)) * time.Second)
			}
			s.check(h, all)
		})
	}
}

// poll runs all passes until there is nothing to do, which has to come. A message has a
// round of calls at most, and one more that a doubt or an outage gives it.
func (s *moodyStory) poll(h *host) {
	s.t.Helper()
	clear(s.calls)
	for range 400 {
		claimed := 0
		for _, p := range h.Passes() {
			claimed += h.poll(p)
		}
		if claimed == 0 {
			for id, n := range s.calls {
				if n > 4 {
					s.t.Errorf("%d calls of %s at one moment", n, id)
				}
			}
			return
		}
	}
	s.t.Fatal("a moment that does not end")
}

func (s *moodyStory) check(h *host, want int) {
	s.t.Helper()
	rows := all(h, notify.Messages)
	if len(rows) != want {
		s.t.Errorf("%d messages", len(rows))
	}
	for _, m := range rows {
		taken := s.taken[m.MessageID]
		sent, held, failed := m.Status == notify.StatusSentToProvider, m.IsOnSupportHold, m.Status == notify.StatusFailedFinal
		switch {
		case taken > 1, sent && taken != 1, failed && taken != 0, !sent && taken > 0 && !held,
			!sent && !held && !failed && m.DueOn.IsZero():
			s.t.Errorf("taken %d times: %+v", taken, m)
		}
	}
}
