package survey_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/survey"
)

// outrunStore has others write every instance before its transactions can.
type outrunStore struct {
	storage.Store
	sweeps int
}

type outrunTx struct {
	storage.Tx
	store *outrunStore
}

var errSpins = errors.New("the sweep begins again and again")

func (s *outrunStore) InTx(ctx context.Context, f func(storage.Tx) error) error {
	if s.sweeps++; s.sweeps > 3 {
		return errSpins
	}
	return s.Store.InTx(ctx, func(tx storage.Tx) error { return f(&outrunTx{tx, s}) })
}

func (t *outrunTx) Store() storage.Store { return t.store }

func (t *outrunTx) Update(ctx context.Context, s *driver.Schema, rows []driver.Row) ([]bool, error) {
	if s.Name != "survey_instance" {
		return t.Tx.Update(ctx, s, rows)
	}
	stale := make([]bool, len(rows))
	for i := range stale {
		stale[i] = true
	}
	return stale, nil
}

// Where others are quicker with a whole page, the sweep leaves the rest to them.
func TestASweepThatFreedNothingEnds(t *testing.T) {
	inMemory(t, nil, func(h *host) {
		h.publish(definition("0d", nil))
		h.take(visits(0, 1000))
		h.use(survey.Options{}) // no channels
		for range 2 {
			if err := h.survey.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.clock.Add(50 * time.Minute)
		}
		outrun := &outrunStore{Store: h.store}
		if err := survey.New(outrun, nil).Sweep(t.Context()); err != nil || outrun.sweeps != 1 {
			t.Errorf("%v after %d transactions", err, outrun.sweeps)
		}
	})
}
