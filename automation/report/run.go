package report

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/storable"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
)

// RunDetail is all that is known about one run.
type RunDetail struct {
	RunState
	// Story has its history and what would happen now.
	Story automation.Explanation
}

// Run tells about one run by its key, or storage.ErrNotFound.
func (s *Service) Run(ctx context.Context, scope automation.Scope, key string) (RunDetail, error) {
	if err := reportKey(key); err != nil {
		return RunDetail{}, err
	}
	story, err := s.scheduler.Explain(ctx, scope, key)
	if err != nil {
		return RunDetail{}, fmt.Errorf("report: Run: %w", err)
	}
	if story.Schedule == nil {
		return RunDetail{}, fmt.Errorf("report: run %.200q: %w", key, storage.ErrNotFound)
	}
	return RunDetail{stateOf(story.Schedule), story}, nil
}

// Ownership tells which side delivers a run, or storage.ErrNotFound where the guard
// knows no such run: those of a type that is not Guarded are not in it.
func (s *Service) Ownership(ctx context.Context, scope automation.Scope, key string) (cutover.Ownership, error) {
	if err := reportKey(key); err != nil {
		return cutover.Ownership{}, err
	}
	owned, err := s.scheduler.Rollout().Ownership(ctx, scope, key)
	if err != nil {
		return cutover.Ownership{}, fmt.Errorf("report: Ownership: %w", err)
	}
	return owned, nil
}

// reportKey refuses keys that are no report's: the rest of automation has methods
// of its own, and maybe other rights.
func reportKey(key string) error {
	parsed, _ := keys.Parse(key)
	switch parsed.(type) {
	case keys.ReportRun, keys.ManualReportRun:
		return nil
	}
	return fmt.Errorf("report: %.200q is not a key of a run: %w", key, storage.ErrNotFound)
}

// Sent is one message of a run, without its address and its text.
type Sent struct {
	notify.Coordinates
	MessageID    string
	RecipientRef string
	Channel      string
	Status       string // of notify.OutgoingMessage
	Reason       string
}

// Messages lists the outgoing messages of a run in the order of their keys, and
// says where the next page begins; empty after the last. While the run is not
// Completed, or nothing was rendered yet, there are none.
func (s *Service) Messages(ctx context.Context, scope automation.Scope, key string, p storage.Page) ([]Sent, string, error) {
	detail, err := s.Run(ctx, scope, key)
	if err != nil {
		return nil, "", err
	}
	in := detail.Delivery.Notification.RowKey
	if in == "" {
		in = detail.Delivery.MessagingJob
	}
	if in == "" {
		return nil, "", nil
	}
	rows, next, err := s.out.Support().Messages(ctx, scope, in, p)
	if err != nil {
		return nil, "", fmt.Errorf("report: Messages: %w", err)
	}
	out := make([]Sent, len(rows))
	for i, m := range rows {
		out[i] = Sent{m.Coordinates(), m.MessageID, m.RecipientRef, m.Channel, m.Status, m.ReasonCode}
	}
	return out, next, nil
}

// OpenFile opens a file of a run by its name, for the reader of a link whom the
// host has let in; the caller closes it. One that is not there, or has outlived
// Options.Keep, is storage.ErrNotFound. Not inside a transaction.
func (s *Service) OpenFile(ctx context.Context, scope automation.Scope, key, name string) (io.ReadCloser, notify.AttachmentRef, error) {
	detail, err := s.Run(ctx, scope, key)
	if err != nil {
		return nil, notify.AttachmentRef{}, err
	}
	i := slices.IndexFunc(detail.Delivery.Files, func(f notify.AttachmentRef) bool { return f.Name == name })
	if i < 0 || detail.Status != automation.StatusCompleted {
		return nil, notify.AttachmentRef{}, fmt.Errorf("report: file %.200q: %w", name, storage.ErrNotFound)
	}
	f := detail.Delivery.Files[i]
	in, err := s.store.Blobs().Open(ctx, f.Blob, 0)
	if err != nil {
		return nil, notify.AttachmentRef{}, fmt.Errorf("report: file %.200q: %w", name, err)
	}
	return in, f, nil
}

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
// storage.ErrPage.
func (s *Service) Runs(ctx context.Context, scope automation.Scope, guid string, p storage.Page) ([]RunState, string, error) {
	if guid == "" {
		return nil, "", fmt.Errorf("report: Runs: no subscription: %w", storage.ErrNotFound)
	}
	return s.runs(ctx, scope, automation.ReportRuns{Subscription: guid, Page: p})
}

