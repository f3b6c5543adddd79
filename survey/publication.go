package survey

import (
	"context"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// publication is one call of Publish.
type publication struct {
	Version
	enabled []Trigger
	hash    string
}

// run stores the version unless it is there, and says which number it has.
func (p *publication) run(ctx context.Context, tx storage.Tx) (number int64, repeated bool, err error) {
	row, err := changeSurvey(ctx, tx, p.Scope, p.SurveyID, func(row *surveyRow) (write bool, err error) {
		number, err = p.number(ctx, tx, row)
		if repeated = number <= row.LatestVersion; err != nil || repeated && !p.restores(row, number) {
			return false, err
		}
		row.LatestVersion, row.PublishedVersion = number, number
		row.Name, row.IntegrationID, row.BusinessUnit, row.ContentHash = p.Name, p.IntegrationID, p.BusinessUnit, p.hash
		return true, nil
	})
	if err != nil || row == nil {
		return number, repeated, err
	}
	if !repeated {
		if err := p.insert(ctx, tx, number); err != nil {
			return 0, false, err
		}
	}
	return number, repeated, setTriggers(ctx, tx, p.Scope, p.SurveyID, p.triggers(number))
}

// number is the number that the version gets, or has.
func (p *publication) number(ctx context.Context, tx storage.Tx, row *surveyRow) (int64, error) {
	next := row.LatestVersion + 1
	switch {
	case p.Number == 0 && row.LatestVersion > 0 && row.ContentHash == p.hash:
		return row.LatestVersion, nil
	case p.Number == 0 || p.Number == next:
		return next, nil
	case p.Number > next:
		return 0, fmt.Errorf("version %d is not the next one, which is %d: %w", p.Number, next, storage.ErrStale)
	}
	stored, err := versions.Get(ctx, tx, p.Scope, versionKey(p.SurveyID, p.Number))
	if err == nil && stored.ContentHash != p.hash {
		err = fmt.Errorf("version %d says something else, the next one is %d: %w", p.Number, next, storage.ErrStale)
	}
	return p.Number, err
}

// restores reports whether a version that is there is the latest one and was
// unpublished. An older one is left alone: its publisher only repeats a call.
func (p *publication) restores(row *surveyRow, number int64) bool {
	return number == row.LatestVersion && row.PublishedVersion != number
}

func (p *publication) insert(ctx context.Context, tx storage.Tx, number int64) error {
	inserted, err := versions.Insert(ctx, tx, &versionRow{
		Record: storage.Record{Scope: p.Scope, Key: versionKey(p.SurveyID, number)}, SurveyID: p.SurveyID, Number: number,
		Name: p.Name, IntegrationID: p.IntegrationID, BusinessUnit: p.BusinessUnit,
		ContentHash: p.hash, Definition: p.Definition, PublishedOn: storage.Now(tx.Store()),
	})
	if err == nil && !inserted[0] {
		return fmt.Errorf("version %d is there already: %w", number, storage.ErrStale)
	}
	return err
}

// triggers are the rows by which ingest finds the version.
func (p *publication) triggers(number int64) []*triggerRow {
	out := make([]*triggerRow, len(p.enabled))
	for i, t := range p.enabled {
		out[i] = &triggerRow{
			Record: storage.Record{Scope: p.Scope, Key: triggerKey(p.SurveyID, t.ID)}, SurveyID: p.SurveyID, TriggerID: t.ID,
			EventKind: t.EventKind, VersionNumber: number, ContentHash: p.hash,
		}
	}
	return out
}
