package report

import (
	"context"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// RunState is a run as support sees it.
type RunState struct {
	Key          string
	Subscription string // guid
	Type         string
	Manual       string // the id of a run that a person asked for
	// ScheduledOn is the moment in UTC, LocalDate and LocalTime what the clocks of
	// Zone show.
	ScheduledOn          time.Time
	LocalDate, LocalTime string
	Zone                 string
	// Status and Reason are those of automation.Schedule. Completed means that
	// delivery is queued.
	Status      string
	Reason      automation.Reason
	EndedOn     time.Time // zero while it is open
	Failures    int       // tries that failed, lost leases among them
	NextRetryOn time.Time // zero unless a retry waits
	Diagnostics string    // the last error
	// IsOnSupportHold runs wait for a person, for HoldReason.
	IsOnSupportHold bool
	HoldReason      automation.Reason
	HoldDetail      string
	// Delivery has the coordinates of what the run led to, and its files.
	Delivery notify.DispatchResult
}

func stateOf(r *automation.Schedule) RunState {
	delivered, _ := r.Dispatched() // undecodable: nothing to tell
	state := RunState{
		Key: r.Key, Subscription: r.Source, Type: r.Type,
		ScheduledOn: r.ScheduledOn, LocalDate: r.LocalDate, LocalTime: r.SendAt, Zone: r.TimeZone,
		Status: r.Status, Reason: r.ReasonCode, EndedOn: r.EndedOn, Failures: r.RetryCount, NextRetryOn: r.NextRetryOn,
		Diagnostics: r.Diagnostics, IsOnSupportHold: r.IsOnSupportHold, HoldReason: r.HoldReason, HoldDetail: r.HoldDetail,
		Delivery: delivered,
	}
	if k, _ := keys.Parse(r.Key); k != nil {
		if k, ok := k.(keys.ManualReportRun); ok {
			state.Manual = k.Run
		}
	}
	return state
}

// Runs lists the runs of a subscription, the latest first: the one that waits,
// those that have ended, and those that people asked for. Those of a subscription
// that was deleted are there, too. Like the other lists it says where the next
// page begins; empty after the last. An After of the caller's own making is
// automation.ErrPage.
func (s *Service) Runs(ctx context.Context, scope automation.Scope, guid string, p Page) ([]RunState, string, error) {
	if guid == "" {
		return nil, "", fmt.Errorf("report: Runs: no subscription: %w", storage.ErrNotFound)
	}
	return s.runs(ctx, scope, automation.ReportRuns{Subscription: guid, Limit: p.limit(), After: p.After})
}

// RecentRuns lists the runs of all subscriptions of a scope whose moment has come,
// the latest first.
func (s *Service) RecentRuns(ctx context.Context, scope automation.Scope, p Page) ([]RunState, string, error) {
	return s.runs(ctx, scope, automation.ReportRuns{Begun: true, Limit: p.limit(), After: p.After})
}

// FailedRuns lists the runs of a scope that wait for a person, the latest first.
// automation.Scheduler's Retry, Release and Cancel decide about them by their
// keys, or Bulk about many.
func (s *Service) FailedRuns(ctx context.Context, scope automation.Scope, p Page) ([]RunState, string, error) {
	return s.runs(ctx, scope, automation.ReportRuns{Held: true, Limit: p.limit(), After: p.After})
}

func (s *Service) runs(ctx context.Context, scope automation.Scope, of automation.ReportRuns) ([]RunState, string, error) {
	if !storable.Text(string(scope)) || !storable.Text(of.Subscription) {
		return nil, "", fmt.Errorf("report: a scope or subscription that no row has: %w", storage.ErrNotFound)
	}
	rows, next, err := s.scheduler.ReportRuns(ctx, scope, of)
	out := make([]RunState, len(rows))
	for i := range rows {
		out[i] = stateOf(&rows[i])
	}
	return out, next, err
}
