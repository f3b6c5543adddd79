package work_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
	"github.com/belfry-go/belfry/storage/memory"
)

type task struct {
	driver.Due
	Note    string `db:"note"`
	Retries int    `db:"retries"`
}

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// bench is one pass over tasks on a memory store; handle may be replaced.
type bench struct {
	t      *testing.T
	store  storage.Store
	clk    *clock.Mock
	table  *driver.Table[task]
	mu     sync.Mutex
	seen   []string
	handle func(ctx context.Context, it work.Item[task]) error
	spec   work.Spec[task, string]
}

func newBench(t *testing.T) *bench {
	clk := clock.NewMock()
	clk.Set(start)
	b := &bench{t: t, clk: clk, store: memory.New(&memory.Options{Clock: clk}), table: driver.Define[task]("task")}
	b.spec = work.Spec[task, string]{
		Name: "task", Table: b.table, Claimable: []string{"Ready"}, Busy: "Busy",
		Handle: b.handleGroup,
		Fail: func(now time.Time, r *task, err error) {
			r.Status, r.Retries, r.DueOn, r.Note = "Ready", r.Retries+1, now.Add(time.Hour), err.Error()
		},
		Abandon: func(now time.Time, r *task) { r.Status, r.Note, r.DueOn = "Ready", "abandoned", now.Add(time.Minute) },
		Release: func(now time.Time, r *task) { r.Status = "Ready" },
	}
	return b
}

func (b *bench) handleGroup(ctx context.Context, items []work.Item[task]) ([]string, error) {
	out := make([]string, len(items))
	for i, it := range items {
		b.mu.Lock()
		b.seen = append(b.seen, it.Row.Key)
		b.mu.Unlock()
		if b.handle != nil {
			if err := b.handle(ctx, it); err != nil {
				return nil, err
			}
		}
		it.Row.Status, it.Row.DueOn = "Done", time.Time{}
		out[i] = "artifact of " + it.Row.Key
	}
	return out, nil
}

func (b *bench) add(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.insert(task{Due: driver.Due{Record: storage.Record{Key: k, Status: "Ready"}, DueOn: start}})
	}
}

