package automation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfry-go/belfry/storage"
)

// ErrPage says that an After is none that a page returned.
var ErrPage = errors.New("is none that a page returned")

// maxRuns bounds a page of runs.
const maxRuns = 1000

// ReportRuns says which runs of reports to list. The zero value is all of a
// scope, scheduled ones to come included.
type ReportRuns struct {
	Subscription string // only those of one
	Begun        bool   // only those whose moment has come
	Held         bool   // only those that wait for a person
	// Limit is at most so many; default 100, at most 1000.
	Limit int
	// After continues behind a page; it is what the call for that page returned.
	After string
}

// ReportRuns lists runs of reports as they are stored, the latest moment first,
// and says where the next page begins: empty after the last. A row that is new or
// moves while somebody pages may be missed or come twice. An After of the caller's
// own making is [ErrPage].
func (s *Scheduler) ReportRuns(ctx context.Context, scope Scope, of ReportRuns) (runs []Schedule, next string, err error) {
	if scope == storage.AnyScope {
		return nil, "", errAnyScope
	}
	q, err := of.query(s.now())
	if err != nil {
		return nil, "", fmt.Errorf("automation: ReportRuns: %w", err)
	}
	err = s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := schedules.Find(ctx, tx, scope, q)
		runs, next = make([]Schedule, len(rows)), ""
		for i, r := range rows {
			runs[i] = *r
		}
		if len(rows) == q.Limit {
			next = positionText(rows[len(rows)-1])
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("automation: ReportRuns: %w", err)
	}
	return runs, next, nil
}

// query repeats the predicate of the indexes over runs of reports. That each has a
// moment is said, since a database that puts those without one first would sort.
func (of ReportRuns) query(now time.Time) (storage.Query, error) {
	q := storage.Query{OrderBy: "scheduled_on", Desc: true, Limit: min(of.Limit, maxRuns)}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	q.Where = []storage.Cond{storage.Eq("automation_type", TypeReportSubscription), storage.NotNull("scheduled_on")}
	if of.Subscription != "" {
		q.Where = append(q.Where, storage.Eq("source", of.Subscription))
	}
	if of.Begun {
		q.Where = append(q.Where, storage.AtMost("scheduled_on", now))
	}
	if of.Held {
		q.Where = append(q.Where, storage.Eq("is_on_support_hold", true))
	}
	var err error
	q.After, err = parsePosition(of.After)
	return q, err
}

// positionText is the place of a row in a list by its moment.
func positionText(r *Schedule) string {
	return strconv.FormatInt(r.ScheduledOn.UnixMicro(), 36) + "." + strconv.FormatInt(r.ID, 36)
}

func parsePosition(text string) (*storage.Position, error) {
	if text == "" {
		return nil, nil
	}
	moment, row, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(moment, 36, 64)
	id, bad := strconv.ParseInt(row, 36, 64)
	if errors.Join(err, bad) != nil || micros < 0 {
		return nil, fmt.Errorf("the After %.40q %w", text, ErrPage)
	}
	return &storage.Position{Value: time.UnixMicro(micros).UTC(), ID: id}, nil
}
