package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// EventReconcile is the Type of the event that reconciliation asks a
// [TriggerProvider] with. The provider need not list it in EventTypes. Rows that
// reconciliation wrote last name it as their EventType, without an EventID.
const EventReconcile = "belfry.reconcile"

// The bounds of a [Scan].
const (
	maxScanWindow = 3660        // days
	maxScanBatch  = 1000        // sources
	minScanEvery  = time.Minute // between two runs
)

// Scan declares how reconciliation looks through the sources of a reminder type,
// to repair what a missed event left behind (Automation & Reminders, "Bounded
// reconciliation"). Every run is bounded by the allowed scopes, the due window,
// the time of change and the batch: a scan without bounds cannot be declared.
// [Scheduler.Register] panics on a Scan that misses a required field or leaves
// the bounds.
type Scan struct {
	// Read gives one page of sources; required. It gives active sources only, and
	// nothing but what the request describes. It may be called from several
	// goroutines, and again for the same page, and changes nothing.
	Read func(ctx context.Context, r ScanRequest) (ScanPage, error)
	// SourceType is the Type of all sources that Read gives; required.
	SourceType string
	// Window is how many days ahead reminders are looked after: those that fall due
	// from today to so many days later. Required, at most 3660.
	Window int
	// Batch is how many sources one page has at most, and how many one claim
	// reads; default 200, at most 1000.
	Batch int
	// Every is the time between two runs, at least a minute; default an hour.
	// Up to a tenth is added, which follows from scope and type, so that runs
	// spread.
	Every time.Duration
	// Scopes are the tenants that are scanned, at least one; {""} in a host that
	// has one tenant. A tenant that is taken off the list is not scanned any more.
	Scopes []Scope
	// ScopesOf lists them instead of Scopes, for tenants that come and go. It is asked
	// about once a minute; while it fails, its last answer counts.
	ScopesOf func(ctx context.Context) ([]Scope, error)
	// BusinessUnits are those that are scanned; none means all of the scope. A
	// source with a candidate of another one stays as it is.
	BusinessUnits []string
}

// ScanRequest asks for one page of a scan. In SQL it reads
//
//	WHERE active AND due_date BETWEEN From AND To
//	  AND (changed_on >= ChangedSince OR due_date >= NewFrom)
//	  AND id > After ORDER BY id LIMIT Limit
//
// where due_date is the local date of any reminder of the source, and those of
// the other tenants and business units are left out. A reminder that has no day,
// such as one past a threshold, is due today.
type ScanRequest struct {
	Scope Scope
	// BusinessUnits are the Scan's; none means all of the scope.
	BusinessUnits []string
	// ChangedSince leaves out what earlier runs have seen: sources that have not
	// changed since, unless a reminder of theirs falls on NewFrom or later. Zero:
	// nothing is left out.
	ChangedSince time.Time
	// From and To are the first and the last day of the due window, both
	// included. The window is wide enough for every time zone: From is today where
	// the day is the earliest on earth, To is counted from where it is the latest.
	From, To Date
	// NewFrom is the first day of the window that no completed run has covered;
	// without one it is From.
	NewFrom Date
	// After is the Next of the page before; empty for the first page.
	After string
	// Limit is how many sources the page may have. A larger one is refused.
	Limit int
}

// ScanPage is the answer to a ScanRequest.
type ScanPage struct {
	Sources []ScannedSource
	// Next is where the next page begins, in the provider's own words: the After
	// of the next request, stored between two pages, at most 1024 bytes. It
	// has to differ from After, unless Done is set; then it is not looked at.
	Next string
	// Done says that this was the last page.
	Done bool
}

// maxCursor is how many bytes [ScanPage].Next may have.
const maxCursor = 1024

// ScannedSource is one source of a page; it becomes an [Event] of the type
// EventReconcile, for which the [TriggerProvider] is asked.
type ScannedSource struct {
	Source Source
	// Version is that of Event.Version, from the same state as Data, and counts in
	// [ReminderType].Stream. An older version than that has shown is not applied. A source without
	// versions (zero) that has to be repaired is asked for again inside the
	// transaction, then without Data, so that the provider loads it anew; one that
	// could not be planned begins the next run, without Version and Data.
	Version int64
	// Data is handed to the TriggerProvider as Event.Data.
	Data any
}

func (c Scan) withDefaults(now func() time.Time) *Scan {
	c.Batch, c.Every = cmp.Or(c.Batch, 200), cmp.Or(c.Every, time.Hour)
	c.Scopes, c.BusinessUnits = slices.Clone(c.Scopes), slices.Clone(c.BusinessUnits)
	if c.ScopesOf != nil {
		c.ScopesOf = (&scopeList{ask: c.ScopesOf, now: now}).get
	}
	return &c
}

func (c *Scan) check(triggers TriggerProvider) error {
	switch {
	case triggers == nil:
		return errors.New("a Scan without Triggers")
	case c.Read == nil:
		return errors.New("the Scan has no Read")
	case c.Window < 1 || c.Window > maxScanWindow:
		return fmt.Errorf("the Scan's Window is %d days, not 1 to %d", c.Window, maxScanWindow)
	case c.Batch < 0 || c.Batch > maxScanBatch:
		return fmt.Errorf("the Scan's Batch is %d sources, not 1 to %d", c.Batch, maxScanBatch)
	case c.Every != 0 && c.Every < minScanEvery:
		return fmt.Errorf("the Scan's Every is %v, less than %v", c.Every, minScanEvery)
	case len(c.Scopes) == 0 && c.ScopesOf == nil:
		return errors.New("the Scan allows no Scopes")
	case len(c.Scopes) > 0 && c.ScopesOf != nil:
		return errors.New("the Scan has both Scopes and ScopesOf")
	}
	if err := checkName(c.SourceType); err != nil {
		return fmt.Errorf("the Scan's SourceType: %w", err)
	}
	return c.checkAllowed()
}

