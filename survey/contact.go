package survey

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

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

// restful skips the first sends to customers whom another link asked of late. The rule
// is kept here and not by ingest: what counts is when customers are asked, and a link
// that never came to that keeps back no other.
func (s asker) restful(ctx context.Context, items []*sending) (open []*sending, err error) {
	if !slices.ContainsFunc(items, (*sending).ruled) {
		return items, nil
	}
	err = s.read(ctx, func(from driver.Reader) error {
		open, err = s.ruled(ctx, from, items)
		return err
	})
	return open, err
}

// ruled says whether the trigger's rule is to be asked about this send.
func (it *sending) ruled() bool {
	r := it.Row
	return it.trigger != nil && it.trigger.Contact != nil && it.trigger.Contact.NotAskedWithin != nil &&
		r.Status == StatusPending && r.LastSentOn.IsZero() && r.CustomerRef != ""
}

func (s asker) ruled(ctx context.Context, from driver.Reader, items []*sending) (open []*sending, err error) {
	now := driver.Now(s.store)
	for _, it := range items {
		if !it.ruled() {
			open = append(open, it)
			continue
		}
		other, err := s.asking(ctx, from, it, items, now)
		switch r := it.Row; {
		case err != nil:
			return nil, err
		case other == nil:
			open = append(open, it)
		case other.askedSince(it.quietSince(now), now):
			r.skip(now, ReasonAskedLately)
		default: // what comes of it is not known yet
			r.NextTryOn, r.ReasonCode = now.Add(olderWaits), ReasonAskedAtOnce
			if other.ID < r.ID {
				r.NextTryOn = now.Add(youngerWaits)
			}
		}
	}
	return open, nil
}

// quietSince is since when no other link may have asked.
func (it *sending) quietSince(now time.Time) time.Time {
	return driver.Time(now.Add(-time.Duration(*it.trigger.Contact.NotAskedWithin)))
}

// askedSince says whether the link was sent since a moment, or may have been.
func (i *instanceRow) askedSince(since, now time.Time) bool {
	return !i.LastSentOn.Before(since) || !i.CallStartedOn.Before(since) && !i.LeaseExpiresOn.After(now)
}

// counts says whether the rule of a send looks at another link.
func (it *sending) counts(o *instanceRow) bool {
	r, group := it.Row, it.trigger.Contact.Group
	return o.Scope == r.Scope && o.CustomerRef == r.CustomerRef && (group == "" || o.ContactGroup == group)
}

// asking is another link that asked the customer of late, or does so at this moment;
// nil: none. Of links in one group of sends the oldest goes first. It reads by the
// customer, who has few links.
func (s asker) asking(ctx context.Context, from driver.Reader, it *sending, items []*sending, now time.Time) (*instanceRow, error) {
	with := map[int64]bool{} // this one, and those that it goes before
	for _, o := range items {
		switch {
		case !it.counts(o.Row):
		case o.Row.ID < it.Row.ID:
			return o.Row, nil
		default:
			with[o.Row.ID] = true
		}
	}
	since := it.quietSince(now)
	where := []driver.Cond{
		driver.Eq("customer_ref", it.Row.CustomerRef),
		driver.Any(driver.AtLeast("last_sent_on", since), driver.AtLeast("call_started_on", since), driver.Greater("lease_expires_on", now)),
	}
	if group := it.trigger.Contact.Group; group != "" {
		where = append(where, driver.Eq("contact_group", group))
	}
	found, err := instances.Find(ctx, from, it.Row.Scope, driver.Query{
		Columns: []string{"lease_expires_on", "last_sent_on", "call_started_on"}, Where: where, Unordered: true, Limit: len(with) + 1,
	})
	found = slices.DeleteFunc(found, func(o *instanceRow) bool { return with[o.ID] })
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if n := slices.IndexFunc(found, func(o *instanceRow) bool { return o.askedSince(since, now) }); n > 0 {
		return found[n], nil
	}
	return found[0], nil
}
