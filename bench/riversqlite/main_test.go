package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belfry-go/belfry/internal/contender"
)

// TestMain lets the test's own program be the contender.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "contender" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestEveryFilledRowIsDrained(t *testing.T) {
	t.Parallel()
	task := contender.Task{
		Work: "fill", Database: filepath.Join(t.TempDir(), "river.db"),
		Rows: 200, Handlers: 20, Synchronous: "NORMAL",
	}
	filled := finish(t, start(t, task), func(int) {})
	if filled.Rows != task.Rows {
		t.Fatalf("filled %d rows, want %d", filled.Rows, task.Rows)
	}
	task.Work = "drain"
	p, reported := start(t, task), 0
	drained := finish(t, p, func(rows int) {
		if reported += rows; reported >= task.Rows {
			must(t, p.Stop())
		}
	})
	if reported != task.Rows || drained.Rows != task.Rows {
		t.Errorf("reported %d rows as done and %d in the result, want %d", reported, drained.Rows, task.Rows)
	}
	if drained.Seconds() <= 0 {
		t.Errorf("the drain took %v seconds", drained.Seconds())
	}
}

// start starts the contender and lets it begin.
func start(t *testing.T, task contender.Task) *contender.Process {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	p, err := contender.Start(t.Context(), []string{program, "contender"}, task)
	must(t, err)
	must(t, p.Go())
	return p
}

func finish(t *testing.T, p *contender.Process, done func(rows int)) contender.Result {
	t.Helper()
	result, err := p.Wait(done)
	must(t, err)
	return result
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
