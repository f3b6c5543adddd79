package automation

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/internal/sweep"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/reasons"
	"github.com/belfry-go/belfry/storage/driver"
)

// What is left of a row whose person is erased: what answers a repeated wish.
var (
	scheduleErasures = schedules.Erasures("trigger_type", "trigger_key", "target_date", "days_before", "input_hash", "scheduled_on", "scheduled_local_date", "created_on", "ended_on", "reason_code")
	seriesRewriting  = seriesTable.Rewriting()
	sourceRewriting  = sources.Rewriting()
)

// erasures go through the tables of this package: a series and a source are found by their
// rows, so they go before them.
func (s keeper) erasures() []sweep.Rule {
	const ids = "an id of the host's, as in the key, which stays so that nothing is made again"
	return []sweep.Rule{
		sweep.Erasure[series]{
			Table: seriesTable, Rewrites: seriesRewriting, CutFrom: []string{"person"}, Keeps: map[string]string{"source": ids},
			Ways: func(p sweep.Subject) (out []sweep.Way[series]) {
				for _, way := range remindersOf(p) {
					out = append(out, sweep.Via(way, seriesTable, func(r *scheduleRow) []driver.ScopedKey {
						if key := r.seriesKey(); key != "" {
							return []driver.ScopedKey{{Scope: r.Scope, Key: key}}
						}
						return nil
					}))
				}
				return out
			},
			Judge: func(_ context.Context, _ sweep.Subject, _ sweep.At, d *series) (sweep.Fate, error) {
				if !d.Active && d.Person == "" {
					return sweep.Fate{}, nil
				}
				d.Active, d.Person = false, ""
				return sweep.Fate{Verdict: sweep.Cut}, nil
			},
		}.Rule(),
		sweep.Erasure[sourceState]{
			Table: sources, Rewrites: sourceRewriting, CutFrom: []string{"passed"}, Keeps: map[string]string{"source": ids},
			Ways: sourcesOf,
			Judge: func(_ context.Context, _ sweep.Subject, _ sweep.At, s *sourceState) (sweep.Fate, error) {
				if len(s.Passed) == 0 {
					return sweep.Fate{}, nil
				}
				s.Passed = nil
				return sweep.Fate{Verdict: sweep.Cut}, nil
			},
			Show: func(_ context.Context, _ sweep.Subject, s *sourceState) (bool, error) { return len(s.Passed) > 0, nil },
		}.Rule(),
		sweep.Erasure[scheduleRow]{
			Table: schedules, Empties: scheduleErasures, Audited: true, Ways: remindersOf,
			Judge: func(_ context.Context, _ sweep.Subject, at sweep.At, r *scheduleRow) (sweep.Fate, error) {
				return r.erase(at.Now), nil
			},
			Keeps: map[string]string{"key": "a repeated wish finds it, by the id of what it is about"},
		}.Rule(),
		sweep.Stays(ownerships, map[string]string{"source": ids, "coordinates": "where the delivery of a run is"}),
		sweep.Stays(rollouts, map[string]string{"source": ids, "changed_by": "who acted", "reason": "why"}),
		sweep.Stays(pauses, map[string]string{"paused_by": "who acted", "reason": "why"}),
		sweep.Stays(reconciliations, map[string]string{
			"scan_cursor": "where the host's scan is", "run_report": "counts", "last_report": "counts",
			"skipped": "ids of what could not be planned, until it can", "diagnostics": "the host's last error, until the next page",
		}),
	}
}

// remindersOf are the rows that name the person, and those about what is theirs.
func remindersOf(p sweep.Subject) (out []sweep.Way[scheduleRow]) {
	if p.Ref != "" {
		out = append(out, sweep.By(schedules, p.Scope, driver.Eq("person", p.Ref)))
	}
	for _, e := range p.Entities {
		out = append(out, sweep.Among(schedules, p.Scope, func(ctx context.Context, from driver.Reader) ([][]driver.Cond, error) {
			return ofSource(ctx, from, p.Scope, Source{e.Type, e.ID})
		}))
	}
	return out
}

// sourcesOf are the sources that are the person's, and those of the rows that name them.
func sourcesOf(p sweep.Subject) (out []sweep.Way[sourceState]) {
	for _, e := range p.Entities {
		if key, err := keys.Join(e.Type, e.ID); err == nil { // else there is no such source
			out = append(out, sweep.By(sources, p.Scope, driver.Eq("key", key)))
		}
	}
	for _, way := range remindersOf(p) {
		out = append(out, sweep.Via(way, sources, func(r *scheduleRow) []driver.ScopedKey {
			key, err := keys.Join(r.SourceType, r.Source)
			if err != nil {
				return nil
			}
			return []driver.ScopedKey{{Scope: r.Scope, Key: key}}
		}))
	}
	return out
}

// erase says what becomes of a row, and cancels it if nothing came of it yet.
func (r *scheduleRow) erase(now time.Time) sweep.Fate {
	switch {
	case r.IsErased():
		return sweep.Fate{}
	case !r.LeaseExpiresOn.IsZero():
		return sweep.Fate{Verdict: sweep.Wait}
	case r.Status != StatusCompleted && r.Status != StatusCancelled:
		r.to(now, StatusCancelled)
		r.ReasonCode = reasons.PersonErased
	}
	return sweep.Fate{Verdict: sweep.Empty}
}
