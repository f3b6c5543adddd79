package automation

import (
	"context"
	"slices"

	"github.com/belfry-go/belfry/reasons"
)

// checkCurrent compares due rows with what their sources want now, of which all are asked
// about at once (Automation & Reminders, "Execution-time revalidation"). A row that support
// had done once more stays.
func (b *batch) checkCurrent(ctx context.Context) {
	if b.reminder.Triggers == nil {
		return
	}
	type place struct {
		scope  Scope
		source Source
	}
	tries := map[place][]*try{}
	var of []Request
	for _, t := range b.open() {
		if t.row.baseKey() != t.row.Key {
			continue
		}
		at := place{t.row.Scope, t.due.Source}
		if tries[at] == nil {
			of = append(of, Request{Scope: at.scope, Source: at.source})
		}
		tries[at] = append(tries[at], t)
	}
	now, errs := b.s.planner().desired(remembering(ctx), b.reminder, of)
	for i, r := range of {
		for _, t := range tries[place{r.Scope, r.Source}] {
			if t.err = errs[i]; t.err == nil {
				t.compareWith(b, now[i])
			}
		}
	}
}

func (t *try) compareWith(b *batch, now desired) {
	p, known, wanted := lookUp(now.plans, t.row)
	switch {
	case wanted:
		t.due.measured(p)
		t.moveTo(b, p, now.version)
	case !slices.Contains(now.spoken, t.row.Setting):
	case len(now.plans) == 0:
		t.stop = reasons.Superseded
	default:
		t.change(b, known, now.version, now.plans)
	}
}

// moveTo has a row wait for its moment of now, if that lies ahead. One that is done already,
// and whose message is asked about, stays.
func (t *try) moveTo(b *batch, p plan, version int64) {
	if p.want.TriggerType != DateBased || p.skipped || !t.row.IsOpen() {
		return
	}
	if t.moment = p.want.ScheduledOn; t.moment.After(b.now) {
		t.later = true
		t.ask(b, version, []plan{p})
	}
}
