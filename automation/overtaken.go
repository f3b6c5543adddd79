package automation

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// checkOvertaken ends what a later row makes superfluous, where the type runs
// only the latest.
func (b *batch) checkOvertaken(ctx context.Context) {
	tries := b.open()
	if !b.lateness.OnlyLatest || len(tries) == 0 {
		return
	}
	var o overtaking
	err := b.inTx(ctx, func(tx storage.Tx) (err error) {
		o, err = loadOvertaking(ctx, tx, b.now, tries)
		return err
	})
	for _, t := range tries {
		if t.err = err; err == nil && o.overtaken(b.now, t.row) {
			t.stop = Overtaken
		}
	}
}

// overtaking is what the rows of a batch are compared with.
type overtaking struct {
	series map[occasion]*series
	latest map[occasion]time.Time // of the open date-based rows that are due
}

// occasion is what earlier and later rows have in common.
type occasion struct {
	scope               Scope
	setting             string
	source              Source
	automation, trigger string
}

func (r *Schedule) occasion() occasion {
	return occasion{r.Scope, r.Setting, Source{r.SourceType, r.Source}, r.AutomationType, r.TriggerKey}
}

func (o overtaking) overtaken(now time.Time, r *Schedule) bool {
	if r.TriggerType == DateBased {
		return o.latest[r.occasion()].After(r.ScheduledOn)
	}
	d := o.series[r.occasion()]
	if d == nil || !d.Active || !d.NextOn.Equal(r.ScheduledOn) {
		return false // support has brought an old one back
	}
	line, err := d.timeline()
	if err != nil {
		return false
	}
	next, ok := line.After(r.ScheduledOn)
	return ok && !next.On.After(now)
}

// loadOvertaking takes a statement for each scope and kind.
func loadOvertaking(ctx context.Context, tx storage.Tx, now time.Time, tries []*try) (overtaking, error) {
	o := overtaking{series: map[occasion]*series{}, latest: map[occasion]time.Time{}}
	recurring, dated := map[Scope]map[string]*try{}, map[Scope][]*try{}
	for _, t := range tries {
		scope := t.row.Scope
		if t.row.TriggerType == DateBased {
			dated[scope] = append(dated[scope], t)
		} else if key := t.row.seriesKey(); key != "" {
			if recurring[scope] == nil {
				recurring[scope] = map[string]*try{}
			}
			recurring[scope][key] = t
		}
	}
	for scope, byKey := range recurring {
		found, err := findSeries(ctx, tx, scope, byKey)
		if err != nil {
			return o, err
		}
		for _, d := range found {
			o.series[byKey[d.Key].row.occasion()] = d
		}
	}
	for scope, tries := range dated {
		if err := o.loadDated(ctx, tx, scope, now, tries); err != nil {
			return o, err
		}
	}
	return o, nil
}

// loadDated reads the open rows of the sources, of which there are few.
func (o overtaking) loadDated(ctx context.Context, tx storage.Tx, scope Scope, now time.Time, tries []*try) error {
	var settings, sources []string
	for _, t := range tries {
		settings, sources = append(settings, t.row.Setting), append(sources, t.row.Source)
	}
	where := []storage.Cond{
		storage.In("setting", settings), storage.In("source", sources),
		storage.Eq("trigger_type", DateBased), storage.AtMost("scheduled_on", now), open(),
	}
	for after := (*storage.Position)(nil); ; {
		rows, err := schedules.Find(ctx, tx, scope, storage.Query{Where: where, Limit: deactivatePage, After: after})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if runs(r) {
				o.latest[r.occasion()] = later(o.latest[r.occasion()], r.ScheduledOn)
			}
		}
		if len(rows) < deactivatePage {
			return nil
		}
		after = &storage.Position{ID: rows[len(rows)-1].ID}
	}
}
