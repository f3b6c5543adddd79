package settings

import (
	"context"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/storage"
)

// SaveBusinessUnit inserts a unit (Version zero) or writes one that was read,
// and returns it as it is stored. Errors are those of [Settings.SaveReminder].
// Rows that exist move to another zone or calendar when they are asked for
// again.
func (s *Settings) SaveBusinessUnit(ctx context.Context, want BusinessUnit) (BusinessUnit, error) {
	if err := want.Validate(); err != nil {
		return BusinessUnit{}, err
	}
	var saved BusinessUnit
	err := s.inTx(ctx, func(tx storage.Tx) error {
		stored, err := find(ctx, tx, units, want.Scope, want.ID)
		if err != nil {
			return err
		}
		row := want.row(storage.Now(tx.Store()))
		if stored != nil && stored.says(row) {
			saved = stored.unit()
			return nil
		}
		err = put(ctx, tx, units, stored, row, want.Version)
		saved = row.unit()
		return err
	})
	if err != nil {
		return BusinessUnit{}, wrap("business unit", want.ID, err)
	}
	return saved, nil
}

// BusinessUnit returns the unit with that id, or storage.ErrNotFound.
func (s *Settings) BusinessUnit(ctx context.Context, scope automation.Scope, id string) (BusinessUnit, error) {
	u, ok, err := s.unit(ctx, scope, id)
	if err == nil && !ok {
		err = storage.ErrNotFound
	}
	return u, wrap("business unit", id, err)
}

func (s *Settings) unit(ctx context.Context, scope automation.Scope, id string) (u BusinessUnit, ok bool, err error) {
	err = s.inTx(ctx, func(tx storage.Tx) error {
		row, err := find(ctx, tx, units, scope, id)
		if ok = row != nil; ok {
			u = row.unit()
		}
		return err
	})
	return u, ok, err
}

// BusinessUnits lists the units of a scope, and says where the next page begins;
// empty after the last.
func (s *Settings) BusinessUnits(ctx context.Context, scope automation.Scope, p Page) ([]BusinessUnit, string, error) {
	var out []BusinessUnit
	var next string
	err := s.inTx(ctx, func(tx storage.Tx) error {
		rows, after, err := listRows(ctx, tx, units, scope, "", p)
		out, next = nil, after
		for _, r := range rows {
			out = append(out, r.unit())
		}
		return err
	})
	return out, next, err
}

// unit checks that a business unit that a setting names exists.
func (f *faults) unit(ctx context.Context, tx storage.Tx, scope automation.Scope, id string) error {
	if id == "" || f.Has("BusinessUnit") {
		return nil
	}
	row, err := find(ctx, tx, units, scope, id)
	if err == nil && row == nil {
		f.Add("BusinessUnit", "there is no business unit %.60q in this scope", id)
	}
	return err
}
