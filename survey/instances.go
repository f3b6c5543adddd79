package survey

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/belfry-go/belfry/storage"
)

// maxLog bounds how much of the log of an instance is read.
const maxLog = 1000

// Selection says which instances are listed. One of the two is required; with both
// set both hold.
type Selection struct {
	CustomerRef string
	SurveyID    int64
}

// Instances lists the instances of a customer or a survey in the order of their
// keys, deleted ones too; Page.After is the Key of the last one of the page before.
// It shows personal data.
func (s *Service) Instances(ctx context.Context, scope Scope, of Selection, p Page) ([]Instance, error) {
	where, err := of.where()
	if err == nil {
		err = checkScope(scope)
	}
	if err != nil {
		return nil, fmt.Errorf("survey: Instances: %w", err)
	}
	if p.After != "" {
		where = append(where, storage.Greater("key", p.After))
	}
	var out []Instance
	err = s.inTx(ctx, func(tx storage.Tx) error {
		rows, err := instances.Find(ctx, tx, scope, storage.Query{Where: where, OrderBy: "key", Limit: p.limit()})
		out = make([]Instance, len(rows))
		for i, r := range rows {
			out[i] = *r
		}
		return err
	})
	return out, err
}

func (of Selection) where() (where []storage.Cond, err error) {
	if of.CustomerRef == "" && of.SurveyID == 0 {
		return nil, errors.New("neither a customer nor a survey is named")
	}
	if of.CustomerRef != "" {
		where = append(where, storage.Eq("customer_ref", of.CustomerRef))
	}
	if of.SurveyID != 0 {
		where = append(where, ofSurvey(of.SurveyID)...)
	}
	return where, nil
}

// ofSurvey is the range of the keys of a survey's instances; keys that were
// forgotten are not among them.
func ofSurvey(id int64) []storage.Cond {
	prefix := "survey:" + strconv.FormatInt(id, 10)
	return []storage.Cond{storage.Greater("key", prefix+":"), storage.Less("key", prefix+";")} // ';' follows ':'
}

// Instance gives an instance with the log of its sends, the oldest of them first,
// at most 1000. The error wraps storage.ErrNotFound where scope has none with that
// PublicID. It shows personal data.
func (s *Service) Instance(ctx context.Context, scope Scope, publicID string) (Instance, []Delivery, error) {
	var row *Instance
	var log []Delivery
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		if row, err = readInstance(ctx, tx, scope, publicID); err != nil {
			return err
		}
		rows, err := deliveries.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.Eq("public_id", publicID)}, Limit: maxLog})
		log = make([]Delivery, len(rows))
		for i, d := range rows {
			log[i] = *d
		}
		return err
	})
	if err != nil {
		return Instance{}, nil, fmt.Errorf("survey: instance %s: %w", publicID, err)
	}
	return *row, log, nil
}

// readInstance reads an instance, or returns storage.ErrNotFound.
func readInstance(ctx context.Context, tx storage.Tx, scope Scope, publicID string) (*Instance, error) {
	if err := checkScope(scope); err != nil {
		return nil, err
	}
	rows, err := instances.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.Eq("public_id", publicID)}, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, storage.ErrNotFound
	}
	return rows[0], nil
}
