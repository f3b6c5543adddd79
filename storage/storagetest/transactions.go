package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/belfry-go/belfry/storage/driver"
)

var errRefused = errors.New("refused")

var transactionTheme = theme{name: "transactions", sentences: []sentence{
	{"InTx commits when its function returns nil", func(w *world) {
		w.tx(func(tx driver.Tx) error {
			_, err := w.things.Insert(w.ctx, tx, newThings("a", "b")...)
			return err
		})
		w.same("keys", keysOf(w.all()), []string{"a", "b"})
	}},
	{"a transaction sees what it wrote", func(w *world) {
		w.insert(newThing("a"))
		w.tx(func(tx driver.Tx) error {
			return errors.Join(w.writeAll(tx), func() error {
				row, err := w.things.Get(w.ctx, tx, "", "a")
				if err == nil {
					w.same("note", row.Note, "written")
				}
				return err
			}())
		})
	}},
	{"InTx returns the error of its function and rolls everything back", func(w *world) {
		before := w.seed()
		err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
			return errors.Join(w.writeAll(tx), errRefused)
		})
		w.is("InTx", err, errRefused)
		w.untouched(before)
	}},
	{"a panic rolls everything back and goes on", func(w *world) {
		before := w.seed()
		func() {
			defer func() { w.same("panic", recover(), any("dropped")) }()
			_ = w.store.InTx(w.ctx, func(tx driver.Tx) error {
				if err := w.writeAll(tx); err != nil {
					w.Error(err)
				}
				panic("dropped")
			})
		}()
		w.untouched(before)
	}},
	{"what was rolled back can be done again", func(w *world) {
		before := w.seed()
		for range 2 {
			_ = w.store.InTx(w.ctx, func(tx driver.Tx) error {
				return errors.Join(w.writeAll(tx), errRefused)
			})
		}
		w.untouched(before)
		w.tx(w.writeAll)
		w.same("keys", keysOf(w.all()), []string{"a", "held", "new"})
		w.same("note", w.get("a").Note, "written")
	}},
	{"each verb is rolled back by itself", func(w *world) {
		before := w.seed()
		free, gone, held := copyOf(before[0]), copyOf(before[1]), copyOf(before[2])
		free.Note = "written"
		for verb, run := range map[string]func(tx driver.Tx) error{
			"Insert": func(tx driver.Tx) error { _, err := w.things.Insert(w.ctx, tx, newThing("new")); return err },
			"Save":   func(tx driver.Tx) error { return w.things.Save(w.ctx, tx, free) },
			"Delete": func(tx driver.Tx) error { return w.things.Delete(w.ctx, tx, gone) },
			"Extend": func(tx driver.Tx) error { _, err := w.things.Extend(w.ctx, tx, at(100), held); return err },
			"Claim":  func(tx driver.Tx) error { _, err := w.things.Claim(w.ctx, tx, due("t")); return err },
		} {
			err := w.store.InTx(w.ctx, func(tx driver.Tx) error { return errors.Join(run(tx), errRefused) })
			w.is(verb, err, errRefused)
			w.same("rows after "+verb, w.all(), before)
			rows := w.claimInVain(due("u"))
			w.same("claimable keys after "+verb, keysOf(rows), []string{"a", "held"})
		}
	}},
	{"a roll-back gives structs back their ids and versions", func(w *world) {
		w.insert(newThings("a", "b")...)
		saved, claimed := w.get("a"), w.get("b")
		made := newThing("new")
		run := func(tx driver.Tx) error {
			_, inserted := w.things.Insert(w.ctx, tx, made)
			return errors.Join(inserted, w.things.Save(w.ctx, tx, saved, made, claimed), w.things.Save(w.ctx, tx, saved, made))
		}
		told := func() []int64 {
			return []int64{made.ID, made.Version, saved.Version, claimed.Version}
		}
		w.is("InTx", w.store.InTx(w.ctx, func(tx driver.Tx) error { return errors.Join(run(tx), errRefused) }), errRefused)
		w.same("after an error", told(), []int64{0, 0, 1, 1})
		func() {
			defer func() { _ = recover() }()
			_ = w.store.InTx(w.ctx, func(tx driver.Tx) error {
				w.is("run", run(tx), nil)
				panic("dropped")
			})
		}()
		w.same("after a panic", told(), []int64{0, 0, 1, 1})
		w.tx(run)
		w.same("after the commit", told(), []int64{w.get("new").ID, 3, 3, 2})
		for _, r := range []*thing{made, saved, claimed} {
			w.same("stored", w.get(r.Key), r)
		}
	}},
	{"an error of a verb ends the transaction, whatever it is", func(w *world) {
		before := w.seed()
		bad := copyOf(before[0])
		bad.Raw = json.RawMessage("{") // is no JSON, and the verb has to say so
		fresh := copyOf(bad)
		fresh.Key = "bad"
		for verb, run := range map[string]func(tx driver.Tx) error{
			"Insert": func(tx driver.Tx) error {
				_, err := tx.Insert(w.ctx, &w.things.Schema, w.rows([]*thing{fresh}))
				return err
			},
			"Update": func(tx driver.Tx) error {
				_, err := tx.Update(w.ctx, &w.things.Schema, w.rows([]*thing{bad}))
				return err
			},
		} {
			err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
				if _, err := w.things.Insert(w.ctx, tx, newThing("new")); err != nil {
					return err
				}
				w.same(verb+" refuses it", run(tx) != nil, true)
				_, err := w.things.Count(w.ctx, tx, "", 1)
				w.same("the verb behind it has an error", err != nil, true)
				return nil // the errors are forgotten
			})
			w.same("InTx has an error", err != nil, true)
			w.untouched(before)
		}
	}},
	{"an error of a verb ends the transaction", func(w *world) {
		before := w.seed()
		err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
			if err := w.writeAll(tx); err != nil {
				return err
			}
			ended, end := context.WithCancel(w.ctx)
			end()
			if _, err := w.things.Count(ended, tx, "", 1); err == nil {
				w.Error("Count under an ended context has no error")
			}
			return nil
		})
		if err == nil {
			w.Error("InTx has no error although a verb had one")
		}
		w.untouched(before)
	}},
	{"a Tx works until its function returns", func(w *world) {
		var kept driver.Tx
		w.tx(func(tx driver.Tx) error { kept = tx; return nil })
		if _, err := w.things.Insert(w.ctx, kept, newThing("a")); err == nil {
			w.Error("Insert after the end has no error")
		}
		w.same("rows", len(w.all()), 0)
	}},
	{"a Tx tells the store it belongs to", func(w *world) {
		w.tx(func(tx driver.Tx) error {
			w.same("is the store", tx.Store() == w.store, true)
			return nil
		})
	}},
	{"rows of two tables are written together", func(w *world) {
		other := driver.Define[thing](w.things.Name + "_other")
		w.in.createTable(w.T, &other.Schema)
		for _, fail := range []error{errRefused, nil} {
			err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
				_, here := w.things.Insert(w.ctx, tx, newThing("a"))
				_, there := other.Insert(w.ctx, tx, newThing("a"), newThing("b"))
				return errors.Join(here, there, fail)
			})
			w.is("InTx", err, fail)
		}
		w.same("rows here", w.count("", 10), 1)
		w.things = other
		w.same("rows there", w.count("", 10), 2)
	}},
}}

