package survey

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// Write changes a row as another part of the package would.
func (s *Service) Write(ctx context.Context, publicID string, change func(*instanceRow)) error {
	return s.store.InTx(ctx, func(tx storage.Tx) error {
		row, err := readInstance(ctx, tx, "", publicID)
		if err != nil {
			return err
		}
		change(row)
		return instances.Save(ctx, tx, row)
	})
}

// InstanceRow is what is stored of an instance.
type InstanceRow = instanceRow

// LinkHash is what a link's token is looked up by, for tests that make instances
// without sending them.
var LinkHash = linkHash
