package automation

import (
	"context"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// What the stories in automation_test need beyond what a host has.

// The tables, for a story that finds a row as another version, a dead process or a
// hand at the database has left it, and for what no report shows of a row.
var (
	Schedules       = schedules
	SeriesTable     = seriesTable
	ThresholdStates = thresholdStates
	Reconciliations = reconciliations
	Ownerships      = ownerships
)

// Rows that stories hold in their hands.
type (
	ScheduleRow    = scheduleRow
	ThresholdState = thresholdState
	OwnershipRow   = ownership

	ReconciliationRow = reconciliation
)

// What was done to a row, where a story begins after it.
var (
	EndRow       = (*scheduleRow).deactivate
	HoldRow      = (*scheduleRow).hold
	ViewRow      = (*scheduleRow).view
	GiveBackRow  = (*scheduleRow).giveBack
	MoveRow      = (*scheduleRow).to
	GiveOwner    = (*ownership).give
	MoveOwner    = (*ownership).to
	RowDueOn     = (*scheduleRow).dueOn
	RowSeriesKey = (*scheduleRow).seriesKey
	RowDue       = (*scheduleRow).due
)

// Half of a poll: what a worker decides about claimed rows, and what is written
// beside rows that are settled.
func HandleRows(ctx context.Context, s *Scheduler, items []work.Item[scheduleRow]) ([]*decision, error) {
	return s.worker().handle(ctx, items)
}

func SettledRows(ctx context.Context, s *Scheduler, tx storage.Tx, rows []*scheduleRow) error {
	return s.worker().settled(ctx, tx, rows)
}

// Sizes of pages, so that a story has more than fits on one.
const (
	DeactivatePage = deactivatePage
	RetainPage     = sweep.Page
	MaxHistory     = maxHistory
)

// ReconcileReady is the status in which a scan's row can be claimed.
const ReconcileReady = reconcileReady

// ErrBound refuses what needs transactions of its own.
var ErrBound = errBound

// ImmediateJob is the job of an immediate notification, for a story in which
// somebody has taken its identity.
var ImmediateJob = Immediate.job

// ReminderJob is the job of a reminder's row, likewise.
func ReminderJob(row *scheduleRow, notificationType string) (notify.Job, error) {
	return (&try{row: row, due: Due{Source: Source{row.SourceType, row.Source}, DaysBefore: row.DaysBefore}}).job(notificationType)
}

// CandidateAsksFor reports whether a candidate asks for the very row.
func CandidateAsksFor(ctx context.Context, s *Scheduler, c Candidate, row *scheduleRow) (bool, error) {
	plans, err := s.planner().plans(ctx, []Candidate{c})
	return err == nil && plans[0].asksFor(row), err
}

// InsertMoving writes a part at a stage as a move that was cut off leaves it: what
// it has to move has not been moved.
func InsertMoving(ctx context.Context, tx storage.Tx, part cutover.Part, stage cutover.Stage) error {
	_, err := rollouts.Insert(ctx, tx, &rollout{
		Record:       storage.Record{Scope: part.Scope, Key: rolloutKey(part), Kind: part.Type, Status: rolloutMoving},
		BusinessUnit: part.BusinessUnit, Source: part.Source, Stage: stage,
	})
	return err
}

// IsLongRunning reports whether rows of that type are retried daily.
func IsLongRunning(s *Scheduler, name string) bool { return s.registry.longRunning(name) }
