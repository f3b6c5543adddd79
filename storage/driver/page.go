package driver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Page says which part of a list is wanted. The zero value is its first 100 rows.
type Page struct {
	// After is what the call for the page before returned beside its rows; empty
	// begins at the beginning. A text that no call returned may be an [ErrPage].
	After string
	// Limit is at most so many rows: 100 if it is zero, never more than 1,000.
	Limit int
}

// ErrPage says that a [Page].After is none that a call returned.
var ErrPage = errors.New("storage: invalid page token")

// The default and the bound of a [Page].Limit.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// Size is how many rows the page has at most.
func (p Page) Size() int {
	if p.Limit <= 0 {
		return DefaultPage
	}
	return min(p.Limit, MaxPage)
}

// Page returns the rows of scope that q describes, and where the next page begins:
// empty after the last. They are in the order of their keys, or by a column with
// instants, or by "id", as q.OrderBy says; its Limit and After do not count.
func (t *Table[R]) Page(ctx context.Context, from Reader, scope Scope, p Page, q Query) (rows []*R, next string, err error) {
	if q, err = p.of(q); err != nil {
		return nil, "", err
	}
	rows, err = t.Find(ctx, from, scope, q)
	if err != nil || len(rows) < q.Limit {
		return rows, "", err
	}
	rows = rows[:q.Limit-1]
	next, err = t.placeOf(rows[len(rows)-1], q.OrderBy)
	return rows, next, err
}

// of is the query for the page and one row more, which tells whether there is a next.
func (p Page) of(q Query) (Query, error) {
	q.Limit, q.After, q.Unordered = p.Size()+1, nil, false
	var err error
	switch q.OrderBy {
	case "", "key":
		q.OrderBy = "key"
		return p.behindKey(q)
	case "id":
		q.OrderBy = ""
	}
	q.After, err = ParsePosition(p.After)
	if err == nil && q.After != nil && (q.After.Value == nil) != (q.OrderBy == "") {
		err = fmt.Errorf("%w: it is of another list", ErrPage)
	}
	return q, err
}

func (p Page) behindKey(q Query) (Query, error) {
	switch {
	case p.After == "":
		return q, nil
	case textProblem(p.After) != "":
		return q, fmt.Errorf("%w: no key has it", ErrPage)
	}
	behind := Greater
	if q.Desc {
		behind = Less
	}
	q.Where = append(q.Where[:len(q.Where):len(q.Where)], behind("key", p.After))
	return q, nil
}

// placeOf is where a list that is ordered by a column goes on behind r.
func (t *Table[R]) placeOf(r *R, orderBy string) (string, error) {
	rec := t.Record(r)
	switch orderBy {
	case "key":
		return rec.Key, nil
	case "":
		return Position{ID: rec.ID}.String(), nil
	}
	p, err := t.position(r, orderBy)
	return p.String(), err
}

// String is the position as a [Page].After: of a list by a column with instants, or
// by id where Value is nil.
func (p Position) String() string {
	id := strconv.FormatInt(p.ID, 36)
	if moment, ok := p.Value.(time.Time); ok {
		return strconv.FormatInt(moment.UnixMicro(), 36) + "." + id
	}
	return id
}

// ParsePosition is the inverse of [Position.String]; an empty text is nil. Another
// text is an [ErrPage].
func ParsePosition(text string) (*Position, error) {
	if text == "" {
		return nil, nil
	}
	moment, row, dated := strings.Cut(text, ".")
	if !dated {
		moment, row = "0", text
	}
	micros, err := strconv.ParseInt(moment, 36, 64)
	id, bad := strconv.ParseInt(row, 36, 64)
	if errors.Join(err, bad) != nil || micros < 0 {
		return nil, fmt.Errorf("%w: %.40q", ErrPage, text)
	}
	p := &Position{ID: id}
	if dated {
		p.Value = time.UnixMicro(micros).UTC()
	}
	return p, nil
}
