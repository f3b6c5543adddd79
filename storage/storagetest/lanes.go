package storagetest

import (
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

var laneTheme = theme{name: "lanes", sentences: []sentence{
	{"Claim takes at most Limit rows of a lane, oldest first", func(w *world) {
		w.insert(newThings("a", "b", "c", "d")...)
		c := allDue()
		c.Lanes[0].Limit = 3
		w.same("keys", keysOf(w.claim(c)), []string{"a", "b", "c"})
		w.same("keys of the next claim", keysOf(w.claim(c)), []string{"d"})
	}},
	{"a limit of zero takes nothing", func(w *world) {
		w.insert(newThing("a"))
		c := due("t")
		c.Lanes[0].Limit = 0
		w.same("rows", len(w.claim(c)), 0)
	}},
	{"rows due at one moment are ordered by id", func(w *world) {
		rows := newThings("d", "b", "c", "a")
		for _, r := range rows {
			r.DueOn = base
		}
		w.insert(rows...)
		var last int64
		for _, r := range w.claim(due("t")) {
			if r.ID <= last {
				w.Errorf("id %d comes after id %d", r.ID, last)
			}
			last = r.ID
		}
	}},
	{"Claim is ordered by lane as asked, then DueOn and ID", func(w *world) {
		w.insert(inLanes("a1 b-1 c0 d1 e-1 f0")...)
		c := allDue(1, -1, 0)
		w.same("keys", keysOf(w.claim(c)), []string{"a1", "d1", "b-1", "e-1", "c0", "f0"})
	}},
	{"each lane has its own limit", func(w *world) {
		w.insert(inLanes("a0 b0 c0 d1 e1 f1 g-1 h-1")...)
		c := allDue(-1, 0, 1)
		c.Lanes[0].Limit, c.Lanes[1].Limit, c.Lanes[2].Limit = 5, 1, 2
		w.same("keys", keysOf(w.claim(c)), []string{"g-1", "h-1", "a0", "d1", "e1"})
	}},
	{"a lane that is not asked for is left alone", func(w *world) {
		w.insert(inLanes("a0 b1")...)
		w.same("keys", keysOf(w.claim(allDue(1))), []string{"b1"})
		c := allDue()
		c.Lanes = nil
		w.same("keys of no lane", keysOf(w.claim(c)), []string{})
	}},
	{"hosts may add lanes", func(w *world) {
		w.insert(inLanes("a7 b-300 c32000")...)
		w.same("keys", keysOf(w.claim(allDue(7, -300, 32000))), []string{"a7", "b-300", "c32000"})
	}},
	{"a lane is claimed from behind its cursor", claimBehindCursor},
	{"Claim never changes DueOn", func(w *world) {
		w.insert(newThings("a", "b")...)
		w.claim(allDue())
		w.same("due", w.get("b").DueOn, at(1))
	}},
}}

// allDue is a claim a second after base in lanes, by default the normal one.
func allDue(lanes ...int16) storage.Claim {
	c := due("t")
	c.Now = at(1_000_000)
	for i, lane := range lanes {
		c.Lanes = append(c.Lanes[:i], storage.LaneClaim{Lane: lane, Limit: 100})
	}
	return c
}

// inLanes makes rows from words such as "a-1": the key, which ends in the lane.
// They are due in their order.
func inLanes(words string) []*thing {
	rows := newThings(strings.Fields(words)...)
	for _, r := range rows {
		if _, err := fmt.Sscanf(r.Key[1:], "%d", &r.Lane); err != nil {
			panic(err)
		}
	}
	return rows
}

func claimBehindCursor(w *world) {
	rows := newThings("a", "b", "c", "d")
	rows[2].DueOn = rows[1].DueOn // b and c tie
	w.insert(rows...)
	tied := w.find("", storage.Query{Where: []storage.Cond{storage.Eq("due_on", at(1))}, Limit: 10})
	c := allDue()
	c.Lanes[0].After = storage.Cursor{DueOn: at(1), ID: tied[0].ID}
	w.same("behind the first of a tie", keysOf(w.claim(c)), []string{tied[1].Key, "d"})
	c.Lanes[0].After = storage.Cursor{DueOn: at(0), ID: rows[0].ID}
	w.same("behind the first row", keysOf(w.claim(c)), []string{tied[0].Key})
	c.Lanes[0].After = storage.Cursor{}
	w.same("from the start", keysOf(w.claim(c)), []string{"a"})
}
