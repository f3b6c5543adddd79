package driver

import (
	"context"
	"slices"
	"strings"
)

// ScopedKey is where a row is: its scope and its key.
type ScopedKey struct {
	Scope Scope
	Key   string
}

// ScopedKeyOf is where r is.
func (t *Table[R]) ScopedKeyOf(r *R) ScopedKey {
	rec := t.Record(r)
	return ScopedKey{rec.Scope, rec.Key}
}

// GetMany reads the rows at places, of any scopes, in one statement, or in none for
// no places. Places without a row are left out of the answer, and a place may be given
// twice. Of the rows only columns are read, if any are named; see [Query]. A scope that
// no row can have is refused with a [*ValueError].
func (t *Table[R]) GetMany(ctx context.Context, from Reader, places []ScopedKey, columns ...string) (map[ScopedKey]*R, error) {
	wanted, err := t.distinct(places)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	rows, err := from.Get(ctx, &t.Schema, wanted, columns)
	if err != nil {
		return nil, err
	}
	found := make(map[ScopedKey]*R, len(rows))
	for _, r := range typed[R](rows) {
		found[t.ScopedKeyOf(r)] = r
	}
	return found, nil
}

// HasChildren tells for each of places whether there is a row of its scope whose key goes on
// behind the place's and U+001F, and for which all conditions hold: whether a job has such
// messages. It is one statement, or none for no places.
func (t *Table[R]) HasChildren(ctx context.Context, from Reader, places []ScopedKey, where ...Cond) ([]bool, error) {
	out := make([]bool, len(places))
	asked, at := make([]ScopedKey, 0, len(places)), make([]int, 0, len(places))
	for i, p := range places {
		if err := t.CheckScope(p.Scope); err != nil {
			return nil, err
		}
		if textProblem(p.Key) == "" {
			asked, at = append(asked, p), append(at, i)
		}
	}
	if len(asked) == 0 {
		return out, nil
	}
	found, err := from.HasChildren(ctx, &t.Schema, asked, where)
	for _, i := range found {
		out[at[i]] = true
	}
	return out, err
}

// maxParents is how many keys one statement of FindChildren names.
const maxParents = 100

// FindChildren reads for each of keys the rows of scope whose keys go on behind it and U+001F,
// at most q.Limit of each, in the order of keys: the messages of each of some jobs. q says
// which, and which columns of them. A hundred keys are one statement, none are none.
func (t *Table[R]) FindChildren(ctx context.Context, from Reader, scope Scope, keys []string, q Query) (map[string][]*R, error) {
	out := make(map[string][]*R, len(keys))
	var asked []string
	for _, key := range keys {
		if _, known := out[key]; !known && textProblem(key) == "" {
			out[key], asked = nil, append(asked, key)
		}
	}
	for some := range slices.Chunk(asked, maxParents) {
		q.Parents = some
		rows, err := t.Find(ctx, from, scope, q)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(rows, func(a, b *R) int { return strings.Compare(t.Record(a).Key, t.Record(b).Key) })
		rows = slices.CompactFunc(rows, func(a, b *R) bool { return t.Record(a).ID == t.Record(b).ID })
		for _, key := range some {
			found := t.under(rows, key)
			if q.Desc {
				slices.Reverse(found)
			}
			out[key] = found[:min(len(found), q.Limit)]
		}
	}
	return out, nil
}

// under copies, of rows in the order of their keys, those whose keys go on behind key.
func (t *Table[R]) under(rows []*R, key string) []*R {
	place := func(of string) int {
		at, _ := slices.BinarySearchFunc(rows, of, func(r *R, of string) int { return strings.Compare(t.Record(r).Key, of) })
		return at
	}
	from, to := ChildKeys(key)
	return slices.Clone(rows[place(from):place(to)])
}

// ChildKeys are what keys that go on behind key lie between, both not among them: from is
// less, and to greater than any of them.
func ChildKeys(key string) (from, to string) { return key + "\x1f", key + "\x20" }

// ChildrenOf holds for the keys that go on behind key and U+001F.
func ChildrenOf(key string) []Cond {
	from, to := ChildKeys(key)
	return []Cond{Greater("key", from), Less("key", to)}
}

// distinct leaves out keys that no row can have, and what comes again.
func (s *Schema) distinct(places []ScopedKey) ([]ScopedKey, error) {
	seen := make(map[ScopedKey]bool, len(places))
	out := make([]ScopedKey, 0, len(places))
	for _, p := range places {
		if err := s.CheckScope(p.Scope); err != nil {
			return nil, err
		}
		if !seen[p] && textProblem(p.Key) == "" {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out, nil
}

// Walk visits the rows of scope that q describes, in its order, in pages of q.Limit
// rows, none of which is empty. If q names columns the one of its OrderBy is among
// them. A visit may write its rows. The first error ends the walk.
func (t *Table[R]) Walk(ctx context.Context, from Reader, scope Scope, q Query, visit func(page []*R) error) error {
	q.Unordered = false
	for {
		page, err := t.Find(ctx, from, scope, q)
		if err != nil || len(page) == 0 {
			return err
		}
		next, err := t.position(page[len(page)-1], q.OrderBy) // before a visit changes the row
		if err != nil {
			return err
		}
		if err := visit(page); err != nil || len(page) < q.Limit {
			return err
		}
		q.After = next
	}
}

// position is where a list that is ordered by a column, or by id, goes on behind r.
func (t *Table[R]) position(r *R, orderBy string) (p *Position, err error) {
	p = &Position{ID: t.Record(r).ID}
	if orderBy != "" {
		p.Value, err = t.Column(orderBy).Value(t.row(r))
	}
	return p, err
}
