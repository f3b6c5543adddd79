package survey

import (
	"context"
	"encoding/json"

	"github.com/belfry-go/belfry/storage"
)

// version is a published version with its parsed definition. It is shared by
// goroutines and never changed.
type version struct {
	*versionRow
	Definition
}

// versionOf loads the version that an instance is pinned to.
func (s *Service) versionOf(ctx context.Context, tx storage.Tx, scope Scope, surveyID, number int64) (*version, error) {
	row, err := versions.Get(ctx, tx, scope, versionKey(surveyID, number))
	if err != nil {
		return nil, err
	}
	v := &version{versionRow: row}
	return v, json.Unmarshal(row.Definition, &v.Definition)
}

// trigger is the trigger with that id.
func (d *Definition) trigger(id string) *Trigger {
	for i := range d.Triggers {
		if d.Triggers[i].ID == id {
			return &d.Triggers[i]
		}
	}
	return nil
}
