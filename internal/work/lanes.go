package work

import (
	"slices"

	"github.com/belfry-go/belfry/storage/driver"
)

// lane is one lane of a runner: its weight and its forward cursor.
type lane struct {
	number int16
	weight int
	credit int
	got    int  // rows of the last claim
	short  bool // that were fewer than it asked for
	at     driver.Cursor
	look   lookBack
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

// expected is how many rows of n a lane may well have: one that was short is
// only probed beyond what it had, so that a batch is not split for lanes that
// are empty.
func (l *lane) expected(n int) int {
	if !l.short {
		return n
	}
	return 2*l.got + max(n/32, 1)
}

// share divides n slots among the lanes by smooth weighted round robin: any n,
// however small, comes to every lane in the long run, and urgent ones come
// first. What exceeds the expectation of all goes to those that had rows.
func (ls lanes) share(n int) []driver.LaneClaim {
	quota := make([]int, len(ls))
	for range n {
		best := ls.next(func(i int) bool { return quota[i] < ls[i].expected(n) })
		if best < 0 {
			best = ls.next(func(i int) bool { return ls[i].got > 0 })
		}
		if best < 0 {
			best = ls.next(func(int) bool { return true })
		}
		quota[best]++
	}
	var claims []driver.LaneClaim
	for i, l := range ls {
		if quota[i] > 0 {
			claims = append(claims, driver.LaneClaim{Lane: l.number, Limit: quota[i]})
		}
	}
	return claims
}

// next gives one slot to the lane that has waited longest by its weight, among
// those that may have it, and -1 if there is none.
func (ls lanes) next(may func(int) bool) int {
	best, total := -1, 0
	for i, l := range ls {
		if !may(i) {
			continue
		}
		l.credit += l.weight
		total += l.weight
		if best < 0 || l.credit > ls[best].credit {
			best = i
		}
	}
	if best >= 0 {
		ls[best].credit -= total
	}
	return best
}

// all asks every lane, for a peek, some of them from the start.
func (ls lanes) all(fromStart lanes) []driver.LaneClaim {
	claims := make([]driver.LaneClaim, len(ls))
	for i, l := range ls {
		claims[i] = driver.LaneClaim{Lane: l.number, Limit: 1}
		if !slices.Contains(fromStart, l) {
			claims[i].After = l.at
		}
	}
	return claims
}

// with are the lanes that may be asked.
func (ls lanes) with(may func(int16) bool) (open lanes) {
	for _, l := range ls {
		if may(l.number) {
			open = append(open, l)
		}
	}
	return open
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
func (ls lanes) furthest() driver.Cursor {
	var c driver.Cursor
	for _, l := range ls {
		if c.Before(l.at.DueOn, l.at.ID) {
			c = l.at
		}
	}
	return c
}
