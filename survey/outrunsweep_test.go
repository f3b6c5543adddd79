package survey_test

import (
	"errors"
	"testing"
	"time"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/survey"
)

var errSpins = errors.New("the sweep begins again and again")

// outrun has others write every instance just before a sweep can.
func (h *host) outrun(c storetest.Call) error {
	switch {
	case c.Verb == storetest.Begin && c.Number > 3:
		return errSpins
	case c.Verb == storetest.Update && c.Table == "survey_instance":
		return h.rewritten(c)
	}
	return nil
}

// rewritten writes the rows of a call as they are stored.
func (h *host) rewritten(c storetest.Call) error {
	for _, r := range c.Rows {
		mine := r.(*survey.Instance)
		stored, err := instanceTable.Get(h.t.Context(), c.Tx, mine.Scope, mine.Key)
		if err == nil {
			err = instanceTable.Save(h.t.Context(), c.Tx, stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
		outrun := &storetest.Spy{Store: h.store, Hook: h.outrun}
		if err := survey.New(outrun, nil).Sweep(t.Context()); err != nil || outrun.Begun() != 1 {
			t.Errorf("%v after %d transactions", err, outrun.Begun())
		}
	})
}
