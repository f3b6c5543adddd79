package storagetest

import (
	"context"
	"errors"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

var contextTheme = theme{name: "contexts", sentences: []sentence{
	{"a context that has ended is refused everywhere", func(w *world) {
		ended, end := context.WithCancel(w.ctx)
		end()
		err := w.store.InTx(ended, func(tx storage.Tx) error {
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
		err := w.store.InTx(ctx, func(tx storage.Tx) error {
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
			err := w.store.InTx(ctx, func(tx storage.Tx) error {
				if i == 1 {
					end()
				}
				_, err := w.things.Insert(w.ctx, tx, newThing(key))
				end()
				return err
			})
			if !errors.Is(err, storage.ErrOutcomeUnknown) {
				w.same("row is there", len(w.where(storage.Eq("key", key))) == 1, err == nil)
			}
		}
	}},
	{"a caller that waits for another transaction returns when its context ends", func(w *world) {
		w.insert(newThing("a"))
		held, release := make(chan struct{}, 1), make(chan struct{})
		finished := make(chan error, 1)
		go func() {
			finished <- w.store.InTx(w.ctx, func(tx storage.Tx) error {
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
		answer <- w.store.InTx(ctx, func(tx storage.Tx) error { return w.touch(ctx, tx) })
	}()
	<-begun
	end()
	if err := await(w, "answer after the end of its context", answer); !errors.Is(err, context.Canceled) && !errors.Is(err, storage.ErrBusy) {
		w.Errorf("the waiting transaction answers %v", err)
	}
}

// touch saves the row a.
func (w *world) touch(ctx context.Context, tx storage.Tx) error {
	row, err := w.things.Get(ctx, tx, "", "a")
	if err != nil {
		return err
	}
	return w.things.Save(ctx, tx, row)
}
