package survey

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/outbox"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// DeleteOptions are the choices of [Support.Delete]; nil is the zero value.
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
func (s Support) Delete(ctx context.Context, scope Scope, publicID string, by By, opts *DeleteOptions) error {
	forget := opts != nil && opts.Forget
	err := s.inTx(ctx, func(tx storage.Tx) error {
		do := supporting{action: "Delete", change: (*instanceRow).delete}
		if forget {
			do = supporting{action: "DeleteAndForget", change: (*instanceRow).deleteAgain}
		}
		err := driver.RetryStale("the link", func() error { return s.actOnce(ctx, tx, scope, publicID, by, do) })
		if err != nil || !forget {
			return err
		}
		return forgetKey(ctx, tx, scope, publicID)
	})
	if err != nil {
		return fmt.Errorf("survey: Delete of %s: %w", publicID, err)
	}
	return nil
}

func (i *instanceRow) delete(now time.Time, called bool) string {
	if !i.DeletedOn.IsZero() {
		return "it is deleted already"
	}
	i.DeletedOn = now
	i.takeBack(now)
	i.Queued = called
	return ""
}

// deleteAgain is delete also of what is deleted, but not forgotten.
func (i *instanceRow) deleteAgain(now time.Time, called bool) string {
	if strings.HasPrefix(i.Key, forgotten) {
		return "it is deleted and forgotten already"
	}
	if i.DeletedOn.IsZero() {
		return i.delete(now, called)
	}
	return ""
}

// takeBack ends the schedule, whatever holds the row.
func (i *instanceRow) takeBack(now time.Time) {
	i.settleCall()
	i.DueOn, i.NextSendOn, i.Kind, i.IsOnSupportHold = time.Time{}, time.Time{}, "", false
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
// it never changes: writing that with every send would cost too much. A reader of
// the old row cannot write it any more.
func replace(ctx context.Context, tx storage.Tx, old, by *instanceRow) error {
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

// eraseInstance empties an instance, and deletes its response with the answers and the event.
// What is left is deleted (see [Support.Delete]): its key and hash, so that its event makes no
// new one, its log and its dates.
func (s *core) eraseInstance(ctx context.Context, tx storage.Tx, scope Scope, publicID string) error {
	row, err := readInstance(ctx, tx, scope, publicID)
	if err != nil {
		return err
	}
	if err := audit.ForgetAll(ctx, tx, scope, instances.Name, row.formerKeys()...); err != nil {
		return err
	}
	called, err := s.end(ctx, tx, driver.Now(tx.Store()), row)
	if err != nil {
		return err
	}
	now := driver.Now(tx.Store())
	bare := row.erased(now)
	bare.Queued = called
	if err := replace(ctx, tx, row, bare); err != nil {
		return err
	}
	if err := eraseResponse(ctx, tx, scope, publicID); err != nil {
		return err
	}
	return audit.Write(ctx, tx, &audit.Entry{
		Record: storage.Record{Scope: scope}, Subject: instances.Name, SubjectKey: row.Key, SubjectID: bare.ID, SubjectVersion: bare.Version,
		Action: "Erase", Actor: byErasure.Actor, Reason: byErasure.Reason, From: row.Status, To: bare.Status, On: now,
	})
}

// formerKeys are the keys that an instance may have had before its event was forgotten:
// the audit still calls it by one of them.
func (i *instanceRow) formerKeys() (out []string) {
	if !strings.HasPrefix(i.Key, forgotten) {
		return nil
	}
	for _, trigger := range []string{i.TriggerID, ""} {
		if key, err := (keys.SurveyInstance{Survey: i.SurveyID, Trigger: trigger, Hash: i.UniqueHash}).Key(); err == nil {
			out = append(out, key)
		}
	}
	return out
}

// erased is what may be left of an instance.
func (i *instanceRow) erased(now time.Time) *instanceRow {
	bare := *i
	bare.RecipientAddress, bare.RecipientLocale, bare.RecipientZone, bare.CustomerRef, bare.RecipientHash = "", "", "", "", ""
	bare.Metadata = json.RawMessage("{}")
	if bare.DeletedOn.IsZero() {
		bare.DeletedOn = now
	}
	bare.takeBack(now)
	return &bare
}

// eraseResponse deletes the response to an instance, and what was said of it, which may
// be there without it.
func eraseResponse(ctx context.Context, tx storage.Tx, scope Scope, publicID string) error {
	given, err := responses.Find(ctx, tx, scope, driver.Query{Where: []driver.Cond{driver.Eq("key", publicID)}, Limit: 1})
	if err != nil {
		return err
	}
	each, err := answers.Find(ctx, tx, scope, driver.Query{Where: []driver.Cond{driver.Eq("public_id", publicID)}, Limit: maxErasedAnswers})
	if err != nil {
		return err
	}
	if err := answers.Delete(ctx, tx, each...); err != nil {
		return err
	}
	if err := responses.Delete(ctx, tx, given...); err != nil {
		return err
	}
	if err := audit.ForgetAll(ctx, tx, scope, responses.Name, publicID); err != nil {
		return err
	}
	return outbox.Erase(ctx, tx, scope, eventID(publicID))
}

// maxErasedAnswers is more than a response can have, since a survey has two hundred
// questions.
const maxErasedAnswers = 10_000
