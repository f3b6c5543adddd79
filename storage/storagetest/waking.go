package storagetest

import (
	"slices"
	"time"

	"github.com/belfry-go/belfry/storage/driver"
)

var wakingTheme = theme{name: "waking", sentences: []sentence{
	{"a commit wakes the listeners of a table with the earliest DueOn", func(w *world) {
		s := w.ears().listen()
		rows := newThings("a", "b", "c")
		rows[0].DueOn, rows[1].DueOn, rows[2].DueOn = at(5), at(3), time.Time{}
		w.insert(rows...)
		w.ears().woken(s, at(3))
		rows[0].DueOn = at(1)
		w.save(rows[0])
		w.ears().woken(s, at(1))
	}},
	{"rows can be claimed by whoever was woken", func(w *world) {
		s := w.ears().listen()
		claimed := make(chan []string, 1)
		go func() {
			select {
			case <-s.C():
				claimed <- keysOf(w.claim(due("t")))
			case <-w.ctx.Done():
			}
		}()
		w.insert(newThing("a"))
		w.same("keys", await(w, "claim after a hint", claimed), []string{"a"})
	}},
	{"a roll-back wakes nobody", func(w *world) {
		s := w.ears().listen()
		_ = w.store.InTx(w.ctx, func(tx driver.Tx) error {
			if _, err := w.things.Insert(w.ctx, tx, newThing("a")); err != nil {
				return err
			}
			return errRefused
		})
		w.ears().asleep(s)
	}},
	{"rows without DueOn wake nobody", func(w *world) {
		s := w.ears().listen()
		row := newThing("a")
		row.DueOn = time.Time{}
		w.insert(row)
		w.save(row)
		w.ears().asleep(s)
	}},
	{"rows that stay held wake nobody", func(w *world) {
		w.insert(newThing("a"))
		row := w.all()[0]
		row.LeaseExpiresOn = at(1000)
		s := w.ears().listen()
		w.save(row)
		w.ears().asleep(s)
		row.LeaseExpiresOn = time.Time{}
		w.save(row)
		w.ears().woken(s, row.DueOn)
	}},
	{"rows that were not written wake nobody", func(w *world) {
		row := newThing("a")
		w.insert(row)
		w.save(copyOf(row))
		s := w.ears().listen()
		w.insertSome(newThing("a"))
		w.save(row)
		w.ears().asleep(s)
	}},
	{"other tables wake nobody", func(w *world) {
		s := w.store.Waker().Listen("another")
		w.Cleanup(s.Close)
		w.insert(newThing("a"))
		w.ears().asleep(s)
	}},
	{"rows wake those who listen to their status", func(w *world) {
		busyOnes, all := w.ears().listen(busy), w.ears().listen(ready, busy)
		w.insert(newThing("a"))
		w.ears().asleep(busyOnes)
		w.ears().woken(all, base)
		row := w.all()[0]
		row.Status = busy
		w.save(row)
		w.ears().woken(busyOnes, base)
	}},
}}

func (w ears) listen(statuses ...string) *driver.Signal {
	s := w.store.Waker().Listen(w.things.Name, statuses...)
	w.Cleanup(s.Close)
	return s
}

// woken wants a hint, which has been given by the time a transaction returns.
func (w ears) woken(s *driver.Signal, due time.Time) {
	w.Helper()
	select {
	case <-s.C():
		w.same("earliest due", s.Take(), due)
	default:
		w.Error("there was no hint")
	}
}

func (w ears) asleep(s *driver.Signal) {
	w.Helper()
	select {
	case <-s.C():
		w.Errorf("there was a hint for %v", s.Take())
	default:
	}
}

var nextTheme = theme{name: "next", sentences: []sentence{
	{"Next is the earliest DueOn at or before horizon", func(w *world) {
		rows := newThings("a", "b")
		rows[0].DueOn, rows[1].DueOn = at(5), at(3)
		w.insert(rows...)
		w.same("before", w.next(due("t"), at(2)), time.Time{})
		w.same("at", w.next(due("t"), at(3)), at(3))
		w.same("after", w.next(due("t"), at(9)), at(3))
	}},
	{"Next looks at rows that the claim would take", func(w *world) {
		w.insert(inLanes("a0 b0 c0 d0 e1 f0")...)
		rows := w.all()
		rows[0].Status, rows[1].Kind, rows[2].LeaseExpiresOn = done, "unknown", at(1000)
		w.save(rows...)
		w.insert(scoped("paused", "g"))
		c := due("t")
		c.Kinds, c.Except = []string{""}, []driver.Scope{"paused"}
		w.same("due", w.next(c, at(100)), at(3))
		c.Lanes = append(c.Lanes, driver.LaneClaim{Lane: 7, Limit: 1})
		c.Lanes[0].After = driver.Cursor{DueOn: at(3), ID: rows[3].ID}
		w.same("behind a cursor", w.next(c, at(100)), at(5))
		c.Lanes = append(c.Lanes, driver.LaneClaim{Lane: 1, Limit: 1})
		w.same("in more lanes", w.next(c, at(100)), at(4))
		slices.Reverse(c.Lanes)
		w.same("in any order of lanes", w.next(c, at(100)), at(4))
		c.Lanes = nil
		w.same("in no lane", w.next(c, at(100)), time.Time{})
	}},
	{"a lease that has expired by the horizon counts", func(w *world) {
		row := newThing("a")
		row.Status, row.LeaseExpiresOn = busy, at(50)
		w.insert(row)
		w.same("before", w.next(due("t"), at(49)), time.Time{})
		w.same("at", w.next(due("t"), at(50)), base)
	}},
	{"Next tells of each lane where its first row is", func(w *world) {
		w.insert(inLanes("a0 b1 c0 d1")...)
		rows := w.all()
		c := due("t")
		c.Lanes = []driver.LaneClaim{{Lane: 1}, {Lane: 7}, {Lane: 0, After: driver.Cursor{DueOn: rows[0].DueOn, ID: rows[0].ID}}}
		got, err := w.store.Next(w.ctx, &w.things.Schema, c, at(100))
		w.is("Next", err, nil)
		w.same("places", got, []driver.Cursor{{DueOn: rows[1].DueOn, ID: rows[1].ID}, {}, {DueOn: rows[2].DueOn, ID: rows[2].ID}})
	}},
	{"Next writes nothing", func(w *world) {
		w.insert(newThing("a"))
		before := w.all()
		w.next(due("t"), at(9))
		w.same("rows", w.all(), before)
	}},
}}

func (w *world) next(c driver.Claim, horizon time.Time) time.Time {
	w.Helper()
	got, err := w.store.Next(w.ctx, &w.things.Schema, c, horizon)
	w.is("Next", err, nil)
	return earliest(got)
}

// earliest is the first due moment of places; zero: there is none.
func earliest(places []driver.Cursor) (first time.Time) {
	for _, at := range places {
		if first.IsZero() || !at.DueOn.IsZero() && at.DueOn.Before(first) {
			first = at.DueOn
		}
	}
	return first
}