// seed stores a free row, a held one, and one to be deleted.
func (w *world) seed() []*thing {
	w.insert(newThings("a", "gone")...)
	held := newThing("held")
	held.Status, held.ClaimToken, held.LeaseExpiresOn = busy, "t", at(-1)
	w.insert(held)
	return w.all()
}

// writeAll does one of everything to what seed stored.
func (w *world) writeAll(tx driver.Tx) error {
	rows, err := w.things.Find(w.ctx, tx, "", driver.Query{OrderBy: "key", Limit: 3})
	if err != nil || len(rows) == 0 {
		return errors.Join(err, errors.New("nothing is there"))
	}
	_, inserted := w.things.Insert(w.ctx, tx, newThing("new"))
	rows[0].Note, rows[0].DueOn = "written", base
	saved := w.things.Save(w.ctx, tx, rows[0])
	var removed, extended error
	if len(rows) == 3 {
		removed = w.things.Delete(w.ctx, tx, rows[1])
		_, extended = w.things.Extend(w.ctx, tx, at(0), rows[2])
	}
	_, claimed := w.things.Claim(w.ctx, tx, due("u"))
	return errors.Join(inserted, saved, removed, extended, claimed)
}

// untouched shows that the rows are those of before, for reads and for claims.
func (w *world) untouched(before []*thing) {
	w.Helper()
	w.same("rows", w.all(), before)
	w.same("claimable keys", keysOf(w.claimInVain(due("v"))), []string{"a", "held"})
}

