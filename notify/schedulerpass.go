package notify

import (
	"context"
	"errors"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
)

// woken is the decision about one schedule: the job to make ready, if any, or to
// skip for a reason.
type woken struct {
	job       *Job
	messaging *MessagingJob
	skip      string
}

// schedulerSpec is the scheduler pass: a due schedule makes the artifact that
// its guard names ready and due now.
func (n *Notifier) schedulerSpec() work.Spec[Schedule, woken] {
	return work.Spec[Schedule, woken]{
		Name: "notify.scheduler", Table: schedules,
		Claimable: []string{StatusReady}, Busy: StatusProcessing,
		Types: n.registry.typeNames, Group: 500,
		Handle:   n.schedule,
		Dispatch: wakeJobs,
		Fail:     func(now time.Time, s *Schedule, _ error) { s.failed(now, ReasonPassFailed) },
		Abandon:  func(now time.Time, s *Schedule) { s.abandoned(now) },
		Release:  func(now time.Time, s *Schedule) { s.released(now) },
	}
}

// schedule decides about a group: an artifact that is missing is a failure with
// back-off, since its producer may still be about to commit it.
func (n *Notifier) schedule(ctx context.Context, items []work.Item[Schedule]) ([]woken, error) {
	named, err := n.loadArtifacts(ctx, items)
	if err != nil {
		return nil, err
	}
	now, out := storage.Now(n.store), make([]woken, len(items))
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
			it.Row.failed(now, ReasonArtifactMissing)
		case unwanted[i] != "":
			out[i].skip = unwanted[i]
			it.Row.skipped(now, unwanted[i])
		default:
			it.Row.dispatched(now)
		}
	}
	return out, nil
}

func (w woken) empty() bool { return w.job == nil && w.messaging == nil }

// artifacts are the jobs that a group of schedules names.
type artifacts struct {
	jobs      map[place]*Job
	messaging map[place]*MessagingJob
}

// place is the identity of a row across scopes.
type place struct {
	scope Scope
	key   string
}

func (a artifacts) find(s *Schedule) (woken, bool) {
	at := place{s.Scope, artifactKey(s)}
	if s.ArtifactType == ArtifactMessagingJob {
		j := a.messaging[at]
		return woken{messaging: j}, j != nil
	}
	j := a.jobs[at]
	return woken{job: j}, j != nil
}

func (n *Notifier) loadArtifacts(ctx context.Context, items []work.Item[Schedule]) (found artifacts, err error) {
	var ofJobs, ofMessaging []place
	for _, it := range items {
		at := place{it.Row.Scope, artifactKey(it.Row)}
		if it.Row.ArtifactType == ArtifactMessagingJob {
			ofMessaging = append(ofMessaging, at)
		} else {
			ofJobs = append(ofJobs, at)
		}
	}
	err = n.store.InTx(ctx, func(tx storage.Tx) (err error) {
		if found.jobs, err = loadPlaces(ctx, tx, jobs, ofJobs); err != nil {
			return err
		}
		found.messaging, err = loadPlaces(ctx, tx, messagingJobs, ofMessaging)
		return err
	})
	return found, err
}

// wakeJobs makes the artifacts ready, or skips them, in the transaction that has
// settled their schedules.
func wakeJobs(ctx context.Context, tx storage.Tx, done []work.Done[Schedule, woken]) error {
	var ofJobs []*Job
	var ofMessaging []*MessagingJob
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
	err := wakeAll(ctx, tx, jobs, func(j *Job, now time.Time) bool { return j.wake(now, reasons[j.ID]) }, ofJobs)
	if err != nil {
		return err
	}
	return wakeAll(ctx, tx, messagingJobs, func(j *MessagingJob, now time.Time) bool { return j.wake(now, unwanted[j.ID]) }, ofMessaging)
}

// wakeAll saves the rows that are still Created. One that somebody wrote since
// it was loaded is loaded again.
func wakeAll[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], wake func(*R, time.Time) bool, loaded []*R) error {
	now := storage.Now(tx.Store())
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

func reload[R any](ctx context.Context, tx storage.Tx, t *storage.Table[R], rows []*R, which []int) ([]*R, error) {
	places := make([]place, len(which))
	for i, n := range which {
		rec := t.Record(rows[n])
		places[i] = place{rec.Scope, rec.Key}
	}
	found, err := loadPlaces(ctx, tx, t, places)
	again := make([]*R, 0, len(found))
	for _, r := range found {
		again = append(again, r)
	}
	return again, err
}
