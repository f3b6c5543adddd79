package automation

import (
	"context"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// RunReport is Ensure for a candidate with a Run, and tells the history who asked
// for it and why. A row that exists already stays whoever's it is.
func (s *Scheduler) RunReport(ctx context.Context, c Candidate, by By) (out Ensured, err error) {
	if err := by.Check(); err != nil {
		return Ensured{}, fmt.Errorf("automation: RunReport: %w", err)
	}
	if c.Run == "" {
		return Ensured{}, errors.New("automation: RunReport: a candidate without a Run")
	}
	err = s.InTx(ctx, func(s *Scheduler, tx storage.Tx) error {
		got, err := s.Ensure(ctx, c)
		if err != nil {
			return err
		}
		if out = got[0]; out.Outcome != storage.Created {
			return nil
		}
		row, err := schedules.Get(ctx, tx, out.Scope, out.Key)
		if err != nil {
			return err
		}
		made := note{row, past{by: by.Actor}, ActionCreated, by.Reason}
		return audit.Write(ctx, tx, made.entry(by.Actor, row.CreatedOn))
	})
	if err != nil {
		return Ensured{}, fmt.Errorf("automation: RunReport: %w", err)
	}
	return out, nil
}
