package automation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfry-go/belfry/notify"
	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// historian is a dispatcher that keeps the traces of runs, such as
// *notify.Notifier.
type historian interface {
	AutomationJobs(ctx context.Context, tx storage.Tx, scope Scope, sourceType, source string, p storage.Page) ([]notify.AutomationJob, string, error)
}

// History lists the runs of due work about a source that led to a delivery: one
// trace for each, written once when it was dispatched (Automation & Reminders,
// "AutomationJob"). It goes on after the row of a run was archived. Pages are in
// the order of keys, which is not that of time, and it says where the next one
// begins; empty after the last.
// Explain tells the story of a single row. The error says so if the dispatcher
// keeps no traces.
func (s Support) History(ctx context.Context, scope Scope, source Source, p storage.Page) ([]notify.AutomationJob, string, error) {
	out, ok := s.out.(historian)
	if !ok {
		return nil, "", errors.New("automation: History: the dispatcher keeps no traces of runs")
	}
	jobs, next, err := out.AutomationJobs(ctx, s.tx, scope, source.Type, source.ID, p)
	if err != nil {
		return nil, "", fmt.Errorf("automation: History: %w", err)
	}
	return jobs, next, nil
}

// Planned lists what is planned for a person: the open rows, and those on hold, whose
// candidates named them, the next moment first, with where the next page begins; empty
// after the last. A row that is new or moves while somebody pages may be missed or come
// twice. An After of the caller's own making is [storage.ErrPage]. To stop them all,
// see [Support.Bulk] and [Selection].Person.
func (s Support) Planned(ctx context.Context, scope Scope, person string, p storage.Page) (planned []Schedule, next string, err error) {
	if person == "" {
		return nil, "", errors.New("automation: Planned: no person")
	}
	return s.page(ctx, "Planned", scope, p, driver.Query{
		Where: []driver.Cond{driver.Eq("person", person), driver.NotNull("scheduled_on"), open()}, OrderBy: "scheduled_on",
	})
}

// Subject says what [Support.Schedules] is asked about: one of the two.
type Subject struct {
	Person string // an id of the host's, as in [Candidate].Person
	Source Source
}

// Schedules lists all rows of a person or a source, ended ones too, by their moment:
// with coming those that are due after at, the next first; else those due at it or
// before, the last first. It says where the next page begins; empty after the last. A
// row that is new or moves while somebody pages may be missed or come twice.
func (s Support) Schedules(ctx context.Context, scope Scope, of Subject, at time.Time, coming bool, p storage.Page) (rows []Schedule, next string, err error) {
	q := driver.Query{Where: []driver.Cond{driver.AtMost("scheduled_on", at)}, OrderBy: "scheduled_on", Desc: true}
	if coming {
		q = driver.Query{Where: []driver.Cond{driver.Greater("scheduled_on", at)}, OrderBy: "scheduled_on"}
	}
	switch {
	case (of.Person == "") == (of.Source == Source{}):
		return nil, "", errors.New("automation: Schedules: a Person or a Source is required, and not both")
	case of.Person != "":
		q.Where = append(q.Where, driver.Eq("person", of.Person))
		return s.page(ctx, "Schedules", scope, p, q)
	case of.Source.Type == "" || of.Source.ID == "":
		return nil, "", errors.New("automation: Schedules: Source needs Type and ID")
	}
	return s.list(ctx, "Schedules", func(from driver.Reader) ([]*scheduleRow, string, error) {
		ranges, err := ofSource(ctx, from, scope, of.Source)
		if err != nil {
			return nil, "", err
		}
		return among(ctx, from, scope, ranges, p, q)
	})
}

// AllSchedules lists the rows of a scope in the order of their keys, ended ones too, and says
// where the next page begins; empty after the last.
func (s Support) AllSchedules(ctx context.Context, scope Scope, p storage.Page) (rows []Schedule, next string, err error) {
	return s.page(ctx, "AllSchedules", scope, p, driver.Query{OrderBy: "key"})
}

