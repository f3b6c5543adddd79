package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Schedule is a NotificationScheduler: when an artifact is to be looked
// at. At most one exists for an artifact and event type, which is the dispatch
// guard (Communication - System architecture, "NotificationScheduler dispatch
// guard"). A caller of EnsureNotificationScheduler fills in the fields down to
// ScheduledOn, of which Type and ArtifactRowKey with its partition are required;
// the others are the answer of a list and ignored.
type Schedule struct {
	Scope Scope
	// Type is the notification type.
	Type string
	// Lane orders it among other work; zero leaves it to the type.
	Lane int16
	// ArtifactType is ArtifactNotificationJob (also if empty) or
	// ArtifactMessagingJob. The partition key of a messaging job is its GUID,
	// and so is its row key.
	ArtifactType         Artifact
	ArtifactPartitionKey string
	ArtifactRowKey       string
	// EventType is the NotificationEventType; empty means the notification type.
	// It is mapped here, and never assumed to equal an entity event's type.
	EventType    string
	BusinessUnit string
	// InputHash is checked if both sides have one.
	InputHash string
	// ScheduledOn is when the schedule is due; zero means at once. The first one
	// stands.
	ScheduledOn time.Time

	// Key is the stored identity, which Release and Cancel take: see Guard.
	Key string
	// Status is one of the Status… constants.
	Status string
	// DueOn is when the scheduler looks at it; zero: it does not.
	DueOn     time.Time
	CreatedOn time.Time
	driver.Tries
	driver.SupportHold
}

// scheduleRow has the columns of a [Schedule].
type scheduleRow struct {
	tried[ofSchedules]
	ArtifactType         Artifact  `db:"artifact_type,fixed,plain"`
	ArtifactPartitionKey string    `db:"artifact_partition_key,fixed,person"`
	ArtifactRowKey       string    `db:"artifact_row_key,fixed,person"`
	EventType            string    `db:"event_type,fixed,plain"`
	BusinessUnit         string    `db:"business_unit,fixed,plain"`
	InputHash            string    `db:"input_hash,fixed,plain"`
	ScheduledOn          time.Time `db:"scheduled_on,fixed"`

	CreatedOn time.Time `db:"created_on,fixed"`
}

var schedules = driver.Define[scheduleRow]("notification_scheduler").Grows(driver.WithWork).
	Kept("Retention.Messages", "made again, it finds the stub of its job")

// row has what a caller chooses.
func (s *Schedule) row() scheduleRow {
	return scheduleRow{
		tried:        tried[ofSchedules]{Due: driver.Due{Record: storage.Record{Scope: s.Scope, Kind: s.Type}, Lane: s.Lane}},
		ArtifactType: s.ArtifactType, ArtifactPartitionKey: s.ArtifactPartitionKey, ArtifactRowKey: s.ArtifactRowKey,
		EventType: s.EventType, BusinessUnit: s.BusinessUnit, InputHash: s.InputHash, ScheduledOn: s.ScheduledOn,
	}
}

func (s *scheduleRow) view() Schedule {
	return Schedule{
		Scope: s.Scope, Type: s.Kind, Lane: s.Lane,
		ArtifactType: s.ArtifactType, ArtifactPartitionKey: s.ArtifactPartitionKey, ArtifactRowKey: s.ArtifactRowKey,
		EventType: s.EventType, BusinessUnit: s.BusinessUnit, InputHash: s.InputHash, ScheduledOn: s.ScheduledOn,
		Key: s.Key, Status: s.Status, DueOn: s.DueOn, CreatedOn: s.CreatedOn, Tries: s.Tries, SupportHold: s.SupportHold,
	}
}

// ScheduleFor is the schedule of j at a moment; zero means at once.
func ScheduleFor(j Job, on time.Time) Schedule {
	at := j.Coordinates()
	return Schedule{
		Scope: j.Scope, Type: j.Type, Lane: j.Lane,
		ArtifactType: ArtifactNotificationJob, ArtifactPartitionKey: at.PartitionKey, ArtifactRowKey: at.RowKey,
		BusinessUnit: j.BusinessUnit, InputHash: j.InputHash, ScheduledOn: on,
	}
}

// ScheduleForCampaign is the schedule of a messaging job at a moment; zero means
// at once.
func ScheduleForCampaign(j MessagingJob, on time.Time) Schedule {
	at := j.Coordinates()
	return Schedule{
		Scope: j.Scope, Type: j.Type, Lane: j.Lane,
		ArtifactType: ArtifactMessagingJob, ArtifactPartitionKey: at.PartitionKey, ArtifactRowKey: at.RowKey,
		BusinessUnit: j.BusinessUnit, InputHash: j.InputHash, ScheduledOn: on,
	}
}

