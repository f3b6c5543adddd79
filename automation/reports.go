package automation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/belfry-go/belfry/automation/cutover"
	"github.com/belfry-go/belfry/internal/audit"
	"github.com/belfry-go/belfry/internal/civil"
	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ReportPage reads a page of the active subscriptions of a scope, as candidates, each
// with its Source, and where the next page begins; empty after the last. It may be
// called again for the same page.
type ReportPage func(ctx context.Context, from driver.Reader, scope Scope, p storage.Page) (subs []Candidate, next string, err error)

// ScanReports makes a Poller look after the next runs of the subscriptions that read
// gives, every six hours in each scope that [Scheduler.KeepReports] was called for:
// package automation/report calls it. Where it is called again the last read counts. The
// rules are beside those of s.
func (s *Scheduler) ScanReports(read ReportPage, rules ...sweep.Rules) {
	s.registry.scanReports(read, rules)
}

// KeepReports has the subscriptions of a scope looked after, from the transaction on
// that s is bound to.
func (s *Scheduler) KeepReports(ctx context.Context, scope Scope) error {
	return s.inTx(ctx, func(tx storage.Tx) error {
		_, err := reconciliations.Ensure(ctx, tx, reviveScan, reportScan(scope, s.now().Add(reportsEvery)))
		return err
	})
}

// RefreshReports makes sure of the next runs of one page of subscriptions, in the
// bound transaction or in one of its own. A subscription that is refused fails the
// page, with a [*CandidateError].
func (s *Scheduler) RefreshReports(ctx context.Context, scope Scope, p storage.Page) (next string, err error) {
	read, ok := s.registry.subscriptions()
	if !ok {
		return "", errors.New("automation: RefreshReports: no ScanReports here")
	}
	page := reportsPage{s: s.core, read: read, scope: scope}
	err = s.inTx(ctx, func(tx storage.Tx) error { return page.refresh(ctx, tx, p) })
	return page.next, err
}

const (
	reportsEvery = 6 * time.Hour
	reportsBatch = 100
)

// reportScan is the row of a scope's scan.
func reportScan(scope Scope, due time.Time) *reconciliation {
	return &reconciliation{Due: driver.Due{Record: storage.Record{Scope: scope, Key: TypeReportSubscription, Kind: TypeReportSubscription, Status: reconcileReady}, DueOn: due}}
}

// hurry makes a scan that rests due.
func hurry(stored, want *reconciliation) (storage.Outcome, bool) {
	if stored.Run != nil || !stored.DueOn.After(want.DueOn) {
		return storage.Unchanged, false
	}
	stored.DueOn = want.DueOn
	return storage.Updated, true
}

// reportsPage is a page of subscriptions whose next runs are made sure of.
type reportsPage struct {
	s     *core
	read  ReportPage
	scope Scope

	refused map[Source]error // those that cannot be planned
	subs    []Candidate
	wanted  []Candidate // subs that are not refused
	got     []Ensured   // of wanted
	next    string
}

// refresh ensures a page. If a subscription was changed between its read and the write
// of its run, the page is read and ensured again, so that it undoes no change.
func (p *reportsPage) refresh(ctx context.Context, tx storage.Tx, at storage.Page) error {
	return driver.RetryStale("automation: subscriptions", func() (err error) {
		if p.subs, p.next, err = p.read(ctx, tx, p.scope, at); err != nil {
			return err
		}
		p.wanted = slices.DeleteFunc(slices.Clone(p.subs), func(c Candidate) bool { return p.refused[c.Source] != nil })
		if p.got, err = p.s.bound(tx).Ensure(ctx, p.wanted...); err != nil {
			return err
		}
		if !slices.ContainsFunc(p.got, func(e Ensured) bool { return e.Outcome != storage.Unchanged }) {
			return nil
		}
		now, _, err := p.read(ctx, tx, p.scope, at)
		if err == nil && !reflect.DeepEqual(now, p.subs) {
			err = storage.ErrStale
		}
		return err
	})
}

// refreshAll is refresh in a transaction of its own, without those that cannot be
// planned.
func (p *reportsPage) refreshAll(ctx context.Context, at storage.Page) error {
	for {
		err := p.s.store.InTx(ctx, func(tx storage.Tx) error { return p.refresh(ctx, tx, at) })
		var refused *CandidateError
		if !errors.As(err, &refused) {
			return err
		}
		p.refused[p.wanted[refused.Index].Source] = err
	}
}

// reconcileReports does the next page of a scope's subscriptions.
func (s keeper) reconcileReports(ctx context.Context, row *reconciliation) error {
	t := ReminderType{Name: TypeReportSubscription, Scan: &Scan{Every: reportsEvery}}
	run := begin(s.now(), row.Scope, t, time.Time{}, "")
	if row.Run != nil {
		run = *row.Run
	}
	read, _ := s.registry.subscriptions() // no other process claims it
	page := reportsPage{s: s.core, read: read, scope: row.Scope, refused: map[Source]error{}}
	err := work.Guard(func() error {
		return page.refreshAll(ctx, storage.Page{After: row.Cursor, Limit: reportsBatch})
	})
	if err != nil {
		return fmt.Errorf("automation: scan of subscriptions: %w", err)
	}
	scanned := page.scanned(s.now(), t)
	run.count(scanned)
	row.turn(s.now(), run, scanned)
	if !scanned.done {
		return nil
	}
	s.reconciled(ctx, *row.Last)
	if row.Last.Scanned == 0 {
		row.off() // until there is a subscription again
	}
	return nil
}

