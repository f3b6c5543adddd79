package work

import (
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

// lane is one lane of a queue: its weight, and the place from which the queue goes on.
type lane struct {
	number int16
	weight int
	credit int
	got    int  // rows of the last claim
	short  bool // that were fewer than it asked for
	at     driver.Cursor
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
			claims = append(claims, driver.LaneClaim{Lane: l.number, After: l.at, Limit: quota[i]})
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

// advance notes how many rows a claim got, and returns the lanes that may have more.
func (ls lanes) advance(asked []driver.LaneClaim, got map[int16]int, now time.Time) (open lanes) {
	for _, l := range ls {
		i := slices.IndexFunc(asked, func(a driver.LaneClaim) bool { return a.Lane == l.number })
		if i >= 0 {
			l.got, l.short = got[l.number], got[l.number] < asked[i].Limit
		}
		if i >= 0 && l.short {
			l.ended(now)
		} else {
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
