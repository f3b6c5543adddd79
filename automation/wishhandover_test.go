package automation_test

import (
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// isOurs reports whether new runs of the key's type are done here.
func (w *wishWorld) isOurs(key string) bool {
	return w.stage == nil || w.stage[strings.Split(key, ":")[1]] >= cutover.StageScheduled
}

// handOver moves a type to another stage: forward step by step, or back at once.
func (w *wishWorld) handOver() {
	typ, _ := w.anyType()
	to := pick(w, cutover.StageShadow, cutover.StageRunNow, cutover.StageScheduled, cutover.StageCutOver)
	if to == w.stage[typ] {
		return
	}
	for next := min(w.stage[typ]+1, to); next <= to; next++ {
		_, err := w.s.Rollout().MoveRollout(w.ctx, cutover.Part{Scope: w.scope, Type: typ}, next, ann, nil)
		w.must(err)
		w.stage[typ] = next
		w.hand(w.clk.Now(), "reminder:"+typ+":")
	}
	w.say("%s: to stage %s", typ, to)
}

// runOld has the old scheduler ask for all that has come, whatever became of it. It is
// granted what is open and its own, once.
func (w *wishWorld) runOld() {
	if w.stage == nil {
		return
	}
	var runs []cutover.OldRun
	for key, row := range w.rowsOf() {
		if !row.ScheduledOn.After(w.clk.Now()) {
			runs = append(runs, cutover.OldRun{Key: key})
		}
	}
	got, err := w.s.Rollout().DeliverForOldScheduler(w.ctx, w.scope, runs...)
	w.must(err)
	for _, answer := range got {
		_, open := w.open[answer.Key]
		its := open && w.old[answer.Key]
		if answer.Granted != its {
			w.wrong = append(w.wrong, fmt.Sprintf("%s is the old scheduler's: %v, and granted: %v", answer.Key, its, answer.Granted))
		}
		if answer.Granted {
			w.out[answer.Key]++
		}
		if its {
			w.sent[answer.Key] = true
			delete(w.open, answer.Key)
		}
	}
}

// guardOf is who has each run, and how far it has come.
func (w *wishWorld) guardOf() map[string]string {
	out := map[string]string{}
	if w.stage == nil {
		return out
	}
	w.must(w.store.InTx(w.ctx, func(tx storage.Tx) error {
		rows, err := automation.Ownerships.Find(w.ctx, tx, w.scope, driver.Query{Limit: 10000})
		for _, o := range rows {
			out[o.Key] = string(o.Owner) + " " + o.Status
		}
		return err
	}))
	return out
}
