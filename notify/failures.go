package notify

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// Failures says which messages support means. Keys or Channel is required; whatever
// else is set narrows them down.
type Failures struct {
	Keys    []string // at most 1000, in any state; those that have not failed are refused
	Channel string   // "email:sendgrid": its messages that have failed for good
	Reason  string   // the ReasonCode of the failure, such as "401"
	// Since leaves out what failed before; zero: nothing. Without an index for it, the
	// newest messages are looked at first.
	Since time.Time
	// Limit is how many messages one call looks at; zero means 1000, which is the most.
	Limit int
	// After continues behind the page before; it is the Next of its report.
	After string
}

func (f Failures) query() (storage.Query, error) {
	q := storage.Query{Limit: f.Limit, Desc: true}
	if q.Limit == 0 {
		q.Limit = maxPage
	}
	switch {
	case len(f.Keys) == 0 && f.Channel == "":
		return q, errors.New("neither Keys nor Channel is set")
	case len(f.Keys) > maxPage:
		return q, fmt.Errorf("%d Keys, more than %d", len(f.Keys), maxPage)
	case q.Limit < 0 || q.Limit > maxPage:
		return q, fmt.Errorf("the Limit %d is not between 1 and %d", f.Limit, maxPage)
	}
	if f.After != "" {
		id, err := strconv.ParseInt(f.After, 36, 64)
		if err != nil {
			return q, fmt.Errorf("the After %.40q is no Next of a report", f.After)
		}
		q.After = &storage.Position{ID: id}
	}
	q.Where = f.conds()
	return q, nil
}

func (f Failures) conds() (where []storage.Cond) {
	if len(f.Keys) > 0 {
		where = append(where, storage.In("key", f.Keys))
	} else {
		where = append(where, storage.Eq("status", StatusFailedFinal))
	}
	if f.Channel != "" {
		where = append(where, storage.Eq("type", f.Channel))
	}
	if f.Reason != "" {
		where = append(where, storage.Eq("reason_code", f.Reason))
	}
	if !f.Since.IsZero() {
		where = append(where, storage.AtLeast("ended_on", f.Since))
	}
	return where
}