func (b *bench) insert(rows ...task) {
	b.t.Helper()
	err := b.store.InTx(b.t.Context(), func(tx storage.Tx) error {
		for i := range rows {
			if _, err := b.table.Insert(b.t.Context(), tx, &rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(key string) *task {
	b.t.Helper()
	var got *task
	err := b.store.InTx(b.t.Context(), func(tx storage.Tx) (err error) {
		got, err = b.table.Get(b.t.Context(), tx, "", key)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// edit is another writer.
func (b *bench) edit(key string, f func(*task)) {
	b.t.Helper()
	err := b.store.InTx(b.t.Context(), func(tx storage.Tx) error {
		row, err := b.table.Get(b.t.Context(), tx, "", key)
		if err != nil {
			return err
		}
		f(row)
		return b.table.Save(b.t.Context(), tx, row)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) runner() work.Runner { return work.New(b.store, b.spec).Runner(work.Options{}) }

func (b *bench) poll(r work.Runner, n int) work.Report {
	b.t.Helper()
	rep, err := r.Poll(b.t.Context(), n)
	if err != nil {
		b.t.Fatal(err)
	}
	return rep
}

func TestPollHandlesWhatIsDueOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a", "b")
	b.insert(task{Due: driver.Due{Record: storage.Record{Key: "later", Status: "Ready"}, DueOn: start.Add(time.Hour)}})
	r := b.runner()
	if diff := cmp.Diff(work.Report{Claimed: 2, Settled: 2}, b.poll(r, 10)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(work.Report{}, b.poll(r, 10)); diff != "" {
		t.Error("a second poll finds nothing:", diff)
	}
	b.clk.Add(time.Hour)
	b.poll(r, 10)
	if diff := cmp.Diff([]string{"a", "b", "later"}, b.seen); diff != "" {
		t.Error(diff)
	}
	if got := b.get("a"); got.Status != "Done" || !got.LeaseExpiresOn.IsZero() || got.Version != 3 {
		t.Errorf("settled row: %+v", got)
	}
}

func TestDispatchRunsInTheSettlingTransactionForFreshRowsOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("kept", "ended")
	b.handle = func(_ context.Context, it work.Item[task]) error {
		if it.Row.Key == "ended" {
			b.edit("ended", func(r *task) { r.Status, r.DueOn, r.Note = "Deactivated", time.Time{}, "by an event" })
		}
		return nil
	}
	var dispatched []string
	b.spec.Dispatch = func(_ context.Context, _ storage.Tx, done []work.Done[task, string]) error {
		for _, d := range done {
			dispatched = append(dispatched, d.Result)
		}
		return nil
	}
	rep := b.poll(b.runner(), 10)
	if diff := cmp.Diff(work.Report{Claimed: 2, Settled: 1, Stale: 1}, rep); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"artifact of kept"}, dispatched); diff != "" {
		t.Error(diff)
	}
	got := b.get("ended")
	if got.Status != "Deactivated" || got.Note != "by an event" || !got.LeaseExpiresOn.IsZero() {
		t.Errorf("what the event wrote stands, and the claim has ended: %+v", got)
	}
}

func TestAFailedDispatchFailsOnlyTheRowThatCausesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 9 {
		b.add(fmt.Sprint("row", i))
	}
	b.spec.Dispatch = func(_ context.Context, _ storage.Tx, done []work.Done[task, string]) error {
		for _, d := range done {
			if d.Row.Key == "row4" {
				return errors.New("cannot be stored")
			}
		}
		return nil
	}
	rep := b.poll(b.runner(), 20)
	if diff := cmp.Diff(work.Report{Claimed: 9, Settled: 9, Failed: 1}, rep); diff != "" {
		t.Error(diff)
	}
	if got := b.get("row4"); got.Status != "Ready" || got.Retries != 1 || got.Note != "cannot be stored" {
		t.Errorf("the culprit is put back: %+v", got)
	}
	if got := b.get("row5"); got.Status != "Done" || got.Version != 3 {
		t.Errorf("its neighbour is done: %+v", got)
	}
}

func TestPanicIsAFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	b.handle = func(context.Context, work.Item[task]) error { panic("secret") }
	rep := b.poll(b.runner(), 10)
	if diff := cmp.Diff(work.Report{Claimed: 1, Settled: 1, Failed: 1}, rep); diff != "" {
		t.Error(diff)
	}
	if got := b.get("a"); got.Retries != 1 || got.Note != "panic: string" {
		t.Errorf("%+v", got)
	}
}

func TestAbandonedRowIsSettledWithoutItsHandler(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.insert(task{Due: driver.Due{Record: storage.Record{Key: "a", Status: "Busy"}, DueOn: start, LeaseExpiresOn: start, ClaimToken: "dead"}})
	rep := b.poll(b.runner(), 10)
	if diff := cmp.Diff(work.Report{Claimed: 1, Abandoned: 1, Settled: 1}, rep); diff != "" {
		t.Error(diff)
	}
	if got := b.get("a"); got.Note != "abandoned" || got.Abandoned || !got.LeaseExpiresOn.IsZero() {
		t.Errorf("%+v", got)
	}
	if b.seen != nil {
		t.Error("the handler ran on an abandoned row")
	}
}

func TestOnlyTypesServedHereAreClaimed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, typ := range []string{"mine", "theirs", ""} {
		b.insert(task{Due: driver.Due{Record: storage.Record{Key: "k" + typ, Kind: typ, Status: "Ready"}, DueOn: start}})
	}
	b.spec.Types = func() []string { return []string{"mine"} }
	b.poll(b.runner(), 10)
	if diff := cmp.Diff("Ready", b.get("ktheirs").Status); diff != "" {
		t.Error(diff)
	}
	if len(b.seen) != 2 {
		t.Errorf("served and untyped rows: %v", b.seen)
	}
}

func TestCancelledPollReleasesWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a", "b")
	b.spec.Group = 1
	ctx, cancel := context.WithCancel(t.Context())
	b.handle = func(context.Context, work.Item[task]) error { cancel(); return nil }
	rep, err := work.New(b.store, b.spec).Runner(work.Options{Concurrency: 1}).Poll(ctx, 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(work.Report{Claimed: 2, Settled: 2, Released: 1}, rep); diff != "" {
		t.Error(diff)
	}
	if len(b.seen) != 1 {
		t.Errorf("handled: %v", b.seen)
	}
}

func TestALateResultIsAppliedAndNeverLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	b.handle = func(_ context.Context, it work.Item[task]) error {
		b.edit("a", func(r *task) { r.Retries = 7 })
		return nil
	}
	b.spec.ApplyLate = func(stored, mine *task, held bool) bool {
		stored.Note = fmt.Sprintf("applied, held %v", held)
		stored.Status, stored.DueOn = mine.Status, mine.DueOn
		return true
	}
	b.poll(b.runner(), 10)
	if got := b.get("a"); got.Status != "Done" || got.Retries != 7 || got.Note != "applied, held true" {
		t.Errorf("%+v", got)
	}
}

func TestABusyRowWhoseResultIsDroppedIsGivenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a")
	first := true
	b.handle = func(_ context.Context, it work.Item[task]) error {
		if first {
			first = false
			b.edit("a", func(r *task) { r.Note = "edited" })
		}
		return nil
	}
	r := b.runner()
	b.poll(r, 10)
	if got := b.get("a"); got.Status != "Ready" || got.Note != "edited" {
		t.Errorf("%+v", got)
	}
	b.poll(r, 10)
	if got := b.get("a"); got.Status != "Done" {
		t.Errorf("handled again: %+v", got)
	}
}

func TestI14_ARowBehindTheCursorIsFoundByTheSamePoll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("a", "b")
	r := b.runner()
	b.poll(r, 10)
	early := task{Due: driver.Due{Record: storage.Record{Key: "early", Status: "Ready"}, DueOn: start.Add(-time.Hour)}}
	b.insert(early)
	if rep := b.poll(r, 10); rep.Settled != 1 {
		t.Errorf("%+v", rep)
	}
}

// TestSettledHearsOfEveryRowThatWasWritten: handled, failed and abandoned rows,
// and what somebody else wrote meanwhile, as it is stored.
func TestSettledHearsOfEveryRowThatWasWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("done", "failed", "overtaken")
	b.insert(task{Due: driver.Due{Record: storage.Record{Key: "abandoned", Status: "Busy"}, DueOn: start, LeaseExpiresOn: start.Add(-time.Second)}})
	b.spec.Group = 1
	b.handle = func(_ context.Context, it work.Item[task]) error {
		switch it.Row.Key {
		case "failed":
			return errors.New("no")
		case "overtaken":
			b.edit("overtaken", func(r *task) { r.Note = "mine" })
		}
		return nil
	}
	heard := map[string]string{}
	b.spec.Settled = func(_ context.Context, _ storage.Tx, rows []*task) error {
		for _, r := range rows {
			heard[r.Key] = r.Status + " " + r.Note
		}
		return nil
	}
	b.poll(b.runner(), 10)
	if diff := cmp.Diff(map[string]string{"done": "Done ", "failed": "Ready no", "abandoned": "Ready abandoned", "overtaken": "Ready mine"}, heard); diff != "" {
		t.Error(diff)
	}
}
