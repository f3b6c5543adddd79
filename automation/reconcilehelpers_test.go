package automation_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/internal/work"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// staff is what a host knows of its employees: a TriggerProvider with a scan.
type staff struct {
	mu       sync.Mutex
	people   map[string]person
	others   person // whoever is not among the people
	requests []automation.ScanRequest
	offsets  []int
	sendAt   string
	unit     string
	read     func(automation.ScanRequest) error // called before a page is given
	asked    func(automation.Request) error     // called before candidates are given
	spoil    func(*automation.ScanPage)         // spoils a page
}

type person struct {
	expires automation.Date
	version int64
	changed time.Time
	gone    bool
}

func (s *staff) EventTypes() []string { return []string{"certificate-changed"} }

func (s *staff) Wanted(_ context.Context, of []automation.Request) ([]automation.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return automation.Each(of, s.answer)
}

func (s *staff) answer(r automation.Request) (a automation.Answer, err error) {
	if s.asked != nil {
		if err := s.asked(r); err != nil {
			return a, err
		}
	}
	p, read := r.Event.Data.(person)
	if !read {
		if p, read = s.people[r.Source.ID]; !read {
			p = s.others
		}
	}
	for _, n := range s.offsets {
		if !p.gone && !p.expires.IsZero() {
			a.Candidates = append(a.Candidates, automation.Candidate{TargetDate: p.expires, DaysBefore: n, SendAt: s.sendAt, BusinessUnit: s.unit})
		}
	}
	return a, nil
}

// Read is the scan, as its documentation words it.
func (s *staff) Read(_ context.Context, r automation.ScanRequest) (automation.ScanPage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if s.read != nil {
		if err := s.read(r); err != nil {
			return automation.ScanPage{}, err
		}
	}
	page := automation.ScanPage{Done: true}
	for _, id := range slices.Sorted(maps.Keys(s.people)) {
		if id <= r.After || !s.wanted(s.people[id], r) {
			continue
		}
		if len(page.Sources) == r.Limit {
			page.Done = false
			break
		}
		p := s.people[id]
		page.Sources = append(page.Sources, automation.ScannedSource{Source: automation.Source{"employee", id}, Version: p.version, Data: p})
		page.Next = id
	}
	if s.spoil != nil {
		s.spoil(&page)
	}
	return page, nil
}

func (s *staff) wanted(p person, r automation.ScanRequest) bool {
	for _, n := range s.offsets {
		day := p.expires.AddDays(-n)
		if !p.gone && !day.Before(r.From) && !day.After(r.To) && (!p.changed.Before(r.ChangedSince) || !day.Before(r.NewFrom)) {
			return true
		}
	}
	return false
}

// set says what the host knows of a person from now on, without an event.
func (s *staff) set(id string, p person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[id] = p
}

func (s *staff) asks() []automation.ScanRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// withStaff registers certificates that are scanned; change may be nil.
func (w *world) withStaff(change func(*automation.Scan)) *staff {
	s := &staff{people: map[string]person{}, offsets: []int{30, 7}, sendAt: "09:00"}
	w.serve(s, change)
	return s
}

// serve is one more process of the same host.
func (w *world) serve(s *staff, change func(*automation.Scan)) {
	scan := &automation.Scan{Read: s.Read, SourceType: "employee", Window: 100, Batch: 2, Scopes: []automation.Scope{""}}
	if change != nil {
		change(scan)
	}
	w.s.Register(certificates(func(t *automation.ReminderType) { t.Triggers, t.Scan = s, scan }))
}

// hire adds n people whose certificates expire on 1 May, without events.
func (w *world) hire(s *staff, n int) {
	for i := range n {
		s.set(fmt.Sprintf("%03d", i), person{expires: date(2026, 5, 1), version: 1, changed: w.clk.Now()})
	}
}

func keyOf(id, day string, offset int) string {
	return fmt.Sprintf("reminder:certificate:employee:%s:default:%s:%d", id, day, offset)
}

// hear sends the event of a person.
func (w *world) hear(s *staff, id string) {
	w.t.Helper()
	w.handle(automation.Event{ID: "e", Type: "certificate-changed", Source: automation.Source{"employee", id}, Version: s.people[id].version})
}

func (w *world) reconcile(o automation.ReconcileOptions) automation.ReconcileReport {
	w.t.Helper()
	r, err := w.s.Maintenance().Reconcile(w.ctx, "", "certificate", &o)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// scanner is this process's runner of the background scan.
func (w *world) scanner() work.Runner {
	return passOf(w.s, "automation.reconcile").Runner(work.Options{Logger: w.opts.Logger})
}

// scan polls the background scan once.
func (w *world) scan() work.Report {
	w.t.Helper()
	report, err := w.scanner().Poll(w.ctx, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return report
}

// scanAll runs the background scan until it rests.
func (w *world) scanAll() {
	w.t.Helper()
	if w.scan().Claimed == 0 { // but made the row
		w.due()
	}
	for w.scan().Claimed > 0 {
	}
}

// state is that of the empty scope's only scan.
func (w *world) state() automation.ReconciliationState {
	w.t.Helper()
	states, err := w.s.Maintenance().Reconciliations(w.ctx, "")
	if err != nil || len(states) != 1 {
		w.t.Fatal(states, err)
	}
	return states[0]
}

// everything is all that the tables of this package hold, as text.
func (w *world) everything() string {
	w.t.Helper()
	var b strings.Builder
	err := w.store.InTx(w.ctx, func(tx storage.Tx) error {
		for _, s := range automation.Schemas() {
			rows, err := tx.Select(w.ctx, s, driver.Everywhere(), driver.Query{Limit: 10000})
			if err != nil {
				return err
			}
			for _, row := range rows {
				fmt.Fprintf(&b, "%s %+v\n", s.Name, row)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

// counts are the rows of a report.
func counts(r automation.ReconcileReport) map[string]int {
	out := map[string]int{}
	for name, n := range map[string]int{
		"scanned": r.Scanned, "unchanged": r.Unchanged, "stale": r.Stale, "failed": r.Failed,
		"created": r.Created, "updated": r.Updated, "reactivated": r.Reactivated, "deactivated": r.Deactivated,
		"conflicts": r.Conflicts, "passed": r.OffsetPassed, "pages": r.Pages,
	} {
		if n > 0 {
			out[name] = n
		}
	}
	return out
}
