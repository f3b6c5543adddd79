package survey

import (
	"context"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// logCall notes what came of the call under way, to be written with the row.
func (i *Instance) logCall(now time.Time, status, providerID, reason string) {
	e := i.entry(now, status, reason)
	e.Attempt, e.StartedOn, e.ProviderMessageID = i.Calls, i.CallStartedOn, storable.Code(providerID)
	i.Log = append(i.Log, e)
}

// logNoCall notes why no call was made.
func (i *Instance) logNoCall(now time.Time, status, reason string) {
	i.Log = append(i.Log, i.entry(now, status, reason))
}

func (i *Instance) entry(now time.Time, status, reason string) *Delivery {
	return &Delivery{
		Record:   storage.Record{Scope: i.Scope, Type: i.Channel, Status: status},
		PublicID: i.PublicID, Ordinal: i.SendOrdinal, On: now, ReasonCode: reason,
	}
}

// called reports whether the row comes from a call, whatever came of it.
func (i *Instance) called() bool {
	for _, e := range i.Log {
		if e.Attempt > 0 {
			return true
		}
	}
	return false
}

// writeLog adds the entries of rows that were just saved, in their transaction.
func (s *Service) writeLog(ctx context.Context, tx storage.Tx, rows []*Instance) error {
	var entries []*Delivery
	for _, r := range rows {
		for n, e := range r.Log {
			e := *e // the transaction may run again
			e.Key = r.PublicID + ":" + strconv.FormatInt(r.Version, 10)
			if n > 0 {
				e.Key += ":" + strconv.Itoa(n)
			}
			entries = append(entries, &e)
		}
	}
	_, err := deliveries.Insert(ctx, tx, entries...)
	return err
}
