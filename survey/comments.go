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

func (s Responses) comments(ctx context.Context, from driver.Reader, scope Scope, q CommentQuery) ([]WorkItem, string, error) {
	found, next, err := s.commented(ctx, from, scope, q)
	if err != nil {
		return nil, "", err
	}
	out, err := s.support().workItems(ctx, from, scope, found)
	return out, next, err
}

// commented are the responses that the query selects.
func (s Responses) commented(ctx context.Context, from driver.Reader, scope Scope, q CommentQuery) (found []*responseRow, next string, err error) {
	query, err := q.newest()
	if err != nil {
		return nil, "", err
	}
	known := versionsRead{}
	for looked := 0; looked < commentScan; looked += query.Limit {
		rows, err := responses.Find(ctx, from, scope, query)
		if err != nil {
			return nil, "", err
		}
		for _, r := range rows {
			if len(found) == q.Size() {
				return found, query.After.String(), nil
			}
			query.After = &driver.Position{Value: r.SubmittedOn, ID: r.ID}
			v, err := known.of(ctx, from, s.core, r)
			if err != nil {
				return nil, "", err
			}
			if q.wants(r, v) {
				found = append(found, r)
			}
		}
		if len(rows) < query.Limit {
			return found, "", nil
		}
	}
	return found, query.After.String(), nil
}

// newest reads responses backwards, from After or Until on.
func (q *CommentQuery) newest() (out driver.Query, err error) {
	if q.SurveyID == 0 {
		return out, errors.New("no survey is named")
	}
	after, err := driver.ParsePosition(q.After)
	switch {
	case after == nil && !q.Until.IsZero():
		after = &driver.Position{Value: q.Until}
	case after != nil && after.Value == nil:
		err = fmt.Errorf("%w: it is of another list", storage.ErrPage)
	}
	where := []driver.Cond{driver.Eq("survey_id", q.SurveyID), driver.AtLeast("submitted_on", q.Since)}
	if q.Since.IsZero() {
		where[1] = driver.NotNull("submitted_on")
	}
	if q.BusinessUnits != nil {
		where = append(where, driver.In("business_unit", q.BusinessUnits))
	}
	return driver.Query{Where: where, OrderBy: "submitted_on", Desc: true, After: after, Limit: 500}, err
}

// wants says whether the query selects a response, of which v is the version; nil: it cannot
// be read.
func (q *CommentQuery) wants(r *responseRow, v *version) bool {
	switch {
	case q.MaxScore > 0 && r.Score > q.MaxScore, // one without a rating is above all
		q.By == ByUnit && r.BusinessUnit != q.Value,
		q.By != "" && q.By != ByUnit && r.Dimensions[q.By] != q.Value:
		return false
	}
	fold := cases.Fold().String
	for _, text := range r.texts(v) {
		if strings.Contains(fold(text), fold(q.Text)) {
			return true
		}
	}
	return false
}
