package survey

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// Sweep is what a process does beside its polls.
func (s *Service) Sweep(ctx context.Context) error { return s.unservedPass().Sweep(ctx) }

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

// Counts are what a query counts of answers and choices, few or many, by question, and the
// responses.
func (s *Service) Counts(ctx context.Context, q ResultQuery) (chosen map[string]map[string]int, responses int, err error) {
	in, _, err := s.Results().inquire(ctx, "", q)
	chosen = map[string]map[string]int{}
	for _, c := range in.groups {
		responses += c.Responses
		for key, g := range c.Chosen {
			chosen[key] = g.Values
		}
	}
	return chosen, responses, err
}

// InstanceRow is what is stored of an instance.
type InstanceRow = instanceRow

// LinkHash is what a link's token is looked up by, for tests that make instances
// without sending them.
var LinkHash = linkHash
