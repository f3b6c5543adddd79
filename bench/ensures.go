package main

import (
	"context"

	"github.com/belfry-go/belfry/internal/contender"
)

// ensures inserts rows by their unique keys, and then the same rows again; Belfry
// also in an order in which neighbours in a call are none in its index.
func (a *arena) ensures(s sizes) match {
	play := func(name string) side {
		return side{name: name, play: func(ctx context.Context) (map[string]float64, error) {
			return a.ensureAgain(ctx, name, contender.Task{Work: "ensure", Rows: s.drain})
		}}
	}
	return match{title: "P3", sides: []side{play(us), play("river")}, goals: []goal{
		{id: "P3-new", about: "bulk ensure, all new", unit: rate, floor: 1.2, target: 1.5, judge: ahead("new", "river")},
		{id: "P3-existing", about: "bulk ensure, all existing", unit: rate, floor: 6, target: 10, judge: with(ahead("existing", "river"), func(all map[string]scores) map[string]float64 {
			return map[string]float64{"scattered_rows/s": median(all[us]["scattered"])}
		})},
	}}
}

func (a *arena) ensureAgain(ctx context.Context, name string, t contender.Task) (map[string]float64, error) {
	return a.within(ctx, a.postgres, func(database string) (map[string]float64, error) {
		t.Database = database
		values := map[string]float64{}
		figures := []string{"new", "existing"}
		if name == us {
			figures = append(figures, "scattered")
		}
		for _, figure := range figures {
			if t.Order = ""; figure == "scattered" {
				t.Order = figure
			}
			r, err := a.run(ctx, name, t)
			if err != nil {
				return nil, err
			}
			values[figure] = float64(t.Rows) / r.Seconds()
			if err := a.settle(ctx, database); err != nil {
				return nil, err
			}
		}
		return values, nil
	})
}
