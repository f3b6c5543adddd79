package sweep

import (
	"context"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// Request is an erasure in a list, open or done. It does not say who.
type Request struct {
	ID, Status               string
	BegunOn, NextOn, EndedOn time.Time
}

// List lists the erasures of a scope in no promised order, and says where the next page
// begins; empty after the last.
func List(ctx context.Context, from driver.Reader, scope storage.Scope, p storage.Page) ([]Request, string, error) {
	rows, next, err := requests.Page(ctx, from, scope, p, driver.Query{Columns: []string{"status", "due_on", "begun_on", "ended_on"}})
	out := make([]Request, len(rows))
	for i, r := range rows {
		out[i] = Request{ID: r.Key, Status: r.Status, BegunOn: r.BegunOn, NextOn: r.DueOn, EndedOn: r.EndedOn}
	}
	return out, next, err
}
