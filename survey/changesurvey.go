package survey

import (
	"context"
	"errors"

	"github.com/belfry-go/belfry/storage"
)

// changeSurvey changes the row of a survey, again if somebody else writes it
// meanwhile. change gets the stored row, or a new one whose Version is zero, and says
// whether to write it. The row that was written locks out others until the end of the
// transaction; nil: there was nothing to write.
func changeSurvey(ctx context.Context, tx storage.Tx, scope Scope, surveyID int64, change func(*surveyRow) (write bool, err error)) (*surveyRow, error) {
	for range 10 {
		row, err := surveys.Get(ctx, tx, scope, surveyKey(surveyID))
		if errors.Is(err, storage.ErrNotFound) {
			row, err = &surveyRow{Record: storage.Record{Scope: scope, Key: surveyKey(surveyID)}, SurveyID: surveyID}, nil
		}
		if err != nil {
			return nil, err
		}
		if write, err := change(row); err != nil || !write {
			return nil, err
		}
		row.SavedOn = storage.Now(tx.Store())
		if written, err := writeSurvey(ctx, tx, row); err != nil || written {
			return row, err
		}
	}
	return nil, storage.ErrBusy
}

// writeSurvey reports whether the row is as it was read, and is now written.
func writeSurvey(ctx context.Context, tx storage.Tx, row *surveyRow) (bool, error) {
	if row.Version == 0 {
		inserted, err := surveys.Insert(ctx, tx, row)
		return err == nil && inserted[0], err
	}
	err := surveys.Save(ctx, tx, row)
	if errors.Is(err, storage.ErrStale) {
		return false, nil
	}
	return err == nil, err
}