// Guard is the key of the row: the four parts of the dispatch guard, joined.
// The error is a *keys.PartError.
func (s *Schedule) Guard() (string, error) {
	artifact := cmp.Or(s.ArtifactType, ArtifactNotificationJob)
	return keys.Join(string(artifact), s.ArtifactPartitionKey, s.ArtifactRowKey, cmp.Or(s.EventType, s.Type))
}

// wake makes the job of a due schedule ready, or skips it for a reason; one past
// Created is left alone.
func (j *jobRow) wake(now time.Time, skip string) bool {
	if skip != "" && j.Status == StatusCreated {
		j.skipped(now, skip)
		return true
	}
	return wake(&j.Due, now)
}

func wake(r *driver.Due, now time.Time) bool {
	if r.Status != StatusCreated {
		return false
	}
	r.Status, r.DueOn = StatusReady, now
	return true
}

// EnsureNotificationScheduler makes sure of schedules; see
// [DeliveryDispatcher]. The dispatch guard is the key: one schedule for an
// artifact and event type. Immutable are the type, the business unit and the
// InputHash, if both sides have one.
func (n *Notifier) EnsureNotificationScheduler(ctx context.Context, tx storage.Tx, want ...Schedule) ([]Ensured, error) {
	return ensure(ctx, n.core, tx, scheduleKind, want, (*Schedule).row)
}

var scheduleKind = &kind[scheduleRow]{
	artifact: ArtifactNotificationScheduler,
	table:    schedules,
	fill:     fillSchedule,
	immutable: func(s, w *scheduleRow) []field {
		fields := []field{
			{"Type", s.Kind, w.Kind},
			{"BusinessUnit", s.BusinessUnit, w.BusinessUnit},
		}
		return append(fields, bothOrNone("InputHash", s.InputHash, w.InputHash)...)
	},
	answer: func(s *scheduleRow) (Coordinates, string) {
		return Coordinates{s.ArtifactPartitionKey, s.ArtifactRowKey}, ""
	},
}

func fillSchedule(n *core, now time.Time, s *scheduleRow) error {
	if s.Kind == "" {
		return errNoType
	}
	s.ArtifactType = cmp.Or(s.ArtifactType, ArtifactNotificationJob)
	if s.ArtifactType != ArtifactNotificationJob && s.ArtifactType != ArtifactMessagingJob {
		return fmt.Errorf("ArtifactType %q is neither %s nor %s", s.ArtifactType, ArtifactNotificationJob, ArtifactMessagingJob)
	}
	s.EventType = cmp.Or(s.EventType, s.Kind)
	given := s.view()
	key, err := given.Guard()
	if err != nil {
		return err
	}
	if s.ScheduledOn.IsZero() {
		s.ScheduledOn = now
	}
	s.Due = freshDue(s.Due, key, StatusReady)
	s.Lane = n.registry.lane(s.Kind, s.Lane)
	s.ScheduledOn = driver.Time(s.ScheduledOn)
	s.DueOn = s.ScheduledOn
	s.CreatedOn = now
	return nil
}

// bothOrNone compares a field only where both sides have it.
func bothOrNone(name, stored, wanted string) []field {
	if stored == "" || wanted == "" {
		return nil
	}
	return []field{{name, stored, wanted}}
}

// woken is the decision about one schedule: the job to make ready, if any, or to
// skip for a reason.
type woken struct {
	job       *jobRow
	messaging *messagingJobRow
	skip      string
}

// schedulerSpec is the scheduler pass: a due schedule makes the artifact that
// its guard names ready and due now.
func (n generator) schedulerSpec() work.Spec[scheduleRow, woken] {
	return work.Spec[scheduleRow, woken]{
		Name: "notify.scheduler", Table: schedules,
		Claimable: []string{StatusReady}, Busy: StatusProcessing,
		Types: n.registry.typeNames, Limit: renderTimeout, Group: 500,
		Handle:   n.schedule,
		Dispatch: wakeJobs,
		Fail:     func(now time.Time, s *scheduleRow, _ error) { s.failed(now, reasons.PassFailed) },
		Abandon:  func(now time.Time, s *scheduleRow) { s.abandoned(now) },
		Release:  func(now time.Time, s *scheduleRow) { s.released(now) },
	}
}

