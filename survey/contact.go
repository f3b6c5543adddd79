package survey

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/belfry-go/belfry/internal/owned"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey/form"
)

// sampled says whether an event is in the share that its trigger asks about.
func (s *core) sampled(t *form.Trigger, key string) bool {
	return t.Contact == nil || t.Contact.Sample == 0 || s.options.Sample(key) < float64(t.Contact.Sample)/100
}

// luck is the same for a key on every machine, and evenly spread.
func luck(key string) float64 {
	sum := sha256.Sum256([]byte(key))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// Pauses of links whose customer is being asked by another one, which may come to
// nothing: the older one of two is looked at first.
const (
	olderWaits   = time.Minute
	youngerWaits = 2 * time.Minute
)

// asked is a message that is about to be sent, and what is to become of it.
type asked struct {
	*sending
	answer *owned.Answer
}

// restful skips the first sends to customers whom another link asked of late. The rule
// is kept right before the call and not by ingest: what counts is when customers are asked,
// and a link that never came to that keeps back no other. A cap could not replace it: it
// counts messages, and knows neither groups of surveys nor reminders that were answered.
func (s owner) restful(ctx context.Context, from driver.Reader, all []asked) error {
	now := driver.Now(s.store)
	for _, it := range all {
		if !it.ruled() {
			continue
		}
		other, lately, err := s.asking(ctx, from, it.sending, all, now)
		switch r := it.Row; {
		case err != nil:
			return err
		case other == nil:
		case lately:
			it.answer.Skip = reasons.AskedLately
		default: // what comes of it is not known yet
			it.answer.Until, it.answer.Reason = now.Add(olderWaits), reasons.AskedAtOnce
			if other.ID < r.ID {
				it.answer.Until = now.Add(youngerWaits)
			}
		}
	}
	return nil
}

// ruled says whether the trigger's rule is to be asked about this send.
func (it *sending) ruled() bool {
	r := it.Row
	return it.trigger != nil && it.trigger.Contact != nil && it.trigger.Contact.NotAskedWithin != nil &&
		r.Status == StatusPending && r.LastSentOn.IsZero() && r.CustomerRef != ""
}

// quietSince is since when no other link may have asked.
func (it *sending) quietSince(now time.Time) time.Time {
	return driver.Time(now.Add(-time.Duration(*it.trigger.Contact.NotAskedWithin)))
}

// counts says whether the rule of a send looks at another link.
func (it *sending) counts(o *instanceRow) bool {
	r, group := it.Row, it.trigger.Contact.Group
	return o.Scope == r.Scope && o.CustomerRef == r.CustomerRef && (group == "" || o.ContactGroup == group)
}

// maxAsking bounds how many links of a customer a rule looks at.
const maxAsking = 200

// asking is another link that asked the customer of late, or whose message a worker has at
// this moment; nil: none. Of links in one group of sends the oldest goes first. It reads by
// the customer, who has few links. Two that are asked about at once see each other: their
// messages are claimed before.
func (s owner) asking(ctx context.Context, from driver.Reader, it *sending, all []asked, now time.Time) (other *instanceRow, lately bool, err error) {
	with := map[int64]bool{} // this one, and those that it goes before
	for _, o := range all {
		switch {
		case !it.counts(o.Row):
		case o.Row.ID < it.Row.ID:
			return o.Row, false, nil
		default:
			with[o.Row.ID] = true
		}
	}
	since := it.quietSince(now)
	where := []driver.Cond{
		driver.Eq("customer_ref", it.Row.CustomerRef),
		driver.Any(driver.AtLeast("last_sent_on", since), driver.Eq("queued", true)),
	}
	if group := it.trigger.Contact.Group; group != "" {
		where = append(where, driver.Eq("contact_group", group))
	}
	found, err := instances.Find(ctx, from, it.Row.Scope, driver.Query{
		Columns: []string{"public_id", "last_sent_on", "queued", "send_ordinal", "attempts"}, Where: where, Unordered: true, Limit: maxAsking,
	})
	if err != nil {
		return nil, false, err
	}
	var places []driver.ScopedKey
	for _, o := range found {
		switch {
		case with[o.ID]:
		case !o.LastSentOn.Before(since):
			return o, true, nil
		case o.Queued:
			places = append(places, o.messageAt())
		}
	}
	if len(places) == 0 {
		return nil, false, nil
	}
	messages, err := s.out.Find(ctx, from, places...)
	for _, o := range found {
		m, there := messages[o.messageAt()]
		switch {
		case with[o.ID] || !there:
		case m.Sent, m.InDoubt && !m.Claimed(now):
			return o, !m.CallStartedOn.Before(since), err
		case m.Claimed(now):
			other = o
		}
	}
	return other, false, err
}
