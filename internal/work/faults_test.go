package work_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/storetest"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// flaky answers the transactions of a store with errors, by their order: those
// in before fail unexecuted, those in after are executed first.
func flaky(store storage.Store, before, after map[int]error) *storetest.Spy {
	return &storetest.Spy{Store: store, Hook: func(c storetest.Call) error {
		switch c.Verb {
		case storetest.Begin:
			return before[c.Number]
		case storetest.Committed:
			return after[c.Number]
		}
		return nil
	}}
}

// pollFlaky runs one poll over a row, with faults in the transactions: 1 is the
// claim, 2 the settle.
func pollFlaky(b *bench, before, after map[int]error) (work.Report, int) {
	b.t.Helper()
	b.add("a")
	dispatched := 0
	inner := b.store
	b.spec.Dispatch = func(ctx context.Context, tx storage.Tx, done []work.Done[task, string]) error {
		for _, d := range done {
			row := task{Due: driver.Due{Record: storage.Record{Key: "artifact of " + d.Row.Key + fmt.Sprint(dispatched), Status: "Done"}}}
			if _, err := b.table.Insert(ctx, tx, &row); err != nil {
				return err
			}
		}
		return nil
	}
	b.store = flaky(inner, before, after)
	rep := b.poll(b.runner(), 10)
	b.store = inner
	err := inner.InTx(b.t.Context(), func(tx storage.Tx) (err error) {
		dispatched, err = b.table.Count(b.t.Context(), tx, "", 100, driver.Greater("key", "artifact"))
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return rep, dispatched
}

func TestASettleWhoseReplyWasLostIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rep, dispatched := pollFlaky(b, nil, map[int]error{2: storage.ErrOutcomeUnknown})
	if dispatched != 1 || len(b.seen) != 1 || b.get("a").Status != "Done" {
		t.Errorf("%+v, dispatched %d, handled %d, %+v", rep, dispatched, len(b.seen), b.get("a"))
	}
}

func TestASettleWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	for _, err := range []error{storage.ErrUnavailable, storage.ErrBusy, fmt.Errorf("wrapped: %w", storage.ErrOutcomeUnknown)} {
		b := newBench(t)
		rep, dispatched := pollFlaky(b, map[int]error{2: err, 3: err, 4: err}, nil)
		if diff := cmp.Diff(work.Report{Claimed: 1, Settled: 1}, rep); diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
		if dispatched != 1 || b.get("a").Status != "Done" || b.get("a").Retries != 0 {
			t.Errorf("%v: dispatched %d, %+v", err, dispatched, b.get("a"))
		}
	}
}

// A fail-over counts as no try: what a group could not read it reads later.
func TestADatabaseThatIsAwayIsNoTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a", "b")
	away := fmt.Errorf("reading: %w", storage.ErrUnavailable)
	b.handle = func(context.Context, work.Item[task]) error { return away }
	r := b.runner()
	if diff := cmp.Diff(work.Report{Claimed: 2, Settled: 2, Released: 2}, b.poll(r, 10)); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"a", "b"} {
		if row := b.get(key); row.Status != "Ready" || row.Retries != 0 || row.DueOn.After(start.Add(time.Second)) {
			t.Errorf("%+v", row)
		}
	}
	if rep := b.poll(r, 10); rep.Claimed != 0 {
		t.Errorf("asked again at once: %+v", rep)
	}
	away = nil
	b.clk.Add(time.Second)
	if rep := b.poll(r, 10); rep.Settled != 2 || b.get("a").Status != "Done" {
		t.Errorf("%+v, %+v", rep, b.get("a"))
	}
}

