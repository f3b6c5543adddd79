package automation_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/processors"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
)

// A conflict is an answer: inside a transaction as well, the rest are asked.
func TestBoundProcessorsGoOnAfterAConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		triggers := w.withTriggers(nil)
		triggers.set(automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 30, Identity: map[string]string{"course": "b"}})
		w.ensure(candidate(nil))
		var log bytes.Buffer
		p := processors.New(&processors.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		p.Register(processors.Processor{Name: "1", Handler: w.s}, processors.Processor{Name: "2", Handler: w.s})
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := p.WithTx(tx).Process(w.ctx, changed(1))
			var conflict *notify.ConflictError
			if !errors.As(err, &conflict) || len(got) != 2 || got[1].Result.Outcome != automation.EventApplied {
				w.t.Errorf("%+v %v", got, err)
			}
			return nil
		})
		if row := w.row(certificateKey); err != nil || row.HoldReason != reasons.InputConflict {
			w.t.Errorf("%v %+v", err, row)
		}
		if !strings.Contains(log.String(), "outcome=Conflict") {
			w.t.Error(log.String())
		}
	})
}

// The first failure may have written a part of its work, so nobody else is asked
// and the host rolls back: nothing of anybody is left.
func TestABoundProcessorThatFailsSpoilsTheTransaction(t *testing.T) {
	eachWorld(t, func(w *world) {
		triggers := w.withTriggers(nil)
		triggers.set(offsets(date(2026, 5, 1), 30)...)
		bad := automation.New(w.store, w.out, nil)
		bad.Register(certificates(func(t *automation.ReminderType) { t.Name, t.Triggers = "bad", failingTriggers{} }))
		p := processors.New(nil)
		p.Register(processors.Processor{Name: "1", Handler: w.s}, processors.Processor{Name: "2", Handler: bad}, processors.Processor{Name: "3", Handler: w.s})
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := p.WithTx(tx).Process(w.ctx, changed(0))
			if got[0].Err != nil || !errors.Is(got[1].Err, errBoom) || !errors.Is(got[2].Err, processors.ErrNotProcessed) {
				w.t.Errorf("%+v", got)
			}
			return err
		})
		if !errors.Is(err, errBoom) || len(w.rows()) != 0 {
			w.t.Error(err, w.rows())
		}
	})
}

type failingTriggers struct{}

func (failingTriggers) EventTypes() []string { return []string{"certificate-changed"} }
func (failingTriggers) Wanted(context.Context, []automation.Request) ([]automation.Answer, error) {
	return nil, errBoom
}

// Providers that keep their data in the scheduler's store must know when they
// are asked inside a transaction.
func TestProvidersKnowTheTransactionTheyAreAskedIn(t *testing.T) {
	eachWorld(t, func(w *world) {
		var inside []bool
		ask := func(ctx context.Context) {
			_, in := automation.TxOf(ctx)
			inside = append(inside, in)
		}
		opts := &automation.Options{Zone: func(ctx context.Context, _ automation.Scope, _ string) (string, error) { ask(ctx); return "UTC", nil }}
		w.s = newWorld(w.t, w.store, w.clk, opts).s
		p := w.withTriggers(nil)
		p.set(offsets(date(2026, 5, 1), 30)...)
		w.handle(changed(0))
		w.handle(changed(1))
		w.ensure(candidate(func(c *automation.Candidate) { c.Zone = "" }))
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			bound := w.s.WithTx(tx)
			_, err1 := bound.HandleEvent(w.ctx, changed(2))
			_, err2 := bound.Ensure(w.ctx, candidate(func(c *automation.Candidate) { c.Zone = "" }))
			return errors.Join(err1, err2)
		})
		if diff := cmp.Diff([]bool{true, false, false, true, true}, inside); diff != "" || err != nil {
			w.t.Error(err, diff)
		}
	})
}
