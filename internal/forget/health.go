package forget

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/health"
	"github.com/belfry-go/belfry/storage/driver"
)

// Health tells how the pass is doing in each table that something goes from some day.
func (r *Runner) Health(ctx context.Context) ([]health.Retention, error) {
	var out []health.Retention
	err := r.store.View(ctx, func(from driver.Reader) error {
		out = nil
		rows, err := walks.Find(ctx, from, "", driver.Query{Where: []driver.Cond{driver.Eq("status", statusReady)}, OrderBy: "key", Limit: 1000})
		for _, w := range rows {
			if w.KeptFor > 0 {
				out = append(out, w.health())
			}
		}
		return err
	})
	return out, err
}

func (w *walk) health() health.Retention {
	h := health.Retention{
		Table: w.Key, KeptFor: time.Duration(w.KeptFor) * time.Second, AnnouncedOn: w.AnnouncedOn,
		BegunOn: w.BegunOn, FinishedOn: w.FinishedOn, Running: w.After > 0, Stubs: w.Stubs, Deleted: w.Deleted,
	}
	if !w.AnnouncedOn.IsZero() {
		h.From = w.AnnouncedOn.Add(notice)
	}
	return h
}

// Preview tells what each table would lose now, if nothing had to be announced.
func (r *Runner) Preview(ctx context.Context) (out []health.Retention, err error) {
	if len(r.settings.Defaults) > 0 {
		if err := r.prepare(ctx); err != nil {
			return nil, err
		}
	}
	for _, rule := range r.active() {
		keep := r.keep(rule)
		step, err := rule.Now(ctx, r.store, keep, true)
		if err != nil {
			return nil, err
		}
		out = append(out, health.Retention{Table: rule.Table, KeptFor: rule.after(keep), Stubs: step.Found.Stubs, Deleted: step.Found.Deleted})
	}
	return out, nil
}
