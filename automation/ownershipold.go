package automation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// OldRun is a run as the old scheduler knows it.
type OldRun struct {
	// Key is the SchedulerKey that the run has here; see package keys.
	Key string
	// Type is the reminder type, or the type of report, that serves the run here, for
	// runs that only the old scheduler knows. Empty: what the key says, and of a
	// reminder its setting.
	Type string
	// Coordinates say where the old scheduler keeps the delivery, as JSON of at most
	// 4 KiB; empty: nothing is said.
	Coordinates json.RawMessage
	// RanOn is when it delivered the run; zero: now. AcquireForOldScheduler takes no
	// notice of it.
	RanOn time.Time
}

// OldAnswer is what the guard says to the old scheduler about one run.
type OldAnswer struct {
	// Granted says that the run is the old scheduler's: it may deliver after
	// DeliverForOldScheduler, and must not otherwise.
	Granted bool
	Ownership
}

// maxOldCoordinates bounds what the old scheduler may say about a delivery.
const maxOldCoordinates = 4 << 10

// AcquireForOldScheduler asks for runs in the name of the old scheduler, before
// it builds anything: a run that nobody owns becomes its own. Granted is false
// for a run of this side and for one that was delivered, by either. It reserves,
// and no more: a move of the roll-out takes what is not delivered, so only
// [Scheduler.DeliverForOldScheduler] guards a delivery. Answers are in the order
// of keys; it is safe to repeat.
func (s *Scheduler) AcquireForOldScheduler(ctx context.Context, scope Scope, keys ...string) ([]OldAnswer, error) {
	runs := make([]OldRun, len(keys))
	for i, key := range keys {
		runs[i].Key = key
	}
	answers, err := s.forOld(ctx, scope, runs, func(*ownership, time.Time) {}, keepAsIs)
	for i := range answers {
		answers[i].Granted = answers[i].Owner == OldScheduler && answers[i].Status == OwnershipOwned
	}
	return answers, err
}

// DeliverForOldScheduler marks runs as delivered by the old scheduler. It is the
// guard of its deliveries: call it on a scheduler that is bound ([Scheduler.WithTx])
// to the transaction that creates what will be sent, and create nothing for a run
// that is not Granted. A retry with the same Coordinates is granted again; without
// Coordinates it is not, since nobody could tell it from another delivery.
func (s *Scheduler) DeliverForOldScheduler(ctx context.Context, scope Scope, runs ...OldRun) ([]OldAnswer, error) {
	answers, err := s.forOld(ctx, scope, runs, (*ownership).delivered, decideOldDelivery)
	return answers, err
}

// delivered makes o what the old scheduler leaves behind.
func (o *ownership) delivered(on time.Time) {
	o.Status, o.OldRanOn, o.RunOn, o.EndedOn = OwnershipDeliveryCreated, on, on, on
}

func keepAsIs(*ownership, *ownership) (storage.Outcome, bool) { return storage.Unchanged, false }

// decideOldDelivery is the compare-and-swap of the old side.
func decideOldDelivery(stored, want *ownership) (storage.Outcome, bool) {
	switch {
	case stored.ran(OldScheduler) && len(want.Coordinates) > 0 && bytes.Equal(stored.Coordinates, want.Coordinates):
		return storage.Unchanged, false
	case stored.Owner != OldScheduler || stored.Status != OwnershipOwned:
		return storage.Conflict, false
	}
	stored.to(want.EndedOn, OwnershipDeliveryCreated)
	stored.Coordinates, stored.OldRanOn = want.Coordinates, want.OldRanOn
	return storage.Updated, true
}

// forOld ensures rows of the guard in the name of the old scheduler.
func (s *Scheduler) forOld(ctx context.Context, scope Scope, runs []OldRun, shape func(*ownership, time.Time), decide storage.Decide[ownership]) ([]OldAnswer, error) {
	var answers []OldAnswer
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := s.oldRows(scope, runs, shape)
		if err != nil {
			return err
		}
		got, err := ownerships.Ensure(ctx, tx, decide, rows...)
		answers = make([]OldAnswer, len(got))
		for i, g := range got {
			answers[i] = OldAnswer{Granted: g.Outcome != storage.Conflict, Ownership: g.Row.view()}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("automation: old scheduler: %w", err)
	}
	return answers, nil
}

// oldRows checks runs and makes the rows that stand for them.
func (s *Scheduler) oldRows(scope Scope, runs []OldRun, shape func(*ownership, time.Time)) ([]*ownership, error) {
	if scope == storage.AnyScope {
		return nil, errAnyScope
	}
	rows := make([]*ownership, len(runs))
	for i, run := range runs {
		if err := run.check(); err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		on := storage.Time(run.RanOn)
		if on.IsZero() {
			on = s.now()
		}
		rows[i] = &ownership{
			Record: storage.Record{Scope: scope, Key: run.Key, Status: OwnershipOwned},
			Owner:  OldScheduler, OwnerVersion: 1, Coordinates: run.Coordinates, RunOn: on,
		}
		if len(run.Coordinates) == 0 {
			rows[i].Coordinates = nil
		}
		rows[i].read(run.Type)
		shape(rows[i], on)
	}
	return rows, nil
}

// read takes from the key what the run is about.
func (o *ownership) read(named string) {
	parsed, _ := keys.Parse(o.Key) // it was checked
	switch k := parsed.(type) {
	case keys.Reminder:
		o.Setting, o.SourceType, o.Source = k.Setting, k.SourceType, k.Source
	case keys.Threshold:
		o.Setting, o.SourceType, o.Source = k.Setting, k.SourceType, k.Source
	case keys.Recurring:
		o.Setting, o.SourceType, o.Source = k.Setting, k.SourceType, k.Source
	case keys.Host:
		o.Type, o.Setting, o.SourceType, o.Source = k.Type, k.Type, k.SourceType, k.Source
	case keys.ReportRun:
		o.Setting, o.SourceType, o.Source = TypeReportSubscription, TypeReportSubscription, k.Subscription
	case keys.ManualReportRun:
		o.Setting, o.SourceType, o.Source = TypeReportSubscription, TypeReportSubscription, k.Subscription
	}
	o.Type = cmp.Or(o.Type, named, o.Setting)
}

func (r OldRun) check() error {
	if _, err := keys.Parse(r.Key); err != nil {
		return fmt.Errorf("its Key: %w", err)
	}
	switch {
	case len(r.Coordinates) > maxOldCoordinates:
		return fmt.Errorf("its Coordinates have %d bytes, more than %d", len(r.Coordinates), maxOldCoordinates)
	case len(r.Coordinates) > 0 && !json.Valid(r.Coordinates):
		return errors.New("its Coordinates are no JSON")
	}
	return nil
}
