package driver

import (
	"context"
	"errors"
	"time"
)

// storeIdentity is the one row that says which database this is.
type storeIdentity struct {
	Record
	Environment    string    `db:"environment,plain"`
	System         string    `db:"system,plain"`
	LossFrom       time.Time `db:"loss_from"`
	LossUntil      time.Time `db:"loss_until"`
	LossNoticedOn  time.Time `db:"loss_noticed_on"`
	LossReleasedOn time.Time `db:"loss_released_on"`
}

func (r *storeIdentity) loss() Loss {
	return Loss{From: r.LossFrom, Until: r.LossUntil, NoticedOn: r.LossNoticedOn, ReleasedOn: r.LossReleasedOn}
}

func (r *storeIdentity) lose(l Loss) {
	r.LossFrom, r.LossUntil, r.LossNoticedOn, r.LossReleasedOn = l.From, l.Until, l.NoticedOn, l.ReleasedOn
}

var identities = Define[storeIdentity]("store_identity").Grows(Bounded).
	Kept(Always, "one; it distinguishes a copy from the original, and finds a database that has lost commits")

// Schemas lists the tables that every store has for itself, beside those of the
// domains. An adapter's first migration creates them.
func Schemas() []*Schema {
	return []*Schema{&blobHeaders.Schema, &blobChunks.Schema, &blobOwners.Schema, &identities.Schema}
}

// LoadIdentity is what adapters answer [Store.Identity] with. The first name that
// is given for a database stays its environment, and the identifier of the system
// that it was created on stays its system; given and present are what the host
// and the server say now, empty where there is nothing to say. It stores what
// [Store.Losses] has found.
func LoadIdentity(ctx context.Context, store Store, given, present string) (Identity, error) {
	id, err := loadIdentity(ctx, store, given, present)
	if found := store.Losses().Found(); err == nil && !found.NoticedOn.IsZero() {
		err = storeLoss(ctx, store, &id, found)
	}
	return id, err
}

// storeLoss adds a loss to what all processes know, and forgets it here.
func storeLoss(ctx context.Context, store Store, id *Identity, found Loss) error {
	err := RetryStale("store_identity", func() error {
		return store.InTx(ctx, func(tx Tx) error {
			row, err := identities.Get(ctx, tx, "", identityKey)
			if err != nil {
				return err
			}
			if id.Loss = row.loss().with(found); id.Loss == row.loss() {
				return nil
			}
			row.lose(id.Loss)
			return identities.Save(ctx, tx, row)
		})
	})
	if err == nil {
		store.Losses().stored(found)
	}
	return err
}

func loadIdentity(ctx context.Context, store Store, given, present string) (Identity, error) {
	id := Identity{Given: given, Present: present}
	err := store.View(ctx, func(from Reader) error {
		stored, err := StoredIdentity(ctx, from)
		id.Environment, id.System, id.Loss = stored.Environment, stored.System, stored.Loss
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound): // it was not asked for yet
	case err != nil, id.Environment != "", given == "":
		return id, err
	}
	err = store.InTx(ctx, func(tx Tx) error {
		want := &storeIdentity{Record: Record{Key: identityKey}, Environment: given, System: present}
		got, err := identities.Ensure(ctx, tx, nameOnce, want)
		if err != nil {
			return err
		}
		id.Environment, id.System = got[0].Row.Environment, got[0].Row.System
		return nil
	})
	return id, err
}

// StoredIdentity reads what [Store.Identity] says is stored:
// Environment, System and Loss.
func StoredIdentity(ctx context.Context, from Reader) (Identity, error) {
	row, err := identities.Get(ctx, from, "", identityKey)
	if err != nil {
		return Identity{}, err
	}
	return Identity{Environment: row.Environment, System: row.System, Loss: row.loss()}, nil
}

// Adopt makes a copy a database of its own: the name that the host gives, if it
// gives one, and the system that it runs on now become the stored ones, and a loss is
// released at now. It returns
// the identity's row as it is then, for the audit. Everybody who opens the
// database as before finds a copy from now on.
func Adopt(ctx context.Context, tx Tx, id Identity, now time.Time) (Record, error) {
	row, err := identities.Get(ctx, tx, "", identityKey)
	if err != nil {
		return Record{}, err
	}
	row.System = id.Present
	if id.Given != "" {
		row.Environment = id.Given
	}
	if row.loss().Open() {
		row.LossReleasedOn = now
	}
	err = identities.Save(ctx, tx, row)
	return row.Record, err
}

// identityKey is the key of the only row.
const identityKey = "store"

// nameOnce gives a database that has no name yet the wanted one.
func nameOnce(stored, want *storeIdentity) (Outcome, bool) {
	if stored.Environment != "" || want.Environment == "" {
		return Unchanged, false
	}
	stored.Environment = want.Environment
	return Updated, true
}
