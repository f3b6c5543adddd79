package processors_test

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
	"github.com/belfry-go/belfry/automation/processors"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/memory"
)

var errBoom = errors.New("boom")

// told is a handler that notes that it was asked and then does what it is told.
func told(asked *[]string, name string, then func() error) processors.EventHandler {
	return processors.EventHandlerFunc(func(context.Context, automation.Event) (automation.EventResult, error) {
		*asked = append(*asked, name)
		return automation.EventResult{Outcome: automation.EventApplied}, then()
	})
}

func fine() error { return nil }

// quietly is a registry whose log the test reads.
func quietly() (*processors.Registry, *bytes.Buffer) {
	var log bytes.Buffer
	return processors.New(&processors.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), &log
}

func TestProcessorsAreAskedInTheirOrder(t *testing.T) {
	t.Parallel()
	var asked []string
	p, _ := quietly()
	p.Register(
		processors.Processor{Name: "b", Order: 2, Handler: told(&asked, "b", fine)},
		processors.Processor{Name: "last", Order: 3, EventTypes: []string{"paid"}, Handler: told(&asked, "last", fine)},
		processors.Processor{Name: "a", Order: 2, EventTypes: []string{"paid", "issued"}, Handler: told(&asked, "a", fine)},
	)
	p.Register(processors.Processor{Name: "first", Order: -1, Handler: told(&asked, "first", fine)})
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

// A listener to a stale event has nothing to repeat.
func TestAStaleEventIsProcessed(t *testing.T) {
	t.Parallel()
	p, log := quietly()
	p.Register(processors.Processor{Name: "a", Handler: processors.EventHandlerFunc(func(context.Context, automation.Event) (automation.EventResult, error) {
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
		processors.Processor{Name: "1-fails", Handler: told(&asked, "1-fails", func() error { return errBoom })},
		processors.Processor{Name: "2-panics", Handler: told(&asked, "2-panics", func() error { panic("sam@example.com") })},
		processors.Processor{Name: "3-works", Handler: told(&asked, "3-works", fine)},
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
		processors.Processor{Name: "1", Handler: told(&asked, "1", func() error { cancel(errBoom); return nil })},
		processors.Processor{Name: "2", Handler: told(&asked, "2", fine)},
	)
	got, err := p.Process(ctx, automation.Event{Type: "paid"})
	if len(asked) != 1 || got[0].Err != nil || !errors.Is(got[1].Err, processors.ErrNotProcessed) || !errors.Is(err, errBoom) {
		t.Errorf("%v %+v %v", asked, got, err)
	}
}

func TestAProcessorThatCannotBeBoundIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	t.Parallel()
	var asked []string
	p, _ := quietly()
	p.Register(processors.Processor{Name: "1", Handler: told(&asked, "1", fine)})
	err := memory.New(nil).InTx(t.Context(), func(tx storage.Tx) error {
		got, err := p.WithTx(tx).Process(t.Context(), automation.Event{Type: "paid"})
		if err == nil || !strings.Contains(err.Error(), "processor 1 cannot work inside a transaction") || len(got)+len(asked) != 0 {
			t.Errorf("%+v %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOnlyAProgrammersMistakesWithProcessorsPanic(t *testing.T) {
	t.Parallel()
	var asked []string
	h := told(&asked, "", fine)
	p := processors.New(nil)
	p.Register(processors.Processor{Name: "a", Handler: h})
	for want, f := range map[string]func(){
		"without a Name":                        func() { p.Register(processors.Processor{Handler: h}) },
		"has no Handler":                        func() { p.Register(processors.Processor{Name: "b"}) },
		`Register("a"): the name is registered`: func() { p.Register(processors.Processor{Name: "a", Handler: h}) },
		`Register("c"): the name is registered`: func() {
			p.Register(processors.Processor{Name: "c", Handler: h}, processors.Processor{Name: "c", Handler: h})
		},
		"WithTx needs a transaction": func() { p.WithTx(nil) },
	} {
		if got := panicOf(f); !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
	}
	if got, err := p.Process(t.Context(), automation.Event{Type: "x"}); err != nil || len(got) != 1 {
		t.Error("a refused registration left something behind:", got, err)
	}
}

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}
