package work

import (
	"slices"

	"github.com/belfry-go/belfry/storage"
)

// lane is one lane of a runner: its weight and its forward cursor.
type lane struct {
	number int16
	weight int
	credit int
	short  bool // the last claim found less here than it asked for
	at     storage.Cursor
}

type lanes []*lane

func newLanes(weights map[int16]int) lanes {
	var ls lanes
	for n, w := range weights {
		ls = append(ls, &lane{number: n, weight: max(w, 1)})
	}
	slices.SortFunc(ls, func(a, b *lane) int { return int(a.number) - int(b.number) })
	return ls
}

// pull is a lane's weight in the next claim: a lane that was short is only
// probed, so that a batch is not split for lanes that have nothing.
func (l *lane) pull() int {
	const probe = 16
	if l.short {
		return max(l.weight, 1)
	}
	return l.weight * probe
}

// share divides n slots by smooth weighted round robin: any n, however small,
// comes to every lane in the long run, and urgent ones come first.
func (ls lanes) share(n int) []storage.LaneClaim {
	quota := make([]int, len(ls))
	total := 0
	for _, l := range ls {
		total += l.pull()
	}
	for range n {
		best := 0
		for i, l := range ls {
			l.credit += l.pull()
			if l.credit > ls[best].credit {
				best = i
			}
		}
		ls[best].credit -= total
		quota[best]++
	}
	var claims []storage.LaneClaim
	for i, l := range ls {
		if quota[i] > 0 {
			claims = append(claims, storage.LaneClaim{Lane: l.number, Limit: quota[i]})
		}
	}
	return claims
}

// all asks every lane, for a peek.
func (ls lanes) all(cursors bool) []storage.LaneClaim {
	claims := make([]storage.LaneClaim, len(ls))
	for i, l := range ls {
		claims[i] = storage.LaneClaim{Lane: l.number, Limit: 1}
		if cursors {
			claims[i].After = l.at
		}
	}
	return claims
}

func (ls lanes) get(number int16) *lane {
	for _, l := range ls {
		if l.number == number {
			return l
		}
	}
	return nil
}

// furthest is the latest of the cursors.
func (ls lanes) furthest() storage.Cursor {
	var c storage.Cursor
	for _, l := range ls {
		if c.Before(l.at.DueOn, l.at.ID) {
			c = l.at
		}
	}
	return c
}
