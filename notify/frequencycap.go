package notify

import (
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// FrequencyCap bounds how many messages a recipient gets, by whichever producer
// and method: at most Limit in any period of Per. A message that is one too many
// waits until it is none. Mandatory types pass and are not counted.
type FrequencyCap struct {
	Limit int           // at least 1, at most 1000
	Per   time.Duration // at least a minute
	// Skip ends a message that is one too many, instead of letting it wait.
	Skip bool
}

// frequencyRow is what a recipient has got of late. Its Key is the recipient. It is
// never due.
type frequencyRow struct {
	storage.Record
	Messages []counted `db:"messages,json"`
}

// counted is one message, at the moment at which it was last let through.
type counted struct {
	ID string    `json:"id"`
	On time.Time `json:"on"`
}

var frequencies = storage.Define[frequencyRow]("recipient_frequency").Limit(256 << 10)

// count lets a message through and notes it, or says from when on it may go. It
// counts once, at the latest time that it was let through.
func (r *frequencyRow) count(caps []FrequencyCap, id string, now time.Time) (next time.Time, over *FrequencyCap) {
	others := slices.DeleteFunc(slices.Clone(r.Messages), func(c counted) bool { return c.ID == id })
	for i := range caps {
		if at := caps[i].free(others, now); at.After(now) && at.After(next) {
			next, over = at, &caps[i]
		}
	}
	if over == nil {
		r.Messages = append(others, counted{id, now})
		slices.SortStableFunc(r.Messages, func(a, b counted) int { return a.On.Compare(b.On) })
	}
	return next, over
}

// free is when a cap has room for one more; now or before is at once. messages
// are in the order of their times.
func (c FrequencyCap) free(messages []counted, now time.Time) time.Time {
	within := 0
	for _, m := range messages {
		if m.On.Add(c.Per).After(now) {
			within++
		}
	}
	if within < c.Limit {
		return now
	}
	return messages[len(messages)-c.Limit].On.Add(c.Per)
}

// forget drops what no cap looks at any more.
func (r *frequencyRow) forget(caps []FrequencyCap, now time.Time) {
	longest := time.Duration(0)
	for _, c := range caps {
		longest = max(longest, c.Per)
	}
	r.Messages = slices.DeleteFunc(r.Messages, func(c counted) bool { return !c.On.Add(longest).After(now) })
}