// claimInVain tells what a claim would take, and leaves it as it was.
func (w *world) claimInVain(c driver.Claim) (rows []*thing) {
	w.Helper()
	err := w.store.InTx(w.ctx, func(tx driver.Tx) (err error) {
		rows, err = w.things.Claim(w.ctx, tx, c)
		return errors.Join(err, errRefused)
	})
	w.is("InTx", err, errRefused)
	return rows
}

var isolationTheme = theme{name: "isolation", sentences: []sentence{
	{"what is not committed is not seen by others", func(w *world) {
		w.beside(w.store, errRefused, func(seen int) { w.same("rows seen", seen, 0) })
		w.same("rows in the end", w.count("", 10), 0)
	}},
	{"others see all of a transaction or nothing", func(w *world) {
		w.beside(w.store, nil, func(seen int) { w.same("rows seen are none or all", seen == 0 || seen == 2, true) })
		w.same("rows in the end", w.count("", 10), 2)
	}},
	{"what is not committed is not seen through another handle", func(w *world) {
		if w.h.NoSecondHandle != "" {
			w.Skipf("declared by the harness: %s", w.h.NoSecondHandle)
		}
		second := w.in.Second(w.T, "")
		w.beside(second, errRefused, func(seen int) { w.same("rows seen", seen, 0) })
		w.beside(second, nil, func(seen int) { w.same("rows seen are none or all", seen == 0 || seen == 2, true) })
		w.same("rows in the end", w.on(second).count("", 10), 2)
	}},
	{"a committed row is seen by whoever begins afterwards", func(w *world) {
		stores := []driver.Store{w.store}
		if w.h.NoSecondHandle == "" {
			stores = append(stores, w.in.Second(w.T, ""))
		}
		for _, from := range stores {
			for _, to := range stores {
				row := w.on(from).firstOrNew()
				row.Amount++
				w.same("stale", w.on(from).save(row), []int(nil))
				w.same("amount", w.on(to).get("a").Amount, row.Amount)
			}
		}
	}},
}}

func (w *world) firstOrNew() *thing {
	w.Helper()
	return w.ensure(unchanged, newThing("a"))[0].Row
}

// beside counts rows through other while a transaction has written two and then
// ends with err. A store that lets nobody in meanwhile counts afterwards.
func (w *world) beside(other driver.Store, err error, check func(seen int)) {
	w.Helper()
	counted := make(chan int, 1)
	begun := false
	got := w.store.InTx(w.ctx, func(tx driver.Tx) error {
		_, inserted := w.things.Insert(w.ctx, tx, newThings("one", "two")...)
		if !begun {
			begun = true
			go func() { counted <- w.on(other).count("", 10) }()
		}
		return errors.Join(inserted, err)
	})
	w.is("InTx", got, err)
	check(await(w, "count beside a transaction", counted))
}

