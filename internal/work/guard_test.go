package work_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/belfry-go/belfry/internal/work"
)

// What one of many does to its goroutine is its own affair, and what came of it is told
// before the next begins.
func TestGuardEachKeepsEachToItself(t *testing.T) {
	t.Parallel()
	fails := errors.New("no")
	ways := []func() error{
		func() error { return nil },
		func() error { panic("secret") },
		func() error { runtime.Goexit(); return nil },
		func() error { return fails },
		func() error { runtime.Goexit(); return nil },
		func() error { return nil },
		func() error { runtime.Goexit(); return nil },
	}
	var told []string
	work.GuardEach(len(ways), func(i int) error {
		told = append(told, "begun")
		return ways[i]()
	}, func(i int, err error) {
		var p *work.PanicError
		switch {
		case errors.As(err, &p):
			told = append(told, "panic")
			if !strings.Contains(string(p.Stack), "TestGuardEachKeepsEachToItself") {
				t.Errorf("%d: nobody learns where: %s", i, p.Stack)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		case err != nil:
			told = append(told, err.Error())
		default:
			told = append(told, "fine")
		}
	})
	want := strings.Split("begun fine begun panic begun panic begun no begun panic begun fine begun panic", " ")
	if !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}

// Those that return share a goroutine.
func BenchmarkGuardEach(b *testing.B) {
	for b.Loop() {
		work.GuardEach(1000, func(int) error { return nil }, func(int, error) {})
	}
}