// SchedulesByKey reads rows of a scope by their keys; those that there are not are left out.
func (s Support) SchedulesByKey(ctx context.Context, scope Scope, keys ...string) (map[string]*Schedule, error) {
	places := make([]driver.ScopedKey, len(keys))
	for i, key := range keys {
		places[i] = driver.ScopedKey{Scope: scope, Key: key}
	}
	out := map[string]*Schedule{}
	_, _, err := s.list(ctx, "SchedulesByKey", func(from driver.Reader) ([]*scheduleRow, string, error) {
		found, err := schedules.GetMany(ctx, from, places)
		for at, row := range found {
			out[at.Key] = &views([]*scheduleRow{row})[0]
		}
		return nil, "", err
	})
	return out, err
}

// Held lists the rows that are on hold for a reason, those that were made first first.
// See Release, Retry, Cancel and Bulk.
func (s Support) Held(ctx context.Context, scope Scope, reason Reason, p storage.Page) (rows []Schedule, next string, err error) {
	if reason == "" {
		return nil, "", errors.New("automation: Held: no reason")
	}
	return s.page(ctx, "Held", scope, p, driver.Query{
		Where: []driver.Cond{driver.Eq("is_on_support_hold", true), driver.Eq("hold_reason", reason)}, OrderBy: "id",
	})
}

// PlannedFor says which work a list has.
type PlannedFor struct {
	// From and Until are the moments for which it was planned: From is among them, Until is
	// not. Both are required.
	From, Until time.Time
	// Type and BusinessUnit leave out all others; empty: none.
	Type, BusinessUnit string
}

func (f PlannedFor) has(r *scheduleRow) bool {
	return (f.Type == "" || f.Type == r.Kind) && (f.BusinessUnit == "" || f.BusinessUnit == r.BusinessUnit)
}

// withheldWindow is how many rows a page of Withheld looks at.
const withheldWindow = 10_000

// Withheld lists the work of a scope that was planned for a period and has ended without a
// delivery, the last moment first, and says where the next page begins; empty after the last.
// Each row has the reason. What waits for a person is in [Support.Held]. A page looks at up
// to 10,000 rows: with a Type or BusinessUnit it may be short or empty and still have a next
// one.
func (s Support) Withheld(ctx context.Context, scope Scope, of PlannedFor, p storage.Page) (rows []Schedule, next string, err error) {
	if !of.From.Before(of.Until) {
		return nil, "", errors.New("automation: Withheld: until is not after from")
	}
	return s.list(ctx, "Withheld", func(from driver.Reader) ([]*scheduleRow, string, error) { return of.withheld(ctx, from, scope, p) })
}

func (f PlannedFor) withheld(ctx context.Context, from driver.Reader, scope Scope, p storage.Page) (rows []*scheduleRow, next string, err error) {
	size := p.Size()
	if f.Type != "" || f.BusinessUnit != "" {
		p.Limit = driver.MaxPage
	}
	for looked := 0; len(rows) < size && looked < withheldWindow; p.After = next {
		var all []*scheduleRow
		all, next, err = schedules.Page(ctx, from, scope, p, driver.Query{OrderBy: "scheduled_on", Desc: true, Where: []driver.Cond{
			driver.NotNull("ended_on"), driver.Greater("reason_code", ""),
			driver.AtLeast("scheduled_on", f.From), driver.Less("scheduled_on", f.Until), driver.NotNull("scheduled_on"), // for the order of the index, as in ReportRuns
		}})
		if err != nil {
			return nil, "", err
		}
		for _, r := range all {
			switch {
			case !f.has(r):
			case len(rows) == size: // it is the first of the next page
				last := rows[size-1]
				return rows, driver.Position{Value: last.ScheduledOn, ID: last.ID}.String(), nil
			default:
				rows = append(rows, r)
			}
		}
		if looked += len(all); next == "" {
			break
		}
	}
	return rows, next, nil
}

func (s Support) page(ctx context.Context, what string, scope Scope, p storage.Page, q driver.Query) ([]Schedule, string, error) {
	return s.list(ctx, what, func(from driver.Reader) ([]*scheduleRow, string, error) {
		return schedules.Page(ctx, from, scope, p, q)
	})
}

func (s Support) list(ctx context.Context, what string, read func(driver.Reader) ([]*scheduleRow, string, error)) (out []Schedule, next string, err error) {
	err = s.read(ctx, func(from driver.Reader) error {
		rows, after, err := read(from)
		out, next = views(rows), after
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("automation: %s: %w", what, err)
	}
	return out, next, nil
}
