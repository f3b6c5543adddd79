package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// rerunMark stands in a TriggerKey between the host's own and the number of the
// run that support asked for. No candidate may hold it.
const rerunMark = "~"

// Rerun does Completed work once more: a real second delivery, which no Ensure
// makes (Automation & Reminders, "Ensure semantics": a support-retry key). It
// makes a row that is due now and stands for the same, under the same key but
// for the trigger key, which goes on with "~1"; that of a rerun of "~1" with
// "~2". No event supersedes it. It is validated when it is due: it runs if the
// source still asks for the row that was run first, and ends if the source or its
// setting is gone.
//
// Each row has one rerun, so a second click and a repeated call change nothing:
// they answer storage.Unchanged and what became of the first (Created says that
// this call made it). To send yet again, name the key of the last rerun. It is
// audited on both rows. The error wraps [ErrActionRefused] unless the row is
// Completed, and storage.ErrNotFound where scope has no such key.
//
//spec:a-044
func (s Support) Rerun(ctx context.Context, scope Scope, key string, by By) (out Ensured, err error) {
	if err := by.Check(); err != nil {
		return Ensured{}, fmt.Errorf("automation: %w", err)
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		row, err := schedules.Get(ctx, tx, scope, key)
		if err != nil {
			return err
		}
		next, refused := row.rerun(s.now())
		if refused != "" {
			return fmt.Errorf("%w: %s", ErrActionRefused, refused)
		}
		out, err = s.ensureRerun(ctx, tx, row, next, by)
		return err
	})
	if err != nil {
		return Ensured{}, fmt.Errorf("automation: Rerun of %s: %w", key, err)
	}
	return out, nil
}

// ensureRerun makes next unless it exists, and writes into the history of both.
func (s Support) ensureRerun(ctx context.Context, tx storage.Tx, row, next *scheduleRow, by By) (Ensured, error) {
	got, err := schedules.Ensure(ctx, tx, func(*scheduleRow, *scheduleRow) (storage.Outcome, bool) { return storage.Unchanged, false }, next)
	if err != nil {
		return Ensured{}, err
	}
	made := got[0].Row
	if got[0].Outcome != storage.Created {
		return answer(got[0].Outcome, made, next), nil
	}
	if err := schedules.Save(ctx, tx, row); err != nil { // its new version is what the audit tells of
		return Ensured{}, err
	}
	err = tell(ctx, tx, by.Actor, []note{{row, row.past(), ActionRerun, by.Reason}})
	if err != nil {
		return Ensured{}, err
	}
	first := note{made, past{by: by.Actor}, ActionCreated, by.Reason}.entry(by.Actor, made.CreatedOn)
	return answer(storage.Created, made, next), audit.Write(ctx, tx, first)
}

// rerun is the row of the next run, or why there is none.
func (r *scheduleRow) rerun(now time.Time) (next *scheduleRow, refused string) {
	if r.AutomationType == TypeReportSubscription {
		return nil, "a report is built once more by another run of it"
	}
	if r.Status != StatusCompleted {
		return nil, "it is " + r.Status + "; what is not Completed is retried"
	}
	base, n := baseTriggerKey(r.TriggerKey)
	triggerKey := base + rerunMark + strconv.Itoa(n+1)
	key, err := keyWith(r.Key, r.TriggerKey, triggerKey)
	if err != nil {
		return nil, err.Error()
	}
	again := *r
	again.Record = storage.Record{Scope: r.Scope, Key: key, Kind: r.Kind, Status: StatusPending, Lane: r.Lane, DueOn: now}
	again.TriggerKey = triggerKey
	again.CreatedOn, again.ScheduledOn, again.EndedOn, again.NextRetryOn = now, now, time.Time{}, time.Time{}
	again.RetryCount, again.LeaseLossCount = 0, 0
	again.ReasonCode, again.Diagnostics, again.DispatchResult, again.TraceBlobName = "", "", nil, ""
	again.IsOnSupportHold, again.HoldReason, again.HoldDetail = false, "", ""
	again.EventType, again.EventID = "", ""
	again.relocate()
	return &again, ""
}

// relocate derives the local date of a date-based row from its moment.
func (r *scheduleRow) relocate() {
	if loc, err := civil.LoadZone(r.TimeZone); err == nil && r.TriggerType == DateBased {
		r.LocalDate = r.ScheduledOn.In(loc).Format(time.DateOnly)
	}
}

// baseTriggerKey is the host's own part of a trigger key, and the number of the
// rerun: 0 for the row that the host asked for.
func baseTriggerKey(triggerKey string) (string, int) {
	base, number, found := strings.Cut(triggerKey, rerunMark)
	if !found {
		return triggerKey, 0
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return triggerKey, 0
	}
	return base, n
}

// baseKey is the key of the row that the host asked for, which a rerun repeats.
func (r *scheduleRow) baseKey() string { return baseKey(r.Key, r.TriggerKey) }