// RecentRuns lists the runs of all subscriptions of a scope whose moment has come,
// the latest first.
func (s *Service) RecentRuns(ctx context.Context, scope automation.Scope, p storage.Page) ([]RunState, string, error) {
	return s.runs(ctx, scope, automation.ReportRuns{Begun: true, Page: p})
}

// FailedRuns lists the runs of a scope that wait for a person, the latest first.
// automation.Scheduler's Retry, Release and Cancel decide about them by their
// keys, or Bulk about many.
func (s *Service) FailedRuns(ctx context.Context, scope automation.Scope, p storage.Page) ([]RunState, string, error) {
	return s.runs(ctx, scope, automation.ReportRuns{Held: true, Page: p})
}

func (s *Service) runs(ctx context.Context, scope automation.Scope, of automation.ReportRuns) ([]RunState, string, error) {
	if !storable.Text(of.Subscription) {
		return nil, "", fmt.Errorf("report: a subscription that no row has: %w", storage.ErrNotFound)
	}
	rows, next, err := s.scheduler.Support().ReportRuns(ctx, scope, of)
	out := make([]RunState, len(rows))
	for i := range rows {
		out[i] = stateOf(&rows[i])
	}
	return out, next, err
}

// source is what the runs of a subscription are about.
func source(guid string) automation.Source {
	return automation.Source{Type: automation.TypeReportSubscription, ID: guid}
}

// candidate asks for the next run of the cadence.
func (s Subscription) candidate() automation.Candidate {
	cadence := s.Cadence
	return automation.Candidate{
		Scope: s.Scope, AutomationType: automation.TypeReportSubscription, Type: s.Type, Source: source(s.GUID),
		BusinessUnit: s.BusinessUnit, Recurrence: &cadence, SendAt: s.SendAt, Zone: s.Zone, Gap: s.Gap, Overlap: s.Overlap,
	}
}

// manual asks for a run at once.
func (s Subscription) manual(run string) automation.Candidate {
	c := s.candidate()
	c.Recurrence, c.SendAt, c.Run = nil, "", run
	return c
}

// Preview lists the next n runs of a subscription as it is given, from now on and
// at most 1000; fewer if its cadence ends. It reads no row and writes nothing. An
// [*InvalidError] says what is wrong with it.
func (s *Service) Preview(ctx context.Context, sub Subscription, n int) ([]automation.Occurrence, error) {
	if sub.GUID == "" {
		sub.GUID = "preview"
	}
	if err := s.Validate(ctx, sub); err != nil {
		return nil, err
	}
	return s.scheduler.Preview(ctx, sub.candidate(), n)
}

// Asked is a run that a person asked for.
type Asked struct {
	// Run is the id of the run, made before anything is written. It is set beside an
	// error, too: a call that is repeated with it asks for the same run.
	Run string
	// Ensured says what there is of it: storage.Created, or what became of the one
	// that was asked for before.
	automation.Ensured
}

// RunNow builds and delivers a report at once, beside its cadence. run is the id
// that an earlier call returned, or one from [Service.NewGUID] that the caller has
// kept; empty: one is made. A repeated call with the same id makes no second run,
// whatever became of the first. A paused subscription can be run, one that is
// deactivated, or whose runs the old scheduler has, is [ErrActionRefused]. A run that
// this call made is audited.
func (s *Service) RunNow(ctx context.Context, scope automation.Scope, guid, run string, by By) (Asked, error) {
	asked := Asked{Run: run}
	if err := by.Check(); err != nil {
		return asked, fmt.Errorf("report: RunNow: %w", err)
	}
	if run == "" {
		var err error
		if asked.Run, err = s.NewGUID(); err != nil {
			return asked, err
		}
	}
	if _, err := (keys.ManualReportRun{Subscription: guid, Run: asked.Run}).Key(); err != nil {
		return asked, fmt.Errorf("report: RunNow: %w", err)
	}
	err := s.inTx(ctx, func(s *Service) (err error) {
		asked.Ensured, err = s.runNow(ctx, scope, guid, asked.Run, by)
		return err
	})
	return asked, wrap(guid, err)
}

func (s *Service) runNow(ctx context.Context, scope automation.Scope, guid, run string, by By) (automation.Ensured, error) {
	row, err := find(ctx, s.tx, scope, guid)
	switch {
	case err != nil:
		return automation.Ensured{}, err
	case row == nil:
		return automation.Ensured{}, storage.ErrNotFound
	case row.Status == StatusDeactivated:
		return automation.Ensured{}, fmt.Errorf("%w: it is %s", ErrActionRefused, row.Status)
	}
	return s.scheduler.Support().RunReport(ctx, row.subscription().manual(run), by)
}
