package survey

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/text/cases"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// CommentQuery selects the responses to a survey in which a customer has written something.
type CommentQuery struct {
	ResponseQuery
	// MaxScore is the highest [WorkItem.Score], from 1 to 100; zero: all, also those
	// without one.
	MaxScore int
	// By is a dimension, as of a [ResultQuery], and Value what it is of the response; an
	// empty By: all.
	By, Value string
	// Text is a part of what was written, in any case; empty: all.
	Text string
}

// commentScan is how many responses one call of Comments looks at.
const commentScan = 5000

// Comments lists the responses in which a customer has written something, the newest first,
// and says where the next page begins; empty after the last. It looks at 5000 responses at
// most, so that a page may have fewer than its Limit, or none, and go on. It shows personal
// data.
func (s Responses) Comments(ctx context.Context, scope Scope, q CommentQuery) (out []WorkItem, next string, err error) {
	if q.MaxScore < 0 || q.MaxScore > 100 {
		return nil, "", fmt.Errorf("survey: Comments: MaxScore %d is not from 0 to 100", q.MaxScore)
	}
	err = s.read(ctx, func(from driver.Reader) (err error) {
		out, next, err = s.comments(ctx, from, scope, q)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("survey: Comments: %w", err)
	}
	return out, next, nil
}

func (s Responses) comments(ctx context.Context, from driver.Reader, scope Scope, q CommentQuery) (out []WorkItem, next string, err error) {
	query, err := q.newest()
	if err != nil {
		return nil, "", err
	}
	for looked := 0; looked < commentScan; looked += query.Limit {
		rows, err := responses.Find(ctx, from, scope, query)
		if err != nil {
			return nil, "", err
		}
		items, err := s.support().workItems(ctx, from, scope, rows)
		if err != nil {
			return nil, "", err
		}
		for i := range items {
			if len(out) == q.Size() {
				return out, next, nil
			}
			next = driver.Position{Value: rows[i].SubmittedOn, ID: rows[i].ID}.String()
			if q.wants(rows[i], &items[i]) {
				out = append(out, items[i])
			}
		}
		if len(rows) < query.Limit {
			return out, "", nil
		}
		query.After = &driver.Position{Value: rows[len(rows)-1].SubmittedOn, ID: rows[len(rows)-1].ID}
	}
	return out, next, nil
}

// newest reads responses backwards.
func (q *CommentQuery) newest() (out driver.Query, err error) {
	if q.SurveyID == 0 {
		return out, errors.New("no survey is named")
	}
	where := []driver.Cond{driver.Eq("survey_id", q.SurveyID), driver.AtLeast("submitted_on", q.Since)}
	if q.Since.IsZero() {
		where[1] = driver.NotNull("submitted_on")
	}
	if q.BusinessUnits != nil {
		where = append(where, driver.In("business_unit", q.BusinessUnits))
	}
	after, err := driver.ParsePosition(q.After)
	if after != nil && after.Value == nil {
		err = fmt.Errorf("%w: it is of another list", storage.ErrPage)
	}
	if after == nil && !q.Until.IsZero() { // else After is earlier
		where = append(where, driver.Less("submitted_on", q.Until))
	}
	return driver.Query{Where: where, OrderBy: "submitted_on", Desc: true, After: after, Limit: 500}, err
}

// wants says whether the query selects a response.
func (q *CommentQuery) wants(row *responseRow, item *WorkItem) bool {
	switch {
	case len(item.Comments) == 0,
		q.MaxScore > 0 && (!item.Rated || item.Score > q.MaxScore),
		q.By == ByUnit && row.BusinessUnit != q.Value,
		q.By != "" && q.By != ByUnit && (row.Fact == nil || row.Fact.Under[q.By] != q.Value):
		return false
	}
	fold := cases.Fold().String
	for _, c := range item.Comments {
		if strings.Contains(fold(c.Text), fold(q.Text)) {
			return true
		}
	}
	return false
}
