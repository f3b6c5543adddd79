package work_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// streaming makes the handler of the bench one that lands the rows it names, in a
// group of all.
func (b *bench) streaming(f func(items map[string]work.Item[task], land func(string)) error) {
	b.spec.Handle = nil
	b.spec.Stream = func(_ context.Context, items []work.Item[task], land func(*task, string)) error {
		byKey := map[string]work.Item[task]{}
		for _, it := range items {
			byKey[it.Row.Key] = it
		}
		return f(byKey, func(key string) {
			row := byKey[key].Row
			row.Status, row.DueOn = "Done", time.Time{}
			land(row, "artifact of "+key)
		})
	}
}

func TestARowThatHasLandedIsSettledWhileItsGroupGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		now := b.store.Clock().Now()
		b.insert(b.ready("quick", now), b.ready("slow", now))
		answer := make(chan struct{})
		b.streaming(func(_ map[string]work.Item[task], land func(string)) error {
			land("quick")
			<-answer
			land("slow")
			return nil
		})
		stop := b.run(work.Options{})
		pass(time.Second)
		synctest.Wait()
		b.must("quick", "Done")
		b.must("slow", "Busy")
		close(answer)
		_ = stop()
		b.must("slow", "Done")
	})
}

// What a poll has done is saved while its other handlers go on: a process that dies then has
// nothing to send again.
func TestAPollSavesWhatIsDoneWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		b.spec.Group = 1
		now := b.store.Clock().Now()
		b.insert(b.ready("quick", now), b.ready("slow", now))
		answer := make(chan struct{})
		b.handle = func(_ context.Context, it work.Item[task]) error {
			if it.Row.Key == "slow" {
				<-answer
			}
			return nil
		}
		polled := make(chan work.Report)
		go func() { polled <- b.poll(b.runner(), 10) }()
		pass(time.Second)
		b.must("quick", "Done")
		b.must("slow", "Busy")
		close(answer)
		if rep := <-polled; rep != (work.Report{Claimed: 2, Settled: 2}) {
			t.Errorf("%+v", rep)
		}
		b.must("slow", "Done")
	})
}

// A poll that has to return keeps what is done, though a handler goes on regardless.
func TestAPollKeepsWhatWasDoneBeforeItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLive(t)
		now := b.store.Clock().Now()
		b.insert(b.ready("quick", now), b.ready("slow", now))
		answer := make(chan struct{})
		b.streaming(func(_ map[string]work.Item[task], land func(string)) error {
			land("quick")
			<-answer // whatever becomes of its context
			land("slow")
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.runner().Poll(ctx, 10); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		b.must("quick", "Done")
		b.must("slow", "Busy")
		close(answer)
		synctest.Wait()
		b.must("slow", "Done")
	})
}

func TestRowsThatDidNotLandFail(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func() error
		note string
	}{
		"an error":                     {func() error { return errors.New("no more") }, "no more"},
		"left out":                     {func() error { return nil }, "work: the handler of task left out 1 of 2 rows"},
		"after panics":                 {func() error { panic("secret") }, "panic"},
		"after it ended its goroutine": {func() error { runtime.Goexit(); return nil }, "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.add("landed", "left")
			b.streaming(func(_ map[string]work.Item[task], land func(string)) error {
				land("landed")
				return tt.end()
			})
			b.spec.Fail = func(now time.Time, r *task, err error) {
				r.Status, r.DueOn, r.Note = "Ready", now.Add(time.Hour), err.Error()
				if p := (*work.PanicError)(nil); errors.As(err, &p) {
					r.Note = "panic"
				}
			}
			if diff := cmp.Diff(work.Report{Claimed: 2, Settled: 2, Failed: 1}, b.poll(b.runner(), 10)); diff != "" {
				t.Error(diff)
			}
			b.must("landed", "Done")
			if left := b.get("left"); left.Status != "Ready" || left.Note != tt.note {
				t.Errorf("left: %+v", left)
			}
		})
	}
}

// A goroutine that outlives its handler cannot bring back a row that has failed.
func TestARowLandsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("twice", "late")
	var late func(*task, string)
	b.spec.Handle = nil
	b.spec.Stream = func(_ context.Context, items []work.Item[task], land func(*task, string)) error {
		late = land
		for _, it := range items {
			if it.Row.Key == "twice" {
				it.Row.Status, it.Row.DueOn = "Done", time.Time{}
				land(it.Row, "first")
				land(it.Row, "second")
			}
		}
		land(&task{Due: driver.Due{Record: storage.Record{Key: "of nobody"}}}, "third")
		return errors.New("died")
	}
	var dispatched []string
	b.spec.Dispatch = func(_ context.Context, _ storage.Tx, done []work.Done[task, string]) error {
		for _, d := range done {
			dispatched = append(dispatched, d.Row.Key+" "+d.Result)
		}
		return nil
	}
	if diff := cmp.Diff(work.Report{Claimed: 2, Settled: 2, Failed: 1}, b.poll(b.runner(), 10)); diff != "" {
		t.Error(diff)
	}
	late(b.get("late"), "fourth")
	if diff := cmp.Diff([]string{"twice first"}, dispatched); diff != "" {
		t.Error(diff)
	}
}

// A transaction takes rows until what they have decided fills it.
func TestHeavyResultsAreSettledInSmallerTransactions(t *testing.T) {
	t.Parallel()
	weights := map[string]int{"artifact of a": 400, "artifact of b": 500, "artifact of c": 200, "artifact of d": 5000, "artifact of e": 10}
	want := []string{"ab", "c", "d", "e"} // bounded by a thousand rows
	settles := func(t *testing.T, b *bench, run func()) {
		var mu sync.Mutex
		var got []string
		b.spec.Weight = func(result string) int { return weights[result] }
		b.spec.Dispatch = func(_ context.Context, _ storage.Tx, done []work.Done[task, string]) error {
			together := ""
			for _, d := range done {
				together += d.Row.Key
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, together)
			return nil
		}
		run()
		slices.Sort(got) // two transactions may be under way
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	t.Run("a poll", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.add("a", "b", "c", "d", "e")
		settles(t, b, func() { b.poll(b.runner(), 10) })
	})
	t.Run("a runner", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newLive(t)
			for i, key := range []string{"a", "b", "c", "d", "e"} {
				b.insert(b.ready(key, b.store.Clock().Now().Add(time.Duration(i-9)*time.Second)))
			}
			settles(t, b, func() {
				stop := b.run(work.Options{})
				pass(time.Minute)
				_ = stop()
			})
		})
	})
}