// What a handler made of some rows, before the database was away, is not given back.
func TestRowsAreGivenBackAsTheyWereClaimed(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"a group": false, "a stream that has landed one row": true} {
		b := newBench(t)
		b.add("a", "b", "c")
		decided := func(items []work.Item[task]) error {
			for _, it := range items {
				it.Row.Status, it.Row.Note, it.Row.DueOn = "Done", "decided", time.Time{}
			}
			return storage.ErrUnavailable
		}
		b.spec.Handle = func(_ context.Context, items []work.Item[task]) ([]string, error) { return nil, decided(items) }
		want := []string{"Ready", "Ready", "Ready"}
		if stream {
			b.spec.Handle, want[1] = nil, "Done"
			b.spec.Stream = func(_ context.Context, items []work.Item[task], land func(*task, string)) error {
				err := decided(items)
				land(items[1].Row, "")
				return err
			}
		}
		b.poll(b.runner(), 10)
		for i, key := range []string{"a", "b", "c"} {
			row := b.get(key)
			if row.Status != want[i] || (row.Note == "") != (want[i] == "Ready") || row.DueOn.IsZero() != (want[i] == "Done") {
				t.Errorf("%s: %+v", name, row)
			}
		}
	}
}

func TestAClaimWhoseReplyWasLostIsReadBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rep, dispatched := pollFlaky(b, nil, map[int]error{1: storage.ErrOutcomeUnknown})
	if rep.Settled != 1 || dispatched != 1 {
		t.Errorf("a claim that won: %+v", rep)
	}
	b = newBench(t)
	rep, dispatched = pollFlaky(b, map[int]error{1: storage.ErrOutcomeUnknown}, nil)
	if rep.Claimed != 0 || dispatched != 0 || b.get("a").Status != "Ready" {
		t.Errorf("a claim that lost: %+v", rep)
	}
}

func TestAClaimThatWasNotCommittedIsNotHandled(t *testing.T) {
	t.Parallel()
	for _, err := range []error{storage.ErrUnavailable, storage.ErrBusy} {
		b := newBench(t)
		b.add("a")
		b.store = &storetest.Spy{Store: b.store, Hook: func(c storetest.Call) error {
			if c.Verb == storetest.Commit && c.Number == 1 {
				return err
			}
			return nil
		}}
		rep, got := b.runner().Poll(t.Context(), 10)
		if !errors.Is(got, err) || rep != (work.Report{}) || len(b.seen) != 0 {
			t.Errorf("%+v, %v, handled %v", rep, got, b.seen)
		}
	}
}

// I-8, I-26: the call-started write tells exactly which calls may begin.
func TestStartTellsWhichRowsMayGoOn(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before, after map[int]error
		started       bool
		failed        bool
	}{
		"committed":                  {started: true},
		"reply lost, committed":      {after: map[int]error{1: storage.ErrOutcomeUnknown}, started: true},
		"reply lost, not committed":  {before: map[int]error{1: storage.ErrOutcomeUnknown}},
		"refused":                    {before: map[int]error{1: storage.ErrUnavailable}, failed: true},
		"reply lost, and no telling": {after: map[int]error{1: storage.ErrOutcomeUnknown}, before: map[int]error{2: storage.ErrUnavailable}, failed: true},
	}
	for name, c := range cases {
		b := newBench(t)
		b.add("a")
		row := b.get("a")
		before := row.Version
		ok, err := work.Start(t.Context(), flaky(b.store, c.before, c.after), b.table, start, []*task{row})
		if ok[0] != c.started || (err != nil) != c.failed {
			t.Errorf("%s: started %v, %v", name, ok, err)
		}
		if want := before; !c.started && row.Version != want || c.started && row.Version != want+1 {
			t.Errorf("%s: version %d", name, row.Version)
		}
	}
}

func TestStartRefusesARowThatSomebodyElseWrote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a", "b")
	rows := []*task{b.get("a"), b.get("b")}
	b.edit("a", func(r *task) { r.Status = "Cancelled" })
	ok, err := work.Start(t.Context(), b.store, b.table, start, rows)
	if diff := cmp.Diff([]bool{false, true}, ok); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if !errors.Is(b.store.InTx(t.Context(), func(tx storage.Tx) error { return b.table.Save(t.Context(), tx, rows[0]) }), storage.ErrStale) {
		t.Error("the refused row is still stale")
	}
}
