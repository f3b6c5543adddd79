package automation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// told is a handler that notes that it was asked and then does what it is told.
func told(asked *[]string, name string, then func() error) automation.EventHandler {
	return automation.EventHandlerFunc(func(context.Context, automation.Event) (automation.EventResult, error) {
		*asked = append(*asked, name)
		return automation.EventResult{Outcome: automation.EventApplied}, then()
	})
}

func fine() error { return nil }

// quietly is a registry whose log the test reads.
func quietly() (*automation.Processors, *bytes.Buffer) {
	var log bytes.Buffer
	return automation.NewProcessors(&automation.ProcessorsOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}), &log
}

func TestProcessorsAreAskedInTheirOrder(t *testing.T) {
	t.Parallel()
	var asked []string
	p, _ := quietly()
	p.Register(
		automation.Processor{Name: "b", Order: 2, Handler: told(&asked, "b", fine)},
		automation.Processor{Name: "last", Order: 3, EventTypes: []string{"paid"}, Handler: told(&asked, "last", fine)},
		automation.Processor{Name: "a", Order: 2, EventTypes: []string{"paid", "issued"}, Handler: told(&asked, "a", fine)},
	)
	p.Register(automation.Processor{Name: "first", Order: -1, Handler: told(&asked, "first", fine)})
	got, err := p.Process(t.Context(), automation.Event{Type: "paid"})
	if diff := cmp.Diff([]string{"first", "a", "b", "last"}, asked); diff != "" || err != nil {
		t.Error(err, diff)
	}
	var names []string
	for _, one := range got {
		names = append(names, one.Name)
	}
	if diff := cmp.Diff(asked, names); diff != "" {
		t.Error("results:", diff)
	}
	asked = nil
	if got, err := p.Process(t.Context(), automation.Event{Type: "issued"}); err != nil || len(got) != 3 || strings.Join(asked, " ") != "first a b" {
		t.Error(got, err, asked)
	}
}

// Whoever hears of a stale event has nothing to repeat.
func TestAStaleEventIsProcessed(t *testing.T) {
	t.Parallel()
	p, log := quietly()
	p.Register(automation.Processor{Name: "a", Handler: automation.EventHandlerFunc(func(context.Context, automation.Event) (automation.EventResult, error) {
		return automation.EventResult{Outcome: automation.EventStale}, fmt.Errorf("version 3, after 4: %w", automation.ErrStaleEvent)
	})})
	got, err := p.Process(t.Context(), automation.Event{Type: "paid"})
	if err != nil || len(got) != 1 || got[0].Err != nil || got[0].Result.Outcome != automation.EventStale || log.Len() > 0 {
		t.Errorf("%+v, %v, %s", got, err, log)
	}
}

// A name as an event or error must not leak into logs: only words of the program
// do, and the error goes to the caller.
func TestAProcessorThatFailsDoesNotStopTheRest(t *testing.T) {
	t.Parallel()
	var asked []string
	p, log := quietly()
	p.Register(
		automation.Processor{Name: "1-fails", Handler: told(&asked, "1-fails", func() error { return errBoom })},
		automation.Processor{Name: "2-panics", Handler: told(&asked, "2-panics", func() error { panic("sam@example.com") })},
		automation.Processor{Name: "3-works", Handler: told(&asked, "3-works", fine)},
	)
	got, err := p.Process(t.Context(), automation.Event{Type: "paid", ID: "sam@example.com"})
	if diff := cmp.Diff([]string{"1-fails", "2-panics", "3-works"}, asked); diff != "" {
		t.Error(diff)
	}
	if len(got) != 3 || !errors.Is(got[0].Err, errBoom) || got[1].Err == nil || got[2].Err != nil || got[2].Result.Outcome != automation.EventApplied {
		t.Errorf("%+v", got)
	}
	if !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "processor 1-fails: boom") || !strings.Contains(err.Error(), "processor 2-panics: panic") {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "processor=1-fails event=paid outcome=Failed") || !strings.Contains(text, "outcome=Panicked") ||
		strings.Contains(text+err.Error(), "sam@") || strings.Contains(text, "boom") {
		t.Error(text, err)
	}
}

