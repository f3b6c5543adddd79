package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/storage"
)

// Create stores a new subscription and makes sure of its next run, in one
// transaction. It returns the subscription as it is stored, with its GUID. An
// [*InvalidError] lists all that is wrong with it; nothing was written then. A
// GUID that exists is storage.ErrStale, unless it holds just this: then nothing
// changes, so a call may be repeated.
func (s *Service) Create(ctx context.Context, sub Subscription) (Subscription, error) {
	if sub.Version != 0 {
		return Subscription{}, errors.New("report: Create: the subscription has a Version; Update it")
	}
	if sub.GUID == "" {
		var err error
		if sub.GUID, err = s.NewGUID(); err != nil {
			return Subscription{}, err
		}
	}
	return s.save(ctx, sub)
}

// Update writes a subscription that was read, and brings its next run in line: a
// new cadence moves it, everything else is looked at when it is due. Errors are
// those of Create; one that somebody else wrote meanwhile is storage.ErrStale, one
// that is not there storage.ErrNotFound. What is stored already as it is wanted is
// not written. A subscription that is paused stays so, one that is deactivated
// cannot be changed.
func (s *Service) Update(ctx context.Context, sub Subscription) (Subscription, error) {
	if sub.Version == 0 {
		return Subscription{}, errors.New("report: Update: the subscription has no Version; read it first, or Create it")
	}
	return s.save(ctx, sub)
}

func (s *Service) save(ctx context.Context, sub Subscription) (saved Subscription, err error) {
	sub.Parameters = compact(sub.Parameters)
	f, err := s.faults(ctx, sub)
	if err != nil {
		return Subscription{}, err
	}
	if f.Has("Scope", "GUID") {
		return Subscription{}, f.err(sub.GUID)
	}
	err = s.inTx(ctx, func(s *Service) error {
		row, err := s.put(ctx, sub, faults{slices.Clone(f.Faults)})
		if err == nil && row.Status == StatusActive {
			_, err = s.scheduler.Ensure(ctx, row.subscription().candidate())
		}
		if err == nil {
			saved = row.subscription()
		}
		return err
	})
	if err != nil {
		return Subscription{}, wrap(sub.GUID, err)
	}
	return saved, nil
}

// put writes the row, and adds the faults that only the stored one tells.
func (s *Service) put(ctx context.Context, sub Subscription, f faults) (*row, error) {
	stored, err := find(ctx, s.tx, sub.Scope, sub.GUID)
	if err != nil {
		return nil, err
	}
	want := sub.row(s.now())
	if stored != nil && stored.BusinessUnit != sub.BusinessUnit {
		f.Add("BusinessUnit", "is %.40q and cannot change: runs stand for it", stored.BusinessUnit)
	}
	switch err := f.err(sub.GUID); {
	case err != nil:
		return nil, err
	case stored == nil && sub.Version != 0:
		return nil, storage.ErrNotFound
	case stored == nil:
		inserted, err := subscriptions.Insert(ctx, s.tx, want)
		if err == nil && !inserted[0] {
			return nil, storage.ErrStale
		}
		return want, err
	case stored.says(want):
		return stored, nil
	case stored.Version != sub.Version:
		return nil, fmt.Errorf("read with version %d, stored with %d: %w", sub.Version, stored.Version, storage.ErrStale)
	case stored.Status == StatusDeactivated:
		return nil, fmt.Errorf("%w: it is %s", audit.ErrRefused, stored.Status)
	}
	stored.Type, stored.Name, stored.Document, stored.SavedOn = want.Type, want.Name, want.Document, want.SavedOn
	return stored, subscriptions.Save(ctx, s.tx, stored)
}

// find returns the row with that guid, or nil. A guid that no row can have is not
// asked for.
func find(ctx context.Context, tx storage.Tx, scope storage.Scope, guid string) (*row, error) {
	if !storable.Text(string(scope)) || !storable.Text(guid) {
		return nil, nil
	}
	found, err := subscriptions.Get(ctx, tx, scope, guid)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return found, err
}

// compact gives parameters one spelling; what is no JSON is refused later.
func compact(p json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if len(p) == 0 || json.Compact(&out, p) != nil {
		return p
	}
	return out.Bytes()
}

// wrap says what an error is about.
func wrap(guid string, err error) error {
	var invalid *InvalidError
	if err == nil || errors.As(err, &invalid) {
		return err
	}
	return fmt.Errorf("report: subscription %.60q: %w", guid, err)
}
