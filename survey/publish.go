package survey

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Published is what [Service.Publish] answers.
type Published struct {
	Number      int64
	ContentHash string // lower-case hex of SHA-256
	// Warnings are what is allowed and probably not meant.
	Warnings []string
}

// Publish stores a version, and makes it the one whose triggers ingest uses.
func (s *Service) Publish(ctx context.Context, v Version) (Published, error) {
	var d Definition
	if err := json.Unmarshal(v.Definition, &d); err != nil {
		return Published{}, err
	}
	sum := sha256.Sum256(v.Definition)
	out := Published{ContentHash: hex.EncodeToString(sum[:])}
	return out, s.inTx(ctx, func(tx storage.Tx) error {
		now := storage.Now(s.store)
		id := strconv.FormatInt(v.SurveyID, 10)
		got, err := surveys.Ensure(ctx, tx, func(stored, _ *surveyRow) (storage.Outcome, bool) {
			return storage.Updated, true
		}, &surveyRow{Record: storage.Record{Scope: v.Scope, Key: id}, Name: v.Name, SavedOn: now})
		if err != nil {
			return err
		}
		row := got[0].Row
		row.PublishedVersion++
		row.Name, row.IntegrationID, row.BusinessUnit = v.Name, v.IntegrationID, v.BusinessUnit
		out.Number = row.PublishedVersion
		if err := surveys.Save(ctx, tx, row); err != nil {
			return err
		}
		if _, err := versions.Insert(ctx, tx, &versionRow{
			Record: storage.Record{Scope: v.Scope, Key: versionKey(v.SurveyID, out.Number)}, SurveyID: v.SurveyID, Number: out.Number,
			Name: v.Name, IntegrationID: v.IntegrationID, BusinessUnit: v.BusinessUnit,
			ContentHash: out.ContentHash, Definition: v.Definition, PublishedOn: now,
		}); err != nil {
			return err
		}
		for _, t := range d.Triggers {
			key, err := keys.Join(id, t.ID)
			if err != nil {
				return err
			}
			if _, err := triggers.Insert(ctx, tx, &triggerRow{
				Record: storage.Record{Scope: v.Scope, Key: key}, SurveyID: v.SurveyID, TriggerID: t.ID,
				EventKind: t.EventKind, VersionNumber: out.Number, ContentHash: out.ContentHash,
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// versionKey is the key of a version's row.
func versionKey(surveyID, number int64) string {
	return strconv.FormatInt(surveyID, 10) + ":" + strconv.FormatInt(number, 10)
}
