package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Preference says whether a recipient wants messages of a type by a method. The
// most particular one that there is decides: type and method, the type by any
// method, the method for all types, everything. Without one messages are wanted.
// Mandatory types pass all of them.
type Preference struct {
	Scope        Scope
	RecipientRef string // the host's id; required
	Type, Method string // empty: all of them
	OptedOut     bool
	Since        time.Time // when it was last changed; set by the store
}

// preferenceRow is a Preference as it is stored. Recipients of whom the host has no
// id are known by the hash of their address. It is never due.
type preferenceRow struct {
	storage.Record             // Key: recipient, method, type
	RecipientRef     string    `db:"recipient_ref,fixed"` // empty: known by a hash
	NotificationType string    `db:"notification_type,fixed"`
	Method           string    `db:"method,fixed"`
	OptedOut         bool      `db:"opted_out"`
	ChangedOn        time.Time `db:"changed_on"`
	MessageID        string    `db:"message_id"` // whose link said so; empty: the host
}

var preferences = storage.Define[preferenceRow]("recipient_preference").Limit(8 << 10)

// preferenceKey is the key of a recipient's row. Empty means all of them.
func preferenceKey(recipient, method, notificationType string) string {
	if method != "" {
		method = ":" + keyPart(method)
	}
	if notificationType != "" {
		notificationType = ":" + keyPart(notificationType)
	}
	return joined(recipient, "method"+method, "type"+notificationType)
}

// SetPreferences stores what recipients want, as their settings page says. The last
// word counts.
func (n *Notifier) SetPreferences(ctx context.Context, want ...Preference) error {
	rows := make([]preferenceRow, len(want))
	for i, p := range want {
		row, err := p.row(storage.Now(n.store))
		if err != nil {
			return fmt.Errorf("notify: SetPreferences, argument %d: %w", i+1, err)
		}
		rows[i] = row
	}
	return n.inTx(ctx, nil, func(tx storage.Tx) error { return savePreferences(ctx, tx, copies(rows)...) })
}

func (p Preference) row(now time.Time) (preferenceRow, error) {
	if p.RecipientRef == "" {
		return preferenceRow{}, errors.New("RecipientRef is empty")
	}
	return preferenceRow{
		Record:       storage.Record{Scope: p.Scope, Key: preferenceKey(recipientOf(p.RecipientRef), p.Method, p.Type)},
		RecipientRef: p.RecipientRef, NotificationType: p.Type, Method: p.Method, OptedOut: p.OptedOut, ChangedOn: now,
	}, nil
}

// savePreferences makes rows what the wanted ones say.
func savePreferences(ctx context.Context, tx storage.Tx, want ...*preferenceRow) error {
	_, err := preferences.Ensure(ctx, tx, func(stored, want *preferenceRow) (storage.Outcome, bool) {
		if stored.OptedOut == want.OptedOut {
			return storage.Unchanged, false
		}
		stored.OptedOut, stored.ChangedOn, stored.MessageID = want.OptedOut, want.ChangedOn, want.MessageID
		return storage.Updated, true
	}, want...)
	return err
}

// Preferences lists what is known of a recipient's wishes.
func (n *Notifier) Preferences(ctx context.Context, scope Scope, recipientRef string) ([]Preference, error) {
	within, err := under(recipientOf(recipientRef))
	if err != nil {
		return nil, err
	}
	rows, err := list(ctx, n, preferences, scope, Page{}, within)
	out := make([]Preference, len(rows))
	for i, r := range rows {
		out[i] = Preference{r.Scope, r.RecipientRef, r.NotificationType, r.Method, r.OptedOut, r.ChangedOn}
	}
	return out, err
}
