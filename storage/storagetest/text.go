package storagetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/belfry-go/belfry/storage"
)

var textTheme = theme{name: "text", sentences: []sentence{
	{"text comes back byte by byte", func(w *world) {
		rows := newThings(spellings...)
		for i, text := range append(spellings[1:], "") {
			rows[i].Name, rows[i].Note, rows[i].Origin, rows[i].Type = text, text, text, text
		}
		w.insert(rows...)
		for _, r := range rows {
			w.same("inserted", w.get(r.Key), r)
			r.Name, r.Note, r.Type = r.Note+r.Key, r.Key, ""
		}
		w.same("stale", w.save(rows...), []int(nil))
		for _, r := range rows {
			w.same("saved", w.get(r.Key), r)
		}
	}},
	{"text holds many bytes", func(w *world) {
		row := newThing("a")
		row.Name = strings.Repeat("\u20ac", 300_000)
		w.insert(row)
		w.same("equal", w.get("a").Name == row.Name, true)
	}},
	{"text with a NUL is refused", func(w *world) {
		row := newThing("a")
		row.Name = "a\x00b"
		w.refuses(row, "name")
		w.refuses(newThing("a\x00b"), "key")
	}},
	{"text that is not valid UTF-8 is refused", func(w *world) {
		row := newThing("a")
		row.Note = "a\xff"
		w.refuses(row, "note")
	}},
	{"a refusal never holds the value", func(w *world) {
		row := newThing("a")
		row.Name = "secret\x00"
		if message := w.refuses(row, "name"); strings.Contains(message, "secret") {
			w.Errorf("the error holds the value: %s", message)
		}
	}},
	{"a row over its limit is refused", func(w *world) {
		w.things.Limit(100)
		row := newThing("a")
		row.Name = strings.Repeat("x", 101)
		w.tx(func(tx storage.Tx) error {
			_, err := w.things.Insert(w.ctx, tx, newThing("b"), row)
			if size := (*storage.RowSizeError)(nil); !errors.As(err, &size) {
				w.Errorf("error is %v", err)
			}
			return nil
		})
		w.same("rows", len(w.all()), 0)
	}},
}}

// refuses shows that a row is refused by Insert, Save and Ensure because of a
// column, and that no other row of the call is written either. It gives the
// messages.
func (w *world) refuses(row *thing, column string) (message string) {
	w.Helper()
	check := func(verb string, err error) error {
		w.Helper()
		message += fmt.Sprintln(err)
		if refused := (*storage.ValueError)(nil); !errors.As(err, &refused) || refused.Column != column {
			w.Errorf("%s: error is %v, want one about %s", verb, err, column)
		}
		return nil
	}
	w.tx(func(tx storage.Tx) error {
		_, err := w.things.Insert(w.ctx, tx, newThing("beside"), row)
		return check("Insert", err)
	})
	w.tx(func(tx storage.Tx) error {
		_, err := w.things.Ensure(w.ctx, tx, unchanged, newThing("beside"), row)
		return check("Ensure", err)
	})
	w.same("rows after Insert and Ensure", len(w.all()), 0)

	stored := newThing("stored")
	w.insert(stored)
	changed := copyOf(stored)
	changed.Name = "changed"
	w.tx(func(tx storage.Tx) error {
		return check("Save", w.things.Save(w.ctx, tx, changed, row))
	})
	w.same("row after Save", w.get("stored"), stored)
	w.remove(stored)
	return message
}
