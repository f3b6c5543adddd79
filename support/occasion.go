package support

import (
	"context"
	"slices"
	"strings"

	"github.com/belfry-go/belfry/automation"
	"github.com/belfry-go/belfry/notify"
)

// occasions finds the reminders of messages, for a whole page at once.
func (f filler) occasions(ctx context.Context, scope Scope, page []Entry) error {
	if err := f.surveys(ctx, scope, page); err != nil {
		return err
	}
	if f.o.Automation == nil || f.o.Notify == nil {
		return nil
	}
	var of []notify.Coordinates
	for _, e := range page {
		if at := e.jobAt(); at.PartitionKey != "" && !slices.Contains(of, at) {
			of = append(of, at)
		}
	}
	if len(of) == 0 {
		return nil
	}
	sources, err := f.o.Notify.Support().SourceKeys(ctx, scope, of...)
	if err != nil {
		return err
	}
	var keys []string
	for _, key := range sources {
		keys = append(keys, key)
	}
	rows, err := f.o.Automation.Support().SchedulesByKey(ctx, scope, keys...)
	if err != nil {
		return err
	}
	for i := range page {
		e := &page[i]
		row := rows[sources[e.jobAt()]]
		if row == nil || row.Type != e.Type || !row.ForgottenOn.IsZero() {
			continue
		}
		e.entitle(occasion(row))
	}
	return nil
}

// entitle gives an entry its occasion, in its sentence too.
func (e *Entry) entitle(occasion string) {
	before := e.Title()
	e.Occasion = occasion
	e.What = e.Title() + strings.TrimPrefix(e.What, before)
}

// surveys names the surveys of links.
func (f filler) surveys(ctx context.Context, scope Scope, page []Entry) error {
	var ids []int64
	for _, e := range page {
		if e.link != nil && !slices.Contains(ids, e.link.SurveyID) {
			ids = append(ids, e.link.SurveyID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	names, err := f.o.Survey.Support().Names(ctx, scope, ids...)
	if err != nil {
		return err
	}
	for i := range page {
		if l := page[i].link; l != nil && names[l.SurveyID] != "" {
			page[i].entitle(names[l.SurveyID])
		}
	}
	return nil
}

// jobAt is the key of a message's job; zero: it has none.
func (e *Entry) jobAt() notify.Coordinates {
	if e.Kind != KindMessage || e.jobOf == "" {
		return notify.Coordinates{}
	}
	return notify.Coordinates{PartitionKey: e.jobOf, RowKey: e.job}
}

// Occasions groups entries as the person experienced them: the messages and inbox entries
// of one reminder or job become Parts of one entry. It keeps the order of the first entry
// of each group.
func Occasions(all []Entry) (out []Entry) {
	whole := map[string]int{} // by the row key of the job
	for _, e := range all {
		job := e.job
		if e.Kind == KindReminder && e.Status == automation.StatusCompleted {
			job, _ = e.ledTo()
		}
		at, known := whole[job]
		switch {
		case job == "" || !known:
			if job != "" {
				whole[job] = len(out)
			}
			out = append(out, e)
		case e.Kind == KindReminder: // what came before is its part
			parts := append([]Entry{out[at]}, out[at].Parts...)
			parts[0].Parts = nil
			e.Parts = parts
			out[at] = e
		default:
			out[at].Parts = append(out[at].Parts, e)
		}
	}
	return out
}
