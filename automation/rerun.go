package automation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// rerunMark stands in a TriggerKey between the host's own and the number of the
// run that support asked for. No candidate may hold it.
const rerunMark = "~"

// Rerun does Completed work once more: a real second delivery, which no Ensure
// makes (Automation & Reminders, "Ensure semantics": a support-retry key). It
// makes a row that is due now and stands for the same, under the same key but
// for the trigger key, which goes on with "~1"; that of a rerun of "~1" with
// "~2". No event supersedes it. It is validated when it is due: it runs if the
// source still asks for the row that was run first, and ends if the source or its
// setting is gone.
//
// Each row has one rerun, so a second click and a repeated call change nothing:
// they answer storage.Unchanged and what became of the first (Created says that
// this call made it). To send yet again, name the key of the last rerun. It is
// audited on both rows. The error wraps [ErrActionRefused] unless the row is
// Completed, and storage.ErrNotFound where scope has no such key.
func (s *Scheduler) Rerun(ctx context.Context, scope Scope, key string, by By) (out Ensured, err error) {
	if err := by.Check(); err != nil {
		return Ensured{}, fmt.Errorf("automation: %w", err)
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		row, err := schedules.Get(ctx, tx, scope, key)
		if err != nil {
			return err
		}
		next, refused := row.rerun(s.now())
		if refused != "" {
			return fmt.Errorf("%w: %s", ErrActionRefused, refused)
		}
		out, err = s.ensureRerun(ctx, tx, row, next, by)
		return err
	})
	if err != nil {
		return Ensured{}, fmt.Errorf("automation: Rerun of %s: %w", key, err)
	}
	return out, nil
}

// ensureRerun makes next unless it exists, and writes into the history of both.
func (s *Scheduler) ensureRerun(ctx context.Context, tx storage.Tx, row, next *Schedule, by By) (Ensured, error) {
	got, err := schedules.Ensure(ctx, tx, func(*Schedule, *Schedule) (storage.Outcome, bool) { return storage.Unchanged, false }, next)
	if err != nil {
		return Ensured{}, err
	}
	made := got[0].Row
	if got[0].Outcome != storage.Created {
		return answer(got[0].Outcome, made, next), nil
	}
	if err := schedules.Save(ctx, tx, row); err != nil { // its new version is what the audit tells of
		return Ensured{}, err
	}
	err = tell(ctx, tx, by.Actor, []note{{row, row.past(), ActionRerun, by.Reason}})
	if err != nil {
		return Ensured{}, err
	}
	first := note{made, past{by: by.Actor}, ActionCreated, by.Reason}.entry(by.Actor, made.CreatedOn)
	return answer(storage.Created, made, next), audit.Write(ctx, tx, first)
}

// rerun is the row of the next run, or why there is none.
func (r *Schedule) rerun(now time.Time) (next *Schedule, refused string) {
	if r.AutomationType == TypeReportSubscription {
		return nil, "a report is built once more by another run of it"
	}
	if r.Status != StatusCompleted {
		return nil, "it is " + r.Status + "; what is not Completed is retried"
	}
	base, n := r.baseTriggerKey()
	triggerKey := base + rerunMark + strconv.Itoa(n+1)
	key, err := r.keyWith(triggerKey)
	if err != nil {
		return nil, err.Error()
	}
	again := *r
	again.Record = storage.Record{Scope: r.Scope, Key: key, Type: r.Type, Status: StatusPending, Lane: r.Lane, DueOn: now}
	again.TriggerKey = triggerKey
	again.CreatedOn, again.ScheduledOn, again.EndedOn, again.NextRetryOn = now, now, time.Time{}, time.Time{}
	again.RetryCount, again.LeaseLossCount = 0, 0
	again.ReasonCode, again.Diagnostics, again.DispatchResult, again.TraceBlobName = "", "", nil, ""
	again.IsOnSupportHold, again.HoldReason, again.HoldDetail = false, "", ""
	again.EventType, again.EventID = "", ""
	again.relocate()
	return &again, ""
}

// relocate derives the local date of a date-based row from its moment.
func (r *Schedule) relocate() {
	if loc, err := civil.LoadZone(r.TimeZone); err == nil && r.TriggerType == DateBased {
		r.LocalDate = r.ScheduledOn.In(loc).Format(time.DateOnly)
	}
}

// baseTriggerKey is the host's own trigger key, and the number of the rerun: 0
// for the row that the host asked for.
func (r *Schedule) baseTriggerKey() (string, int) {
	base, number, found := strings.Cut(r.TriggerKey, rerunMark)
	if !found {
		return r.TriggerKey, 0
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return r.TriggerKey, 0
	}
	return base, n
}

// baseKey is the key of the row that the host asked for, which a rerun repeats.
func (r *Schedule) baseKey() string {
	base, n := r.baseTriggerKey()
	if n == 0 {
		return r.Key
	}
	key, err := r.keyWith(base)
	if err != nil {
		return r.Key
	}
	return key
}

// keyWith is the row's key with another trigger key, which is the fifth component
// of every key that has one.
func (r *Schedule) keyWith(triggerKey string) (string, error) {
	const place = 4
	parts := strings.SplitN(r.Key, ":", place+2)
	if len(parts) <= place || parts[place] != r.TriggerKey {
		return "", errors.New("its key has no trigger key")
	}
	parts[place] = triggerKey
	key := strings.Join(parts, ":")
	_, err := keys.Parse(key)
	return key, err
}
