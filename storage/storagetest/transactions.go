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
	{"a transaction sees what it wrote", func(w *world) {
		w.insert(newThing("a"))
		w.tx(func(tx driver.Tx) error {
			return errors.Join(w.undoing().writeAll(tx), func() error {
				row, err := w.things.Get(w.ctx, tx, "", "a")
				if err == nil {
					w.same("note", row.Note, "written")
				}
				return err
			}())
		})
	}},
	{"InTx returns the error of its function and rolls everything back", func(w *world) {
		before := w.undoing().seed()
		err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
			return errors.Join(w.undoing().writeAll(tx), errRefused)
		})
		w.is("InTx", err, errRefused)
		w.undoing().untouched(before)
	}},
	{"a panic rolls everything back and goes on", func(w *world) {
		before := w.undoing().seed()
		func() {
			defer func() { w.same("panic", recover(), any("dropped")) }()
			_ = w.store.InTx(w.ctx, func(tx driver.Tx) error {
				if err := w.undoing().writeAll(tx); err != nil {
					w.Error(err)
				}
				panic("dropped")
			})
		}()
		w.undoing().untouched(before)
	}},
	{"each verb is rolled back by itself", func(w *world) {
		before := w.undoing().seed()
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
			rows := w.undoing().claimInVain(due("u"))
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
		before := w.undoing().seed()
		bad := copyOf(before[0])
		bad.Raw = json.RawMessage("{") // is not JSON, and the verb has to say so
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
			w.undoing().untouched(before)
		}
	}},
	{"an error of a verb ends the transaction", func(w *world) {
		before := w.undoing().seed()
		err := w.store.InTx(w.ctx, func(tx driver.Tx) error {
			if err := w.undoing().writeAll(tx); err != nil {
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
		w.undoing().untouched(before)
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
func (w undoing) seed() []*thing {
	w.insert(newThings("a", "gone")...)
	held := newThing("held")
	held.Status, held.ClaimToken, held.LeaseExpiresOn = busy, "t", at(-1)
	w.insert(held)
	return w.all()
}

// writeAll does one of everything to what seed stored.
func (w undoing) writeAll(tx driver.Tx) error {
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
func (w undoing) untouched(before []*thing) {
	w.Helper()
	w.same("rows", w.all(), before)
	w.same("claimable keys", keysOf(w.claimInVain(due("v"))), []string{"a", "held"})
}

// claimInVain tells what a claim would take, and leaves it as it was.
func (w undoing) claimInVain(c driver.Claim) (rows []*thing) {
	w.Helper()
	err := w.store.InTx(w.ctx, func(tx driver.Tx) (err error) {
		rows, err = w.things.Claim(w.ctx, tx, c)
		return errors.Join(err, errRefused)
	})
	w.is("InTx", err, errRefused)
	return rows
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
		before := w.undoing().seed()
		ctx, end := context.WithCancel(w.ctx)
		err := w.store.InTx(ctx, func(tx driver.Tx) error {
			if err := w.undoing().writeAll(tx); err != nil {
				return err
			}
			end()
			_, err := w.things.Insert(ctx, tx, newThing("behind the end"))
			return err
		})
		w.is("InTx", err, context.Canceled)
		w.undoing().untouched(before)
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
				err := w.undoing().touch(w.ctx, tx)
				held <- struct{}{}
				<-release
				return err
			})
		}()
		await(w, "begin", held)
		func() {
			defer close(release)
			for range 3 {
				w.undoing().waitInVain()
			}
		}()
		w.is("the other transaction", await(w, "commit", finished), nil)
		w.same("version", w.get("a").Version, int64(2))
	}},
}}

// waitInVain ends the context of a transaction that another one keeps waiting.
func (w undoing) waitInVain() {
	w.Helper()
	ctx, end := context.WithCancel(w.ctx)
	begun, answer := make(chan struct{}), make(chan error, 1)
	go func() {
		close(begun)
		answer <- w.store.InTx(ctx, func(tx driver.Tx) error { return w.touch(ctx, tx) })
	}()
	<-begun
	end()
	if err := await(w.world, "answer after the end of its context", answer); !errors.Is(err, context.Canceled) && !errors.Is(err, driver.ErrBusy) {
		w.Errorf("the waiting transaction answers %v", err)
	}
}

// touch saves the row a.
func (w undoing) touch(ctx context.Context, tx driver.Tx) error {
	row, err := w.things.Get(ctx, tx, "", "a")
	if err != nil {
		return err
	}
	return w.things.Save(ctx, tx, row)
}
