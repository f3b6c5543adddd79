package automation

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// How often all rows are walked, how soon a step that failed is tried again, and
// how often a Poller looks whether either is due.
const (
	retainEvery = 24 * time.Hour
	retainAgain = 15 * time.Minute
	retainLook  = time.Minute
)

// anyLane is a batch of which every lane has a share, for a table of one row.
const anyLane = 100

// walk is the only row of automation_retention: where the walk over all rows is.
// Its lease says which process walks, and its due moment when to go on.
type walk struct {
	storage.Record
	After int64 `db:"after_id"` // it goes on behind this id
}

var walks = driver.Define[walk]("automation_retention").Grows(driver.Bounded).Limit(maxRow)

// walking is the status of a walk; whether one is under way, the lease says.
const walking = "Ready"

// retentionPass deletes old rows. Without a type that has a Retention it does
// nothing and asks for nothing.
type retentionPass struct {
	work.Pass
	s *core
}

func (s keeper) retentionPass() work.Pass {
	return retentionPass{s: s.core, Pass: work.New(s.store, work.Spec[walk, retention]{
		Name: "automation.retention", Table: walks, Claimable: []string{walking},
		Handle: s.walkOn, Dispatch: s.dispatchRetention,
		Fail:    func(now time.Time, w *walk, _ error) { w.DueOn = now.Add(retainAgain) },
		Abandon: func(now time.Time, w *walk) { w.DueOn = now },
		Release: func(now time.Time, w *walk) { w.DueOn = now },
	})}
}

// walkOn takes the next step. What it found is deleted in the transaction that
// notes how far it came.
func (s keeper) walkOn(ctx context.Context, items []work.Item[walk]) ([]retention, error) {
	w := items[0].Row
	step, err := s.retain(ctx, w.After)
	if err != nil {
		return nil, err
	}
	if step.refused != nil {
		s.opts.Logger.WarnContext(ctx, "belfry: old rows could not be archived, so they stay", "rows", step.report.Unarchived, "error", step.refused)
	}
	w.After, w.DueOn = step.next, s.now()
	if step.next == 0 {
		w.DueOn = s.now().Add(retainEvery)
	}
	return []retention{step}, nil
}

func (s keeper) dispatchRetention(ctx context.Context, tx storage.Tx, done []work.Done[walk, retention]) error {
	_, err := forget(ctx, tx, done[0].Result.expired)
	return err
}

func (p retentionPass) Runner(o work.Options) work.Runner {
	return &retentionRunner{Runner: p.Pass.Runner(o), s: p.s}
}

type retentionRunner struct {
	work.Runner
	s    *core
	made atomic.Bool // the row of the walk exists
}

// Poll takes one step if one is due.
func (r *retentionRunner) Poll(ctx context.Context, _ int) (work.Report, error) {
	if len(r.s.registry.keepings()) == 0 {
		return work.Report{}, nil
	}
	if err := r.makeWalk(ctx); err != nil {
		return work.Report{}, err
	}
	return r.Runner.Poll(ctx, anyLane)
}

// Run looks once a minute and then goes on for as long as there is something to
// do.
func (r *retentionRunner) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.s.store.Clock().After(retainLook):
		}
		for {
			report, err := r.Poll(ctx, anyLane)
			if err != nil && ctx.Err() == nil {
				r.s.opts.Logger.WarnContext(ctx, "belfry: poll failed", "pass", "automation.retention", "error", err)
			}
			if report.Claimed == 0 || ctx.Err() != nil {
				break
			}
		}
	}
}

// makeWalk makes the row that walks need.
func (r *retentionRunner) makeWalk(ctx context.Context) error {
	if r.made.Load() {
		return nil
	}
	err := r.s.store.InTx(ctx, func(tx storage.Tx) error {
		_, err := walks.Insert(ctx, tx, &walk{Record: storage.Record{Key: "walk", Status: walking, DueOn: r.s.now()}})
		return err
	})
	r.made.Store(err == nil)
	return err
}