// checkAllowed refuses allowlists that name what cannot exist.
func (c *Scan) checkAllowed() error {
	if err := checkScopes(c.Scopes); err != nil {
		return err
	}
	for i, unit := range c.BusinessUnits {
		if _, err := checkTenancy("", unit); unit == "" || err != nil {
			return errors.Join(fmt.Errorf("the Scan's BusinessUnit %d cannot be one", i), err)
		}
	}
	return nil
}

// check refuses a page that leaves the bounds of what was asked for.
func (p ScanPage) check(c *Scan, r ScanRequest) error {
	if len(p.Sources) > r.Limit {
		return fmt.Errorf("a page of %d sources, more than the %d asked for", len(p.Sources), r.Limit)
	}
	if !p.Done {
		switch {
		case p.Next == "" || p.Next == r.After:
			return errors.New("the page is not Done, and its Next does not move on")
		case len(p.Next) > maxCursor:
			return fmt.Errorf("a Next of %d bytes, more than %d", len(p.Next), maxCursor)
		case !utf8.ValidString(p.Next) || strings.ContainsRune(p.Next, 0):
			return errors.New("a Next that is not a text: NUL, or invalid UTF-8")
		}
	}
	seen := map[string]bool{}
	for i, source := range p.Sources {
		switch {
		case source.Source.Type != c.SourceType:
			return fmt.Errorf("source %d of the page is a %.40q, not a %.40q", i, source.Source.Type, c.SourceType)
		case seen[source.Source.ID]:
			return fmt.Errorf("source %d of the page was in it before", i)
		case source.Version < 0:
			return fmt.Errorf("source %d of the page has a negative Version", i)
		}
		if _, err := newSourceState(Event{Source: source.Source}); err != nil {
			return fmt.Errorf("source %d of the page: %w", i, err)
		}
		seen[source.Source.ID] = true
	}
	return nil
}

// reconcilePage reads, compares and, unless it is a dry run, repairs one page of
// at most a batch, and counts it into r. After an error nothing of the page was
// written, but for an unknown outcome, and r is what it was.
func (s keeper) reconcilePage(ctx context.Context, t ReminderType, r *ReconcileReport, after string) (*page, error) {
	p, err := s.readPage(ctx, t, r, after)
	if err != nil {
		return nil, fmt.Errorf("automation: scan of %s: %w", t.Name, err)
	}
	if err := p.work(ctx, r); err != nil {
		return nil, err
	}
	return p, nil
}

// work plans, compares and repairs the sources of a page, and counts it into r.
func (p *page) work(ctx context.Context, r *ReconcileReport) error {
	if err := p.planAhead(ctx); err != nil {
		return err
	}
	if planned := p.planned(); p.patient && len(planned) == 0 && len(p.sources) > 1 {
		return p.sources[0].err
	}
	err := p.s.read(ctx, func(from driver.Reader) error { return p.compare(ctx, from, p.planned()) })
	if err == nil {
		err = p.finish(ctx, r.DryRun)
	}
	if err != nil {
		return fmt.Errorf("automation: reconciling %s: %w", p.t.Name, err)
	}
	r.count(p)
	return nil
}

// readPage asks for one page and checks it.
func (s keeper) readPage(ctx context.Context, t ReminderType, r *ReconcileReport, after string) (*page, error) {
	request := ScanRequest{
		Scope: r.Scope, BusinessUnits: slices.Clone(t.Scan.BusinessUnits), ChangedSince: r.ChangedSince,
		From: r.From, To: r.To, NewFrom: r.NewFrom, After: after, Limit: t.Scan.Batch,
	}
	var page ScanPage
	err := work.Guard(func() (err error) {
		page, err = t.Scan.Read(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := page.check(t.Scan, request); err != nil {
		return nil, err
	}
	p := s.newPage(t, r)
	p.next, p.done = page.Next, page.Done
	for _, x := range page.Sources {
		p.add(x)
	}
	return p, nil
}

// newPage is a page of a scan without sources.
func (s keeper) newPage(t ReminderType, r *ReconcileReport) *page {
	return &page{
		s: s.core, t: t, scope: r.Scope, sourceType: t.Scan.SourceType, origin: EventReconcile,
		units: slices.Clone(t.Scan.BusinessUnits), now: s.now(),
	}
}

// add adds a source to a page of a scan.
func (p *page) add(x ScannedSource) {
	e := Event{Scope: p.scope, Type: EventReconcile, Source: x.Source, Version: x.Version, Stream: p.t.Stream, Data: x.Data}
	p.sources = append(p.sources, &pageSource{event: e})
}

// errElsewhere is of a source whose business unit is none of the Scan's.
var errElsewhere = errors.New("automation: the Scan does not have its business unit")

// elsewhere refuses a source of another business unit.
func (p *page) elsewhere(x *pageSource) error {
	for _, plan := range x.plan.plans {
		if len(p.units) > 0 && !slices.Contains(p.units, plan.want.BusinessUnit) {
			return errElsewhere
		}
	}
	return nil
}

// finish repairs what is different, or only looks whether it would.
func (p *page) finish(ctx context.Context, dry bool) error {
	different := p.pick(func(x *pageSource) bool { return x.err == nil && x.found.writes() })
	if len(different) == 0 {
		return nil
	}
	if dry {
		return p.s.read(ctx, func(from driver.Reader) error { return p.findStale(ctx, from, different) })
	}
	return p.s.store.InTx(ctx, func(tx storage.Tx) error { return p.repair(ctx, tx, different) })
}
