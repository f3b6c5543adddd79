package automation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// ReportPage reads a page of the active subscriptions of a scope, as candidates, each
// with its Source, and where the next page begins; empty after the last. It may be
// called again for the same page.
type ReportPage func(ctx context.Context, from driver.Reader, scope Scope, p storage.Page) (subs []Candidate, next string, err error)

// ScanReports makes a Poller look after the next runs of the subscriptions that read
// gives, every six hours in each scope that [Scheduler.KeepReports] was called for:
// package automation/report calls it. Where it is called again the last read counts.
//
//spec:a-101
func (s *Scheduler) ScanReports(read ReportPage) { s.registry.scanReports(read) }

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
	return &reconciliation{Record: storage.Record{
		Scope: scope, Key: TypeReportSubscription, Kind: TypeReportSubscription, Status: reconcileReady, DueOn: due,
	}}
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
	return driver.Again("automation: subscriptions", func() (err error) {
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
func (p *reportsPage) scanned(now time.Time, t ReminderType) *scannedPage {
	out := &scannedPage{s: p.s, t: t, scope: p.scope, now: now, next: p.next, done: p.next == ""}
	for _, c := range p.subs {
		if err := p.refused[c.Source]; err != nil {
			out.sources = append(out.sources, &scannedSource{event: Event{Source: c.Source}, err: err})
		}
	}
	for i, e := range p.got {
		x := &scannedSource{event: Event{Source: p.wanted[i].Source}}
		if kind, ok := differenceOf[e.Outcome]; ok {
			x.found.differences = []Difference{{Kind: kind, Key: e.Key}}
		}
		out.sources = append(out.sources, x)
	}
	return out
}

// differenceOf are the outcomes that were a repair.
var differenceOf = map[storage.Outcome]DifferenceKind{
	storage.Created: WouldCreate, storage.Updated: WouldUpdate, storage.Reactivated: WouldReactivate, storage.Conflict: WouldConflict,
}

func (r *registry) scanReports(read ReportPage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reportPage = read
	r.keep()
	close(r.added)
	r.added = make(chan struct{})
}

// subscriptions is how those of reports are read, if they are looked after here.
func (r *registry) subscriptions() (ReportPage, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.reportPage, r.reportPage != nil
}