// scanned is the page as the row of the scan counts it.
func (p *reportsPage) scanned(now time.Time, t ReminderType) *page {
	out := &page{s: p.s, t: t, scope: p.scope, now: now, next: p.next, done: p.next == ""}
	for _, c := range p.subs {
		if err := p.refused[c.Source]; err != nil {
			out.sources = append(out.sources, &pageSource{event: Event{Source: c.Source}, err: err})
		}
	}
	for i, e := range p.got {
		x := &pageSource{event: Event{Source: p.wanted[i].Source}}
		if kind, ok := differenceOf[e.Outcome]; ok {
			x.found.differences = []Difference{{Kind: kind, Key: e.Key}}
		}
		out.sources = append(out.sources, x)
	}
	return out
}

// differenceOf are the outcomes that were a repair.
var differenceOf = map[storage.Outcome]DifferenceKind{
	storage.Created: wouldCreate, storage.Updated: wouldUpdate, storage.Reactivated: wouldReactivate, storage.Conflict: wouldConflict,
}

// HandleReports adds a type of report: from now on this process serves the runs
// of subscriptions of that type, which package automation/report asks for. They
// are handled one by one and by a pass of their own, so that one that takes long
// keeps neither reminders nor other reports waiting. It panics as Handle does.
func (s *Scheduler) HandleReports(t WorkType) {
	s.claim("HandleReports", t, func() { s.registry.reports[t.Name] = true })
}

// planReport is the series of a report's runs, or one run that a person asked
// for (Report Subscription, "Use AutomationScheduler").
func (s planner) planReport(ctx context.Context, c Candidate) (plan, string, error) {
	if field, err := c.checkReport(); err != nil {
		return plan{}, field, err
	}
	c.Setting, c.TriggerKey = TypeReportSubscription, defaultTriggerKey
	if c.Run == "" {
		return s.planSeries(ctx, c, ReminderType{Name: c.Type}, ScheduledRun)
	}
	key, err := keys.ManualReportRun{Subscription: c.Source.ID, Run: c.Run}.Key()
	if err != nil {
		return plan{}, "", err
	}
	return s.planManual(ctx, c, ReminderType{}, key)
}

func (c Candidate) checkReport() (field string, err error) {
	if err := checkName(c.Type); err != nil {
		return "Type", err
	}
	switch {
	case c.Source.Type != TypeReportSubscription:
		return "Source", errors.New("is not of the type " + TypeReportSubscription)
	case c.Setting != "" && c.Setting != TypeReportSubscription:
		return "Setting", errors.New("is not allowed for reports")
	case c.TriggerKey != "" && c.TriggerKey != defaultTriggerKey:
		return "TriggerKey", errors.New("is not allowed for reports")
	case len(c.Identity) > 0:
		return "Identity", errors.New("is not allowed for reports: a run stands for its subscription")
	case (c.Run == "") == (c.Recurrence == nil):
		return "Recurrence", errors.New("or Run is required, and only one of them")
	}
	if _, err := (keys.ReportRun{Subscription: c.Source.ID, On: time.Unix(0, 0)}).Key(); err != nil {
		return "Source", err
	}
	if c.Recurrence == nil {
		c.Recurrence = &Recurrence{} // what is refused beside one is refused beside a Run
	}
	return c.checkRecurring()
}

// planManual is the row of a run that is due at once.
func (s planner) planManual(ctx context.Context, c Candidate, t ReminderType, key string) (plan, string, error) {
	zone, loc, err := s.zone(ctx, c, t)
	if err != nil {
		return plan{}, "Zone", err
	}
	want := c.row(key, ManualRun, keys.Input{})
	want.ScheduledOn = driver.Time(s.now())
	local := want.ScheduledOn.In(loc)
	want.LocalDate, want.TimeZone = civil.DateOf(want.ScheduledOn, loc).String(), zone
	want.SendAt = civil.TimeOfDay{Hour: local.Hour(), Minute: local.Minute(), Second: local.Second()}.String()
	return plan{want: want}, "", nil
}

// RunReport is Ensure for a candidate with a Run, and tells the history who asked
// for it and why. A row that exists already keeps its owner. While the old
// scheduler has the runs of the report it is [ErrActionRefused], and nothing is written:
// the run would never come.
func (s Support) RunReport(ctx context.Context, c Candidate, by By) (out Ensured, err error) {
	if err := by.Check(); err != nil {
		return Ensured{}, fmt.Errorf("automation: RunReport: %w", err)
	}
	if c.Run == "" {
		return Ensured{}, errors.New("automation: RunReport: a candidate without a Run")
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		if err := s.refuseShadow(ctx, tx, c); err != nil {
			return err
		}
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
		made := note{row, past{by: person(by)}, actionCreated, by.Reason}
		return audit.Write(ctx, tx, made.entry(person(by), row.CreatedOn))
	})
	if err != nil {
		return Ensured{}, fmt.Errorf("automation: RunReport: %w", err)
	}
	return out, nil
}

// refuseShadow refuses a run that the old scheduler has.
func (s Support) refuseShadow(ctx context.Context, tx storage.Tx, c Candidate) error {
	plans, err := s.planner().plans(within(ctx, tx), []Candidate{c})
	if err != nil {
		return err
	}
	guard, err := s.ensurer().lookUpOwners(ctx, tx, []*scheduleRow{&plans[0].want})
	if err == nil && guard.owners[0] == cutover.OldScheduler {
		err = fmt.Errorf("%w: the old scheduler has the runs of this report", ErrActionRefused)
	}
	return err
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
	err = s.read(ctx, func(from driver.Reader) error {
		rows, after, err := schedules.Page(ctx, from, scope, of.Page, q)
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