var joinTheme = theme{
	name:    "join",
	missing: func(h Harness) string { return h.NoJoin },
	sentences: []sentence{
		{"what a joined Tx wrote is there when the host commits", func(w *world) {
			w.insert(newThings("a", "b")...)
			w.join(func(host *Host) {
				w.verbs(host.Tx)
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "c"})
			w.same("name", w.get("a").Name, "joined")
		}},
		{"what a joined Tx wrote is gone when the host rolls back", func(w *world) {
			w.insert(newThings("a", "b")...)
			before := w.all()
			w.join(func(host *Host) {
				w.verbs(host.Tx)
				w.is("Rollback", host.Rollback(), nil)
			})
			w.same("rows", w.all(), before)
		}},
		{"Ensure works in a joined Tx and a taken key does not end it", func(w *world) {
			w.insert(newThing("a"))
			w.join(func(host *Host) {
				got, err := w.things.Ensure(w.ctx, host.Tx, rename, newThings("b", "a", "b")...)
				w.is("Ensure", err, nil)
				w.same("outcomes", outcomes(got), []driver.Outcome{driver.Created, driver.Unchanged, driver.Unchanged})
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "b"})
		}},
		{"stale rows are an answer in a joined Tx, not its end", func(w *world) {
			row := newThing("a")
			w.insert(row)
			w.save(copyOf(row))
			w.join(func(host *Host) {
				w.is("Save", w.things.Save(w.ctx, host.Tx, row), driver.ErrStale)
				w.is("Delete", w.things.Delete(w.ctx, host.Tx, row), driver.ErrStale)
				_, err := w.things.Insert(w.ctx, host.Tx, newThing("b"))
				w.is("Insert", err, nil)
				w.is("Commit", host.Commit(), nil)
			})
			w.same("keys", keysOf(w.all()), []string{"a", "b"})
		}},
		{"Claim and Extend are ErrJoined and write nothing", func(w *world) {
			w.insert(newThings("a", "b")...)
			held := w.claim(due("t"))
			before := w.all()
			w.join(func(host *Host) {
				_, err := w.things.Claim(w.ctx, host.Tx, allDue())
				w.is("Claim", err, driver.ErrJoined)
				w.is("end", errors.Join(host.Rollback()), nil)
			})
			w.join(func(host *Host) {
				_, err := w.things.Extend(w.ctx, host.Tx, at(9), held...)
				w.is("Extend", err, driver.ErrJoined)
				w.is("end", errors.Join(host.Rollback()), nil)
			})
			w.same("rows", w.all(), before)
		}},
		{"a joined Tx tells its store", func(w *world) {
			w.join(func(host *Host) {
				w.same("is the store", host.Tx.Store() == w.store, true)
				w.is("Rollback", host.Rollback(), nil)
			})
		}},
		{"others do not see what the host has not committed", func(w *world) {
			if w.h.NoSecondHandle != "" {
				w.Skipf("declared by the harness: %s", w.h.NoSecondHandle)
			}
			second := w.on(w.in.Second(w.T, ""))
			w.join(func(host *Host) {
				_, err := w.things.Insert(w.ctx, host.Tx, newThing("a"))
				w.is("Insert", err, nil)
				_, err = second.store.Next(w.ctx, &w.things.Schema, due("t"), base)
				w.is("Next", err, nil)
				w.same("due elsewhere", second.next(due("t"), base).IsZero(), true)
				w.is("Commit", host.Commit(), nil)
			})
			w.same("due elsewhere", second.next(due("t"), base), base)
		}},
	},
}

func (w *world) join(f func(host *Host)) {
	w.Helper()
	host := w.in.Begin(w.T)
	ended := false
	defer func() {
		if !ended {
			_ = host.Rollback() // f gave up
		}
	}()
	f(host)
	ended = true
}