func TestAContextThatEndsStopsBeforeTheNextProcessor(t *testing.T) {
	t.Parallel()
	var asked []string
	ctx, cancel := context.WithCancelCause(t.Context())
	p, _ := quietly()
	p.Register(
		automation.Processor{Name: "1", Handler: told(&asked, "1", func() error { cancel(errBoom); return nil })},
		automation.Processor{Name: "2", Handler: told(&asked, "2", fine)},
	)
	got, err := p.Process(ctx, automation.Event{Type: "paid"})
	if len(asked) != 1 || got[0].Err != nil || !errors.Is(got[1].Err, automation.ErrNotProcessed) || !errors.Is(err, errBoom) {
		t.Errorf("%v %+v %v", asked, got, err)
	}
}

// A conflict is an answer: inside a transaction as well, the rest are asked.
func TestBoundProcessorsGoOnAfterAConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		triggers := w.withTriggers(nil)
		triggers.set(automation.Candidate{TargetDate: date(2026, 5, 1), DaysBefore: 30, Identity: map[string]string{"course": "b"}})
		w.ensure(candidate(nil))
		p, log := quietly()
		p.Register(automation.Processor{Name: "1", Handler: w.s}, automation.Processor{Name: "2", Handler: w.s})
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := p.WithTx(tx).Process(w.ctx, changed(1))
			var conflict *notify.ConflictError
			if !errors.As(err, &conflict) || len(got) != 2 || got[1].Result.Outcome != automation.EventApplied {
				w.t.Errorf("%+v %v", got, err)
			}
			return nil
		})
		if row := w.row(certificateKey); err != nil || row.HoldReason != automation.InputConflict {
			w.t.Errorf("%v %+v", err, row)
		}
		if !strings.Contains(log.String(), "outcome=Conflict") {
			w.t.Error(log)
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
		p, _ := quietly()
		p.Register(automation.Processor{Name: "1", Handler: w.s}, automation.Processor{Name: "2", Handler: bad}, automation.Processor{Name: "3", Handler: w.s})
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := p.WithTx(tx).Process(w.ctx, changed(0))
			if got[0].Err != nil || !errors.Is(got[1].Err, errBoom) || !errors.Is(got[2].Err, automation.ErrNotProcessed) {
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

func TestAProcessorThatCannotBeBoundIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	eachWorld(t, func(w *world) {
		var asked []string
		p, _ := quietly()
		p.Register(automation.Processor{Name: "1", Handler: told(&asked, "1", fine)})
		err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
			got, err := p.WithTx(tx).Process(w.ctx, changed(1))
			if err == nil || !strings.Contains(err.Error(), "processor 1 cannot work inside a transaction") || len(got)+len(asked) != 0 {
				w.t.Errorf("%+v %v", got, err)
			}
			return nil
		})
		if err != nil {
			w.t.Error(err)
		}
	})
}

func TestOnlyAProgrammersMistakesWithProcessorsPanic(t *testing.T) {
	t.Parallel()
	var asked []string
	h := told(&asked, "", fine)
	p := automation.NewProcessors(nil)
	p.Register(automation.Processor{Name: "a", Handler: h})
	for want, f := range map[string]func(){
		"without a Name":                        func() { p.Register(automation.Processor{Handler: h}) },
		"has no Handler":                        func() { p.Register(automation.Processor{Name: "b"}) },
		`Register("a"): the name is registered`: func() { p.Register(automation.Processor{Name: "a", Handler: h}) },
		`Register("c"): the name is registered`: func() {
			p.Register(automation.Processor{Name: "c", Handler: h}, automation.Processor{Name: "c", Handler: h})
		},
		"Processors.WithTx needs a transaction": func() { p.WithTx(nil) },
	} {
		if got := panics(t, f); !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
	if got, err := p.Process(t.Context(), automation.Event{Type: "x"}); err != nil || len(got) != 1 {
		t.Error("a refused registration left something behind:", got, err)
	}
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
