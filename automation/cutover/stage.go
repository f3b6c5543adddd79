// Package cutover has the words of a move from an old scheduler to this one, part by part, so
// that no run is done twice: stages, owners of runs, and what comparisons and moves find.
// automation.Rollout has the actions.
package cutover

import (
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/storage"
)

// Stage is how far a part of the work has moved from an old scheduler to this
// one (Report Subscription, "Step-by-step rollout").
type Stage int

// The stages. The zero value leaves everything to the old scheduler.
const (
	// StageDesign: rows are made, and are not due; nothing is compared yet.
	StageDesign Stage = 0
	// StageShadow: as before, and automation.Rollout.Compare tells how they differ from
	// what the old scheduler did.
	StageShadow Stage = 1
	// StageRunNow: runs that people ask for are done here: manual ones, reruns, and
	// those that automation.Rollout.TransferOwnership picks.
	StageRunNow Stage = 2
	// StageScheduled: scheduled runs are done here as well; the old scheduler still
	// asks for each, and is refused.
	StageScheduled Stage = 3
	// StageCutOver: as before; the old scheduler's job is switched off.
	StageCutOver Stage = 4
)

var stageNames = []string{"Design", "Shadow", "RunNow", "Scheduled", "CutOver"}

// String is the stage's number and name, as "3 Scheduled".
func (s Stage) String() string {
	if s < StageDesign || s > StageCutOver {
		return fmt.Sprint(int(s))
	}
	return fmt.Sprintf("%d %s", int(s), stageNames[s])
}

// Part is the part of the work that moves together from an old scheduler
// to this one: all work of a type, that of a business unit, or that of one source.
// Of the parts that cover a run the narrowest counts: one that names its Source
// before one that names its BusinessUnit.
type Part struct {
	Scope storage.Scope
	// Type is a reminder type or a host's automation type; required.
	Type string
	// BusinessUnit or Source, not both, narrow it down; empty: all of them. Source is
	// the id of the entity, such as a report subscription.
	BusinessUnit, Source string
}

// By says who moves a part and why: Actor and Reason, both required.
type By = audit.By

// Status is how far a part has come.
type Status struct {
	Part
	Stage Stage
	// Moving says that a move to Stage was not finished: some of its runs still are
	// as before. automation.Rollout.MoveRollout to the same stage finishes it.
	Moving bool
	By     By        // who moved it last, and why
	On     time.Time // UTC
}
