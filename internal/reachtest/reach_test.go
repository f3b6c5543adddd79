package reachtest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belfry-go/belfry/storage"
)

// Whatever string a host takes for a tenant, it never means all of them: a scope
// that no row can have is an error, and every row stays as it is.
func TestI28_NoStringReachesEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scope := range []storage.Scope{"\x00any", "north\x00", "\xff"} {
		for _, r := range w.rooms(t.Context(), scope) {
			for name, call := range r.calls {
				before := w.rows()
				err := call()
				if err == nil || !strings.Contains(strings.ToLower(err.Error()), "scope") {
					t.Errorf("%s.%s in %q: %v", r.name(), name, scope, err)
				}
				if diff := cmp.Diff(before, w.rows()); diff != "" {
					t.Errorf("%s.%s in %q changed rows: %s", r.name(), name, scope, diff)
				}
			}
		}
	}
}

// A method that takes a scope, in whatever form, is in the table.
func TestTheTableForgetsNoMethod(t *testing.T) {
	t.Parallel()
	for _, r := range newWorld(t).rooms(t.Context(), "north") {
		of := reflect.TypeOf(r.of)
		var want []string
		for i := range of.NumMethod() {
			if m := of.Method(i); saysScope(m.Type) {
				want = append(want, m.Name)
			}
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(r.calls))); diff != "" {
			t.Errorf("%s (-methods +table): %s", r.name(), diff)
		}
	}
}

// A satellite is one of the rooms.
func TestTheTableForgetsNoRoom(t *testing.T) {
	t.Parallel()
	rooms := newWorld(t).rooms(t.Context(), "north")
	known := func(satellite reflect.Type) bool {
		return slices.ContainsFunc(rooms, func(r room) bool { return reflect.TypeOf(r.of).AssignableTo(satellite) })
	}
	for _, r := range rooms {
		of := reflect.TypeOf(r.of)
		for i := range of.NumMethod() {
			m := of.Method(i).Type
			if m.NumIn() > 1 || m.NumOut() != 1 || known(m.Out(0)) {
				continue
			}
			for j := range m.Out(0).NumMethod() {
				if saysScope(m.Out(0).Method(j).Type) {
					t.Errorf("%s.%s has methods that take a scope", r.name(), of.Method(i).Name)
					break
				}
			}
		}
	}
}

// room is a value that hosts hold, and a call of each of its methods that takes a
// scope.
type room struct {
	of    any
	calls map[string]func() error
}

func (r room) name() string { return strings.TrimPrefix(reflect.TypeOf(r.of).String(), "*") }

// saysScope reports whether a scope can be said to a method: as an argument, or in
// a field of one.
func saysScope(method reflect.Type) bool {
	for i := range method.NumIn() {
		in := method.In(i)
		if in.Kind() == reflect.Slice {
			in = in.Elem()
		}
		if in == reflect.TypeFor[storage.Scope]() || in == reflect.TypeFor[storage.ScopeFilter]() {
			return true
		}
		if in.Kind() != reflect.Struct || i == 0 { // the receiver
			continue
		}
		if f, ok := in.FieldByName("Scope"); ok && f.Type == reflect.TypeFor[storage.Scope]() {
			return true
		}
	}
	return false
}

// rows are all rows of all tables, as their columns say.
func (w *world) rows() map[string][]any {
	w.Helper()
	all := map[string][]any{}
	err := w.store.InTx(context.WithoutCancel(w.Context()), func(tx storage.Tx) error {
		for _, s := range schemas() {
			rows, err := read(w.Context(), tx, s)
			if err != nil {
				return err
			}
			all[s.Name] = rows
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}
