package automation

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// maxSelected bounds the rows of one call of [Scheduler.Bulk].
const maxSelected = 1000

// Selection says which rows support means. Keys, Setting or HoldReason is
// required, since an index finds the rows by it; whatever else is set narrows
// them down. A Selection without Keys finds open rows and rows on hold, never
// ones that have ended.
type Selection struct {
	Keys       []string // at most 1000, in any state
	Setting    string
	HoldReason Reason

	Source    Source    // with Setting or Keys
	Type      string    // the reminder type or the host's automation type
	DueBefore time.Time // rows that are due before then; those on hold never are

	// Limit is how many rows one call looks at; zero means 1000, which is the most.
	Limit int
	// After continues behind the page before; it is the Next of its report.
	After string
}

// query finds the rows in a fixed order. The error says what is
// missing or too much.
func (sel Selection) query() (storage.Query, error) {
	q := storage.Query{Limit: sel.Limit}
	if q.Limit == 0 {
		q.Limit = maxSelected
	}
	switch {
	case len(sel.Keys) == 0 && sel.Setting == "" && sel.HoldReason == "":
		return q, errors.New("neither Keys nor Setting nor HoldReason is set")
	case sel.Source != (Source{}) && len(sel.Keys) == 0 && sel.Setting == "":
		return q, errors.New("Source needs a Setting")
	case (sel.Source.Type == "") != (sel.Source.ID == ""):
		return q, errors.New("Source needs Type and ID")
	case len(sel.Keys) > maxSelected:
		return q, fmt.Errorf("%d Keys, more than %d", len(sel.Keys), maxSelected)
	case q.Limit < 0 || q.Limit > maxSelected:
		return q, fmt.Errorf("the Limit %d is not between 1 and %d", sel.Limit, maxSelected)
	}
	if sel.After != "" {
		id, err := strconv.ParseInt(sel.After, 36, 64)
		if err != nil {
			return q, fmt.Errorf("the After %.40q is no Next of a report", sel.After)
		}
		q.After = &storage.Position{ID: id}
	}
	q.Where = sel.conds()
	return q, nil
}

// conds repeat the predicates of the indexes.
func (sel Selection) conds() (where []storage.Cond) {
	add := func(wanted bool, conds ...storage.Cond) {
		if wanted {
			where = append(where, conds...)
		}
	}
	add(len(sel.Keys) > 0, storage.In("key", sel.Keys))
	add(sel.Setting != "", storage.Eq("setting", sel.Setting))
	add(sel.HoldReason != "", storage.Eq("hold_reason", string(sel.HoldReason)), storage.Eq("is_on_support_hold", true))
	add(len(sel.Keys) == 0 && sel.HoldReason == "", open())
	add(sel.Source != (Source{}), storage.Eq("source_type", sel.Source.Type), storage.Eq("source", sel.Source.ID))
	add(sel.Type != "", storage.Eq("type", sel.Type))
	add(!sel.DueBefore.IsZero(), storage.Less("due_on", sel.DueBefore))
	return where
}
