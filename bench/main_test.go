package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"testing"

	"github.com/belfry-go/belfry/internal/contender"
	"github.com/belfry-go/belfry/internal/pgtest"
)

// TestMain lets the test's own program be every contender, those included that
// only a test has.
func TestMain(m *testing.M) {
	maps.Copy(contenders, fakes)
	if len(os.Args) == 3 && os.Args[1] == "contender" {
		main()
		return
	}
	pgtest.Main(m)
}

// fakes are contenders that report rows and do nothing.
var fakes = map[string]map[string]contender.Work{
	"honest":   {"drain": reports(0)},
	"repeats":  {"drain": reports(1)},
	"loses":    {"drain": reports(-1)},
	"sleeps":   {"drain": sleeps},
	"breaks":   {"drain": breaks},
	"vanishes": {"drain": func(context.Context, *contender.Run, contender.Task) (contender.Result, error) { os.Exit(0); panic("") }},
}

// reports is a work that says of more rows than there are that they are done.
func reports(more int) contender.Work {
	return func(ctx context.Context, run *contender.Run, t contender.Task) (contender.Result, error) {
		began, err := run.Go(ctx)
		if err != nil {
			return contender.Result{}, err
		}
		run.Done(t.Rows + more)
		if more >= 0 {
			<-ctx.Done()
		}
		return contender.Between(t.Rows, began, contender.Clock.Now()), nil
	}
}

// sleeps waits for an end that does not come by itself.
func sleeps(ctx context.Context, run *contender.Run, _ contender.Task) (contender.Result, error) {
	_, err := run.Go(ctx)
	<-ctx.Done()
	return contender.Result{}, err
}

func breaks(ctx context.Context, run *contender.Run, _ contender.Task) (contender.Result, error) {
	_, err := run.Go(ctx)
	return contender.Result{}, errors.Join(err, errors.New("out of luck"))
}

// fakeArena is one without a server, for contenders that need none.
func fakeArena(t *testing.T) *arena {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &arena{dir: t.TempDir(), self: self}
}