// verbs does everything that a joined Tx can to the rows a and b.
func (w *world) verbs(tx driver.Tx) {
	w.Helper()
	inserted, err := w.things.Insert(w.ctx, tx, newThings("a", "c")...)
	w.is("Insert", err, nil)
	w.same("answers", inserted, []bool{false, true})
	rows, err := w.things.Find(w.ctx, tx, "", driver.Query{OrderBy: "key", Limit: 10})
	w.is("Select", err, nil)
	w.same("keys", keysOf(rows), []string{"a", "b", "c"})
	rows[0].Name = "joined"
	w.is("Update", w.things.Save(w.ctx, tx, rows[0]), nil)
	w.is("Delete", w.things.Delete(w.ctx, tx, rows[1]), nil)
	n, err := w.things.Count(w.ctx, tx, "", 10)
	w.is("Count", err, nil)
	w.same("count", n, 2)
}

var contextTheme = theme{name: "contexts", sentences: []sentence{
	{"a context that has ended is refused everywhere", func(w *world) {
		ended, end := context.WithCancel(w.ctx)
		end()
		err := w.store.InTx(ended, func(tx driver.Tx) error {
			_, err := w.things.Insert(w.ctx, tx, newThing("a"))
			return err
		})
		w.is("InTx", err, context.Canceled)
		_, err = w.store.Next(ended, &w.things.Schema, due("t"), base)
		w.is("Next", err, context.Canceled)
		_, err = w.store.Identity(ended)
		w.is("Identity", err, context.Canceled)
		_, err = w.store.Blobs().Put(ended, strings.NewReader("x"))
		w.is("Put", err, context.Canceled)
		w.same("rows", len(w.all()), 0)
	}},
	{"a context that ends inside a transaction rolls it back", func(w *world) {
		before := w.seed()
		ctx, end := context.WithCancel(w.ctx)
		err := w.store.InTx(ctx, func(tx driver.Tx) error {
			if err := w.writeAll(tx); err != nil {
				return err
			}
			end()
			_, err := w.things.Insert(ctx, tx, newThing("behind the end"))
			return err
		})
		w.is("InTx", err, context.Canceled)
		w.untouched(before)
	}},
	{"when a context ends before the commit, the answer is what happened", func(w *world) {
		for i, key := range []string{"before", "after"} {
			ctx, end := context.WithCancel(w.ctx)
			err := w.store.InTx(ctx, func(tx driver.Tx) error {
				if i == 1 {
					end()
				}
				_, err := w.things.Insert(w.ctx, tx, newThing(key))
				end()
				return err
			})
			if !errors.Is(err, driver.ErrOutcomeUnknown) {
				w.same("row is there", len(w.where(driver.Eq("key", key))) == 1, err == nil)
			}
		}
	}},
	{"a caller that waits for another transaction returns when its context ends", func(w *world) {
		w.insert(newThing("a"))
		held, release := make(chan struct{}, 1), make(chan struct{})
		finished := make(chan error, 1)
		go func() {
			finished <- w.store.InTx(w.ctx, func(tx driver.Tx) error {
				err := w.touch(w.ctx, tx)
				held <- struct{}{}
				<-release
				return err
			})
		}()
		await(w, "begin", held)
		func() {
			defer close(release)
			for range 3 {
				w.waitInVain()
			}
		}()
		w.is("the other transaction", await(w, "commit", finished), nil)
		w.same("version", w.get("a").Version, int64(2))
	}},
}}

// waitInVain ends the context of a transaction that another one keeps waiting.
func (w *world) waitInVain() {
	w.Helper()
	ctx, end := context.WithCancel(w.ctx)
	begun, answer := make(chan struct{}), make(chan error, 1)
	go func() {
		close(begun)
		answer <- w.store.InTx(ctx, func(tx driver.Tx) error { return w.touch(ctx, tx) })
	}()
	<-begun
	end()
	if err := await(w, "answer after the end of its context", answer); !errors.Is(err, context.Canceled) && !errors.Is(err, driver.ErrBusy) {
		w.Errorf("the waiting transaction answers %v", err)
	}
}

// touch saves the row a.
func (w *world) touch(ctx context.Context, tx driver.Tx) error {
	row, err := w.things.Get(ctx, tx, "", "a")
	if err != nil {
		return err
	}
	return w.things.Save(ctx, tx, row)
}
