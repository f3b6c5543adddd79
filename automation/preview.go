package automation

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/internal/civil"
)

// maxPreview bounds a preview.
const maxPreview = 1000

// Preview lists the next n occurrences of a candidate from now on, at most 1000,
// or fewer if it ends: for one that does not recur its only moment, even if that
// has passed, or none if its local time does not exist and the policy is
// GapSkip. It reads no row and writes nothing; a [*CandidateError] says why the
// candidate would be refused.
func (s *Scheduler) Preview(ctx context.Context, c Candidate, n int) ([]Occurrence, error) {
	if n < 1 || n > maxPreview {
		return nil, fmt.Errorf("automation: Preview: %d occurrences; 1 to %d can be asked for", n, maxPreview)
	}
	plans, err := s.plans(within(ctx, s.tx), []Candidate{c})
	if err != nil {
		return nil, err
	}
	p := plans[0]
	if p.series != nil {
		return p.series.preview(s, n)
	}
	if p.skipped {
		return nil, nil
	}
	row := p.want
	one := Occurrence{Key: row.Key, Zone: row.TimeZone, LocalTime: row.SendAt, On: row.ScheduledOn, Resolution: ResolvedExact}
	if row.TriggerType == DateBased {
		if one.LocalDate, one.Resolution, err = resolution(&row); err != nil {
			return nil, err
		}
	}
	return []Occurrence{one}, nil
}

// resolution says how the local time of a date-based row became its moment.
func resolution(r *Schedule) (Date, Resolution, error) {
	date, err := civil.ParseDate(r.LocalDate)
	if err != nil {
		return Date{}, "", err
	}
	zone, err := civil.LoadZone(r.TimeZone)
	if err != nil {
		return Date{}, "", err
	}
	o, err := r.occurrence(date, zone)
	if err != nil {
		return Date{}, "", err
	}
	return date, o.Resolution, nil
}

func (p *seriesPlan) preview(s *Scheduler, n int) ([]Occurrence, error) {
	var out []Occurrence
	for _, o := range p.line.Preview(s.now(), n) {
		key, err := p.want.key(o.On)
		if err != nil {
			return nil, err
		}
		out = append(out, Occurrence{
			Key: key, LocalDate: localDate(o), LocalTime: localTime(o).String(), Zone: p.want.TimeZone,
			On: o.On, Resolution: o.Resolution,
		})
	}
	return out, nil
}
