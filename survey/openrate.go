package survey

import (
	"errors"
	"hash/maphash"
	"sync"
	"time"
)

// ErrTooMany says that one address has sent more by open links in this hour than
// [Options].OpenPerHour. Nothing was stored.
var ErrTooMany = errors.New("survey: too many responses by open links came from this address in this hour: try again in the next one")

// mostSenders bounds how many addresses are remembered; beyond that they are counted anew.
const mostSenders = 100_000

// senders counts, for an hour, what came from which address. It keeps no address: only its hash under a
// seed of this process.
type senders struct {
	mu   sync.Mutex
	seed maphash.Seed
	hour time.Time
	sent map[uint64]int
}

// admit counts what comes from an address, and says whether it is among the first of the hour.
func (s *senders) admit(address string, now time.Time, most int) bool {
	if address == "" || most < 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if hour := now.Truncate(time.Hour); !hour.Equal(s.hour) || len(s.sent) >= mostSenders {
		s.seed, s.hour, s.sent = maphash.MakeSeed(), hour, map[uint64]int{}
	}
	from := maphash.String(s.seed, address)
	s.sent[from]++
	return s.sent[from] <= most
}
