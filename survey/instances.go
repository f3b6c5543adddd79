package survey

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/belfry-go/belfry/storage"
	"github.com/belfry-go/belfry/storage/driver"
)

// maxLog bounds how much of the log of an instance is read.
const maxLog = 1000

// Selection says which instances are listed. CustomerRef, SurveyID, PublicIDs or Held is
// required; what is set holds together.
type Selection struct {
	PublicIDs   []string // these alone
	CustomerRef string
	SurveyID    int64
	Held        bool   // those on hold alone, in the order in which they were made
	Reason      string // those with this ReasonCode alone; beside one of the others
	All         bool   // all of the scope, where nothing else is named
	// NewestFirst lists them in the order in which they were made, from its end.
	NewestFirst bool
}

// Instances lists the instances of a customer or a survey, or those on hold, in the order
// of their keys unless the selection says otherwise, deleted ones too, and says where the
// next page begins; empty after the last. It shows personal data.
func (s Support) Instances(ctx context.Context, scope Scope, of Selection, p storage.Page) ([]Instance, string, error) {
	where, err := of.where()
	if err != nil {
		return nil, "", fmt.Errorf("survey: Instances: %w", err)
	}
	q := driver.Query{Where: where}
	if of.NewestFirst || of.Held {
		q.OrderBy, q.Desc = "id", of.NewestFirst
	}
	rows, next, err := listRows(ctx, s.core, instances, scope, p, q)
	out := make([]Instance, len(rows))
	for i, r := range rows {
		out[i] = r.view()
	}
	return out, next, err
}

// Names are what surveys are called, by their ids, as in their latest versions. Those that
// there are not are left out.
func (s Support) Names(ctx context.Context, scope Scope, surveyIDs ...int64) (map[int64]string, error) {
	places := make([]driver.ScopedKey, len(surveyIDs))
	for i, id := range surveyIDs {
		places[i] = driver.ScopedKey{Scope: scope, Key: surveyKey(id)}
	}
	out := map[int64]string{}
	err := s.read(ctx, func(from driver.Reader) error {
		found, err := surveys.GetMany(ctx, from, places)
		for _, row := range found {
			out[row.SurveyID] = row.Name
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("survey: Names: %w", err)
	}
	return out, nil
}

func (of Selection) where() (where []driver.Cond, err error) {
	if of.CustomerRef == "" && of.SurveyID == 0 && len(of.PublicIDs) == 0 && !of.Held && !of.All {
		return nil, errors.New("neither a customer nor a survey is named")
	}
	if len(of.PublicIDs) > 0 {
		where = append(where, driver.In("public_id", of.PublicIDs))
	}
	if of.Held {
		where = append(where, driver.Eq("is_on_support_hold", true))
	}
	if of.Reason != "" {
		where = append(where, driver.Eq("reason_code", of.Reason))
	}
	if of.CustomerRef != "" {
		where = append(where, driver.Eq("customer_ref", of.CustomerRef))
	}
	if of.SurveyID != 0 {
		where = append(where, ofSurvey(of.SurveyID)...)
	}
	return where, nil
}

// ofSurvey is the range of the keys of a survey's instances; keys that were
// forgotten are not among them.
func ofSurvey(id int64) []driver.Cond {
	prefix := "survey:" + strconv.FormatInt(id, 10)
	return []driver.Cond{driver.Greater("key", prefix+":"), driver.Less("key", prefix+";")} // ';' follows ':'
}

// Instance gives an instance with the log of its sends, the oldest of them first,
// at most 1000. The error wraps storage.ErrNotFound where scope has none with that
// PublicID. It shows personal data.
func (s Support) Instance(ctx context.Context, scope Scope, publicID string) (Instance, []Delivery, error) {
	var row *instanceRow
	var log []*deliveryRow
	err := s.read(ctx, func(from driver.Reader) (err error) {
		if row, err = readInstance(ctx, from, scope, publicID); err != nil {
			return err
		}
		log, err = deliveries.Find(ctx, from, scope, driver.Query{Where: []driver.Cond{driver.Eq("public_id", publicID)}, Limit: maxLog})
		return err
	})
	if err != nil {
		return Instance{}, nil, fmt.Errorf("survey: instance %s: %w", publicID, err)
	}
	return row.view(), viewsOf(log), nil
}

// readInstance reads an instance, or returns storage.ErrNotFound.
func readInstance(ctx context.Context, from driver.Reader, scope Scope, publicID string) (*instanceRow, error) {
	rows, err := instances.Find(ctx, from, scope, oneWhere("public_id", publicID))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, storage.ErrNotFound
	}
	return rows[0], nil
}

// finder reads the instance that is asked about, as it is now.
type finder func(ctx context.Context, from driver.Reader) (*instanceRow, error)

// byToken finds the instance of a link, whose tenant is unknown before. Whatever
// is no link of ours is looked for all the same, so that it takes as long.
func byToken(token string) finder {
	hash := linkHash(token)
	return func(ctx context.Context, from driver.Reader) (*instanceRow, error) {
		return theOne(instances.Everywhere().Find(ctx, from, oneWhere("link_hash", hash)))
	}
}

func byPublicID(scope Scope, publicID string) finder {
	return func(ctx context.Context, from driver.Reader) (*instanceRow, error) {
		return theOne(instances.Find(ctx, from, scope, oneWhere("public_id", publicID)))
	}
}

func oneWhere(column, is string) driver.Query {
	return driver.Query{Where: []driver.Cond{driver.Eq(column, is)}, Limit: 1}
}

// theOne is the instance that was found.
func theOne(found []*instanceRow, err error) (*instanceRow, error) {
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNoSurvey
	}
	return found[0], nil
}

// closed says why the instance takes no response any more; nil: it does, or has it. The
// absolute limit holds whether or not a poller has come by since.
func (i *instanceRow) closed(now time.Time) error {
	switch {
	case !i.DeletedOn.IsZero() || i.Status == StatusSkipped:
		return ErrNoSurvey
	case i.Status == StatusExpired, i.isOpen() && !i.ExpiresOn.IsZero() && !now.Before(i.ExpiresOn):
		return ErrExpired
	}
	return nil
}
