package survey

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// DeleteOptions are the choices of [Service.Delete]; nil is the zero value.
type DeleteOptions struct {
	// Forget lets the event make a new instance when it is told again, as deleted
	// rows do in (Triggers & Scheduler, "About UniqueHash"). It also forgets an
	// event whose instance was deleted before.
	Forget bool
}

// Delete takes back a link: it is never sent again, and answers like one that does
// not exist. The row stays, with its log and its response, and its event makes no
// new one unless that is asked for. A send under way at this moment goes out. Who
// did it and why is written into the audit, in the same transaction. The error
// wraps [ErrActionRefused] where there is nothing left to delete, and
// storage.ErrNotFound where scope has no such instance.
func (s *Service) Delete(ctx context.Context, scope Scope, publicID string, by By, opts *DeleteOptions) error {
	forget := opts != nil && opts.Forget
	err := s.inTx(ctx, func(tx storage.Tx) error {
		row, err := readInstance(ctx, tx, scope, publicID)
		if err != nil {
			return err
		}
		action, change := "Delete", (*Instance).delete
		if forget {
			action, change = "DeleteAndForget", (*Instance).deleteAgain
		}
		if err := audit.Change(ctx, tx, instances, scope, row.Key, action, by, change); err != nil || !forget {
			return err
		}
		return forgetKey(ctx, tx, scope, publicID)
	})
	if err != nil {
		return fmt.Errorf("survey: Delete of %s: %w", publicID, err)
	}
	return nil
}

func (i *Instance) delete(now time.Time) string {
	if !i.DeletedOn.IsZero() {
		return "it is deleted already"
	}
	i.DeletedOn = now
	i.takeBack(now)
	return ""
}

// deleteAgain is delete also of what is deleted, but not forgotten.
func (i *Instance) deleteAgain(now time.Time) string {
	if strings.HasPrefix(i.Key, forgotten) {
		return "it is deleted and forgotten already"
	}
	if i.DeletedOn.IsZero() {
		return i.delete(now)
	}
	return ""
}

// takeBack ends the schedule, whatever holds the row.
func (i *Instance) takeBack(now time.Time) {
	i.DueOn, i.NextSendOn, i.Type, i.IsOnSupportHold = time.Time{}, time.Time{}, "", false
	if i.StoppedOn.IsZero() {
		i.StoppedOn = now
	}
}

// forgotten begins the keys of instances whose event may make a new one.
const forgotten = "forgotten:"

// forgetKey moves a row to a key that no event has.
func forgetKey(ctx context.Context, tx storage.Tx, scope Scope, publicID string) error {
	row, err := readInstance(ctx, tx, scope, publicID)
	if err != nil {
		return err
	}
	moved := *row
	moved.Key = forgotten + publicID
	return replace(ctx, tx, row, &moved)
}

// replace puts a row in the place of another, for what Save does not write since
// it never changes: writing that with every send would cost too much. Whoever holds
// the old row loses it.
func replace(ctx context.Context, tx storage.Tx, old, by *Instance) error {
	if err := instances.Delete(ctx, tx, old); err != nil {
		return err
	}
	by.LeaseExpiresOn, by.ClaimToken, by.Abandoned = time.Time{}, "", false
	isNew, err := instances.Insert(ctx, tx, by)
	if err == nil && !isNew[0] {
		err = fmt.Errorf("the key of %s is taken: %w", by.PublicID, storage.ErrBusy)
	}
	return err
}
