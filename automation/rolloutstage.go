package automation

import (
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/keys"
)

// Stage is how far a part of the work has moved from an old scheduler to this
// one (Report Subscription, "Step-by-step rollout").
type Stage int

// The stages. The zero value leaves everything to the old scheduler.
const (
	// StageDesign: rows are made, and are not due; nothing is compared yet.
	StageDesign Stage = 0
	// StageShadow: as before, and [Scheduler.Compare] tells how they differ from
	// what the old scheduler did.
	StageShadow Stage = 1
	// StageRunNow: runs that people ask for are done here: manual ones, reruns, and
	// those that [Scheduler.TransferOwnership] picks.
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

func (s Stage) check() error {
	if s < StageDesign || s > StageCutOver {
		return fmt.Errorf("stage %d is not one of 0 to 4", int(s))
	}
	return nil
}

// runs reports whether a run of that key is done here without being picked.
func (s Stage) runs(key string) bool {
	return s >= StageScheduled || s == StageRunNow && asked(key)
}

// owner is who gets a new run of that key.
func (s Stage) owner(key string) Owner {
	if s.runs(key) {
		return AutomationScheduler
	}
	return OldScheduler
}

// asked reports whether a person asked for the run: it is manual, or a rerun.
func asked(key string) bool {
	parsed, err := keys.Parse(key)
	if err != nil {
		return false
	}
	trigger := ""
	switch k := parsed.(type) {
	case keys.ManualReportRun:
		return true
	case keys.Reminder:
		trigger = k.TriggerKey
	case keys.Threshold:
		trigger = k.TriggerKey
	case keys.Recurring:
		trigger = k.TriggerKey
	case keys.Host:
		trigger = k.TriggerKey
	}
	return strings.Contains(trigger, rerunMark)
}