// schedule decides about a group: an artifact that is missing is a failure with
// back-off, since its producer may still be about to commit it.
func (n generator) schedule(ctx context.Context, items []work.Item[scheduleRow]) ([]woken, error) {
	named, err := n.loadArtifacts(ctx, items)
	if err != nil {
		return nil, err
	}
	now, out := driver.Now(n.store), make([]woken, len(items))
	for i, it := range items {
		out[i], _ = named.find(it.Row)
	}
	unwanted, err := n.unwanted(ctx, items, out)
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		switch {
		case out[i].empty():
			it.Row.failed(now, reasons.ArtifactMissing)
		case unwanted[i] != "":
			out[i].skip = unwanted[i]
			it.Row.skipped(now, unwanted[i])
		default:
			it.Row.end(now, StatusDispatched)
		}
	}
	return out, nil
}

func (w woken) empty() bool { return w.job == nil && w.messaging == nil }

// artifacts are the jobs that a group of schedules names.
type artifacts struct {
	jobs      map[driver.ScopedKey]*jobRow
	messaging map[driver.ScopedKey]*messagingJobRow
}

func (a artifacts) find(s *scheduleRow) (woken, bool) {
	at := driver.ScopedKey{Scope: s.Scope, Key: artifactKey(s)}
	if s.ArtifactType == ArtifactMessagingJob {
		j := a.messaging[at]
		return woken{messaging: j}, j != nil
	}
	j := a.jobs[at]
	return woken{job: j}, j != nil
}

func (n generator) loadArtifacts(ctx context.Context, items []work.Item[scheduleRow]) (found artifacts, err error) {
	var ofJobs, ofMessaging []driver.ScopedKey
	for _, it := range items {
		at := driver.ScopedKey{Scope: it.Row.Scope, Key: artifactKey(it.Row)}
		if it.Row.ArtifactType == ArtifactMessagingJob {
			ofMessaging = append(ofMessaging, at)
		} else {
			ofJobs = append(ofJobs, at)
		}
	}
	err = n.store.View(ctx, func(from driver.Reader) (err error) {
		if found.jobs, err = jobs.GetMany(ctx, from, ofJobs); err != nil {
			return err
		}
		found.messaging, err = messagingJobs.GetMany(ctx, from, ofMessaging)
		return err
	})
	return found, err
}

// wakeJobs makes the artifacts ready, or skips them, in the transaction that has
// settled their schedules.
func wakeJobs(ctx context.Context, tx storage.Tx, done []work.Done[scheduleRow, woken]) error {
	var ofJobs []*jobRow
	var ofMessaging []*messagingJobRow
	reasons := map[int64]string{} // of jobs, by id
	unwanted := map[int64]string{}
	for _, d := range done {
		if j := d.Result.job; j != nil {
			ofJobs = append(ofJobs, j)
			reasons[j.ID] = d.Result.skip
		}
		if j := d.Result.messaging; j != nil {
			ofMessaging = append(ofMessaging, j)
			unwanted[j.ID] = d.Result.skip
		}
	}
	err := wakeAll(ctx, tx, jobs, func(j *jobRow, now time.Time) bool { return j.wake(now, reasons[j.ID]) }, ofJobs)
	if err != nil {
		return err
	}
	return wakeAll(ctx, tx, messagingJobs, func(j *messagingJobRow, now time.Time) bool { return j.wake(now, unwanted[j.ID]) }, ofMessaging)
}

// wakeAll saves the rows that are still Created. One that was written since
// it was loaded is loaded again.
func wakeAll[R any](ctx context.Context, tx storage.Tx, t *driver.Table[R], wake func(*R, time.Time) bool, loaded []*R) error {
	now := driver.Now(tx.Store())
	for round := 0; len(loaded) > 0; round++ {
		var save []*R
		for _, r := range loaded {
			r := *r // the transaction may run again
			if wake(&r, now) {
				save = append(save, &r)
			}
		}
		err := t.Save(ctx, tx, save...)
		var stale *storage.StaleError
		if !errors.As(err, &stale) || round == 2 {
			return err
		}
		if loaded, err = reload(ctx, tx, t, save, stale.Rows); err != nil {
			return err
		}
	}
	return nil
}

func reload[R any](ctx context.Context, from driver.Reader, t *driver.Table[R], rows []*R, which []int) ([]*R, error) {
	places := make([]driver.ScopedKey, len(which))
	for i, n := range which {
		rec := t.Record(rows[n])
		places[i] = driver.ScopedKey{Scope: rec.Scope, Key: rec.Key}
	}
	found, err := t.GetMany(ctx, from, places)
	again := make([]*R, 0, len(found))
	for _, r := range found {
		again = append(again, r)
	}
	return again, err
}

// artifactKey is the key of the row that a schedule's guard names. The guard
// was built from the same parts, so it cannot be refused here.
func artifactKey(s *scheduleRow) string {
	if s.ArtifactType == ArtifactMessagingJob {
		return s.ArtifactRowKey // its GUID
	}
	key, _ := keys.Join(s.ArtifactPartitionKey, s.ArtifactRowKey)
	return key
}
