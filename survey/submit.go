package survey

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// Submit takes the response to the link with that token.
func (s *Service) Submit(ctx context.Context, token string, r Response) (Receipt, error) {
	var out Receipt
	err := s.inTx(ctx, func(tx storage.Tx) error {
		found, err := instances.Find(ctx, tx, storage.AnyScope, storage.Query{Where: []storage.Cond{storage.Eq("link_hash", linkHash(token))}, Limit: 1})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return storage.ErrNotFound
		}
		row := found[0]
		now := storage.Now(s.store)
		row.Status, row.CompletedOn, row.DueOn = StatusCompleted, now, row.NextSendOn
		out = Receipt{PublicID: row.PublicID, CompletedOn: now}
		if _, err := responses.Insert(ctx, tx, &responseRow{Record: storage.Record{Scope: row.Scope, Key: row.PublicID}, SurveyID: row.SurveyID, Answers: r.Answers, SubmittedOn: now}); err != nil {
			return err
		}
		return instances.Save(ctx, tx, row)
	})
	return out, err
}
