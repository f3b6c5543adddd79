package pgserver

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/internal/sqlstore"
)

var far = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// fakePool is a pool of one connection that notes what is told.
type fakePool struct {
	free chan struct{}
	mu   sync.Mutex
	told []string
}

func (p *fakePool) Size() int    { return 0 }
func (p *fakePool) Single() bool { return true }

func (p *fakePool) Conn(ctx context.Context) (sqlstore.Conn, error) {
	select {
	case <-p.free:
		return p, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *fakePool) Exec(_ context.Context, _ string, args ...any) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, args[1].(string))
	return 1, nil
}

func (p *fakePool) Query(context.Context, string, []any, func(sqlstore.Rows) error) error { return nil }

func (p *fakePool) Release(bool) error {
	p.free <- struct{}{}
	return nil
}

// A command that makes a row due and ends is heard at once, not after a polling
// interval.
func TestAHeraldThatClosesTellsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 100 { // which of two signals it sees first is random
			pool := &fakePool{free: make(chan struct{}, 1)}
			h := NewHerald(pool, "", &driver.Waker{})
			h.Start(func(context.Context, func(string)) {})
			h.Committed(driver.Hints{{Table: "another"}: noon})
			synctest.Wait() // it has taken the hint and waits for the connection
			h.Committed(driver.Hints{{Table: "task"}: noon})
			h.stop()
			pool.free <- struct{}{}
			h.Close()
			if !slices.ContainsFunc(pool.told, func(payload string) bool { return strings.Contains(payload, `"task"`) }) {
				t.Fatalf("only %v was told", pool.told)
			}
		}
	})
}

func TestHintsThatWaitAreMerged(t *testing.T) {
	t.Parallel()
	h := NewHerald(nil, "", &driver.Waker{})
	one, two := driver.Hint{Table: "a", Status: "Ready"}, driver.Hint{Table: "a", Status: "Busy"}
	h.Committed(driver.Hints{one: noon, two: far})
	h.Committed(driver.Hints{one: far, two: noon})
	if diff := cmp.Diff(driver.Hints{one: noon, two: noon}, h.Take()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(driver.Hints(nil), h.Take()); diff != "" {
		t.Error(diff)
	}
}

func TestHintsThatAreNotForThisStoreArePassedOver(t *testing.T) {
	t.Parallel()
	var waker driver.Waker
	signal := waker.Listen("task", "Ready")
	defer signal.Close()
	h := NewHerald(nil, "a.b_", &waker)
	for payload, want := range map[string]time.Time{
		`{"from":"x","tables":"a.b_","table":"task","due":5}`:                  time.UnixMicro(5).UTC(),
		`{"from":"` + h.self + `","tables":"a.b_","table":"task","due":5}`:     {},
		`{"from":"x","tables":"a.","table":"task","due":5}`:                    {},
		`{"from":"x","tables":"a.b_","table":"other","due":5}`:                 {},
		`{"from":"x","tables":"a.b_","table":"task","status":"Ready","due":5}`: time.UnixMicro(5).UTC(),
		`{"from":"x","tables":"a.b_","table":"task","status":"Busy","due":5}`:  {},
		"": {},
	} {
		h.hear(payload)
		if diff := cmp.Diff(want, signal.Take()); diff != "" {
			t.Errorf("%s: %s", payload, diff)
		}
	}
}
