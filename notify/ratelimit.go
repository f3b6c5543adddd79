package notify

import (
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// RateLimit bounds how fast a channel is used by all processes together: Limit
// calls per Per in the long run, and Burst at once. Messages that are too many
// wait for about as long as it takes.
type RateLimit struct {
	Channel string        // the key: "sms:twilio"; required
	Limit   int           // 1 to 10,000
	Per     time.Duration // a millisecond to a day
	// Burst is how many calls may be made at once after a rest, 1 to 10,000;
	// default what a second allows, at least 1. A tenth of it, rounded down, is left
	// to urgent messages.
	Burst int
	// PerScope gives each scope a limit of its own; otherwise all share one.
	PerScope bool
}

// check returns the limit as it is used, and panics on one that is none.
func (l RateLimit) check() RateLimit {
	if l.Channel == "" || l.Limit < 1 || l.Limit > 10_000 || l.Per < time.Millisecond || l.Per > 24*time.Hour || l.Burst < 0 || l.Burst > 10_000 {
		panic(fmt.Sprintf("notify: Gates: a rate of %d calls per %v, burst %d, of channel %q: see RateLimit", l.Limit, l.Per, l.Burst, l.Channel))
	}
	if l.Burst == 0 {
		l.Burst = min(max(int(time.Duration(l.Limit)*time.Second/l.Per), 1), 10_000)
	}
	return l
}

// cost is how long it takes until n more calls are allowed. One takes whole
// microseconds, which is what is stored, rounded up.
func (l RateLimit) cost(n int) time.Duration {
	micros := (l.Per + time.Duration(l.Limit)*time.Microsecond - 1) / (time.Duration(l.Limit) * time.Microsecond)
	return time.Duration(n) * micros * time.Microsecond
}

// rateBucket is what has been taken of a limit. Its Key is the channel. It is never
// due.
type rateBucket struct {
	storage.Record
	// TakenUntil is when the bucket is full again. Burst calls before it the bucket
	// is empty.
	TakenUntil time.Time `db:"taken_until"`
	// PromisedUntil is when the last of those that were told to wait comes back.
	PromisedUntil time.Time `db:"promised_until"`
}

var rateBuckets = storage.Define[rateBucket]("rate_bucket")

// take lets one call through, or says that there are too many.
func (b *rateBucket) take(l RateLimit, now time.Time, urgent bool) bool {
	taken := later(b.TakenUntil, now).Add(l.cost(1))
	room := l.Burst
	if !urgent {
		room -= l.Burst / 10
	}
	if taken.Sub(now) > l.cost(room) {
		return false
	}
	b.TakenUntil = taken
	return true
}

// maxPromise is how far ahead waiting messages are lined up. What is beyond it comes
// back before, and lines up anew.
const maxPromise = time.Hour

// promise is when a message that is too many comes back: behind those that have
// been told so before.
func (b *rateBucket) promise(l RateLimit, now time.Time, id string) time.Time {
	next := later(b.PromisedUntil, later(b.TakenUntil.Add(-l.cost(l.Burst)), now)).Add(l.cost(1))
	if next.Sub(now) > maxPromise {
		return storage.Time(now.Add(maxPromise/2 + spread(id, maxPromise/2)))
	}
	b.PromisedUntil = next
	return next
}

// rateReservation says that an attempt has been let through, so that it is not
// counted again. Insert only, and deleted after an hour.
type rateReservation struct {
	storage.Record           // Key: channel, message id and number of the attempt
	ReservedOn     time.Time `db:"reserved_on,fixed"`
}

var rateReservations = storage.Define[rateReservation]("rate_reservation")
