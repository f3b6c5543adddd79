package notify

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// Quarantined reports whether the database is a copy of another environment's,
// or was moved to another system: messages are made and shown then, and none is
// sent, nor a provider asked about one (see storage.Identity).
func (n *Notifier) Quarantined(ctx context.Context) (bool, error) {
	id, err := n.store.Identity(ctx)
	if err != nil {
		return true, fmt.Errorf("notify: Quarantined: %w", err)
	}
	return id.Copied(), nil
}

// ReleaseQuarantine says that a copied database is to send from now on, under the
// name that this process gives it and on the system that it is on: every message
// that waits goes out, from the next poll of every process on. Who opens the
// database as before is quarantined in turn. It is audited, and refused
// ([ErrActionRefused]) where nothing is in quarantine.
func (n *Notifier) ReleaseQuarantine(ctx context.Context, by By) error {
	if err := by.Check(); err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	id, err := n.store.Identity(ctx)
	if err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	if !id.Copied() {
		return fmt.Errorf("notify: ReleaseQuarantine: %w: the database is no copy", ErrActionRefused)
	}
	err = n.store.InTx(ctx, func(tx storage.Tx) error {
		row, err := storage.Adopt(ctx, tx, id)
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, &audit.Entry{
			Subject: "store_identity", SubjectKey: row.Key, SubjectID: row.ID, SubjectVersion: row.Version,
			Action: "ReleaseQuarantine", Actor: by.Actor, Reason: by.Reason,
			From: id.Environment + "@" + id.System, To: id.Given + "@" + id.Present, On: storage.Now(n.store),
		})
	})
	if err != nil {
		return fmt.Errorf("notify: ReleaseQuarantine: %w", err)
	}
	return nil
}
