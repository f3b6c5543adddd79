package main

import (
	"context"

	"github.com/belfry-go/belfry/internal/contender"
)

// inMemory claims and saves with the verbs of the memory adapter.
func (a *arena) inMemory(s sizes) match {
	return match{title: "P11", sides: []side{{name: us, play: func(ctx context.Context) (map[string]float64, error) {
		r, err := a.run(ctx, us, contender.Task{Work: "memory", Rows: s.memory})
		return map[string]float64{rate: float64(r.Rows) / r.Seconds()}, err
	}}}, goals: []goal{{
		id: "P11", about: "memory adapter, claim and settle", unit: rate, floor: 1, target: 1e6 / 3e5,
		judge: func(all map[string]scores) verdict {
			v := bounded(all[us][rate], 300_000)
			v.name, v.ratio = "floor", v.belfry/300_000
			return v
		},
	}}}
}