func baseKey(key, triggerKey string) string {
	base, n := baseTriggerKey(triggerKey)
	if n == 0 {
		return key
	}
	first, err := keyWith(key, triggerKey, base)
	if err != nil {
		return key
	}
	return first
}

// keyWith is a key with another trigger key, which is the fifth component of every
// key that has one.
func keyWith(key, was, is string) (string, error) {
	const place = 4
	parts := strings.SplitN(key, ":", place+2)
	if len(parts) <= place || parts[place] != was {
		return "", errors.New("its key has no trigger key")
	}
	parts[place] = is
	key = strings.Join(parts, ":")
	_, err := keys.Parse(key)
	return key, err
}

// RunReport is Ensure for a candidate with a Run, and tells the history who asked
// for it and why. A row that exists already stays whoever's it is.
func (s Support) RunReport(ctx context.Context, c Candidate, by By) (out Ensured, err error) {
	if err := by.Check(); err != nil {
		return Ensured{}, fmt.Errorf("automation: RunReport: %w", err)
	}
	if c.Run == "" {
		return Ensured{}, errors.New("automation: RunReport: a candidate without a Run")
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		got, err := s.bound(tx).Ensure(ctx, c)
		if err != nil {
			return err
		}
		if out = got[0]; out.Outcome != storage.Created {
			return nil
		}
		row, err := schedules.Get(ctx, tx, out.Scope, out.Key)
		if err != nil {
			return err
		}
		made := note{row, past{by: by.Actor}, ActionCreated, by.Reason}
		return audit.Write(ctx, tx, made.entry(by.Actor, row.CreatedOn))
	})
	if err != nil {
		return Ensured{}, fmt.Errorf("automation: RunReport: %w", err)
	}
	return out, nil
}

// ReportRuns says which runs of reports to list. The zero value is all of a
// scope, scheduled ones to come included.
type ReportRuns struct {
	Subscription string // only those of one
	Begun        bool   // only those whose moment has come
	Held         bool   // only those that wait for a person
	storage.Page
}

// ReportRuns lists runs of reports as they are stored, the latest moment first,
// and says where the next page begins: empty after the last. A row that is new or
// moves while somebody pages may be missed or come twice. An After of the caller's
// own making is [storage.ErrPage].
func (s Support) ReportRuns(ctx context.Context, scope Scope, of ReportRuns) (runs []Schedule, next string, err error) {
	q := of.query(s.now())
	err = s.inTx(ctx, func(tx storage.Tx) error {
		rows, after, err := schedules.Page(ctx, tx, scope, of.Page, q)
		runs, next = views(rows), after
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("automation: ReportRuns: %w", err)
	}
	return runs, next, nil
}

// query repeats the predicate of the indexes over runs of reports. That each has a
// moment is said, since a database that puts those without one first would sort.
func (of ReportRuns) query(now time.Time) driver.Query {
	q := driver.Query{OrderBy: "scheduled_on", Desc: true}
	q.Where = []driver.Cond{driver.Eq("automation_type", TypeReportSubscription), driver.NotNull("scheduled_on")}
	if of.Subscription != "" {
		q.Where = append(q.Where, driver.Eq("source", of.Subscription))
	}
	if of.Begun {
		q.Where = append(q.Where, driver.AtMost("scheduled_on", now))
	}
	if of.Held {
		q.Where = append(q.Where, driver.Eq("is_on_support_hold", true))
	}
	return q
}

// reportPass is the due pass over runs of reports: one run in a group, so that
// each is settled when it is done, and few of them claimed ahead, so that other
// processes find some as well. It rests while no type of report is registered.
type reportPass struct{ s *core }

func (p reportPass) Name() string { return "automation.report" }

// defaultBuilds is how many reports a poller builds at once, unless it says so.
const defaultBuilds = 8

func (p reportPass) Runner(o work.Options) work.Runner {
	o.Batch = min(cmp.Or(o.Batch, defaultBuilds), cmp.Or(o.Concurrency, defaultBuilds))
	o.InFlight = 2 * o.Batch
	pass := work.New(p.s.store, p.s.worker().dueSpec(p.Name(), 1, func() []string {
		names, _ := p.s.registry.reportTypes()
		return names
	}))
	return &reportRunner{inner: pass.Runner(o), s: p.s}
}

type reportRunner struct {
	inner work.Runner
	s     *core
}

func (r *reportRunner) Poll(ctx context.Context, batch int) (work.Report, error) {
	if names, _ := r.s.registry.reportTypes(); len(names) == 0 {
		return work.Report{}, nil
	}
	return r.inner.Poll(ctx, batch)
}

func (r *reportRunner) Run(ctx context.Context) error {
	for names, added := r.s.registry.reportTypes(); len(names) == 0; names, added = r.s.registry.reportTypes() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-added:
		}
	}
	return r.inner.Run(ctx)
}
