package survey

import (
	"context"

	"github.com/belfry-go/belfry/storage"
)

// versionRef names a version. ContentHash is that of its row, and may be empty where
// the caller does not know it.
type versionRef struct {
	Scope            Scope
	SurveyID, Number int64
	ContentHash      string
}

// ref is the version that a trigger belongs to.
func (r *triggerRow) ref() versionRef {
	return versionRef{r.Scope, r.SurveyID, r.VersionNumber, r.ContentHash}
}

// ref is the version that an instance is pinned to, without the hash.
func (i *Instance) ref() versionRef {
	return versionRef{Scope: i.Scope, SurveyID: i.SurveyID, Number: i.SurveyVersion}
}

func (r *versionRow) ref() versionRef {
	return versionRef{r.Scope, r.SurveyID, r.Number, r.ContentHash}
}

// hashes are the content hashes of versions, by references without them.
type hashes map[versionRef]string

// complete adds the hash to a reference that has none.
func (h hashes) complete(ref versionRef) versionRef {
	if ref.ContentHash == "" {
		ref.ContentHash = h[ref]
	}
	return ref
}

// hashesOf reads the hashes of those references that have none.
func hashesOf(ctx context.Context, tx storage.Tx, refs []versionRef) (hashes, error) {
	keys := map[Scope][]string{}
	for _, ref := range refs {
		if ref.ContentHash == "" {
			keys[ref.Scope] = append(keys[ref.Scope], versionKey(ref.SurveyID, ref.Number))
		}
	}
	out := hashes{}
	for scope, keys := range keys {
		rows, err := versions.Find(ctx, tx, scope, storage.Query{
			Columns: []string{"survey_id", "number", "content_hash"},
			Where:   []storage.Cond{storage.In("key", keys)}, Limit: len(keys),
		})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[versionRef{Scope: r.Scope, SurveyID: r.SurveyID, Number: r.Number}] = r.ContentHash
		}
	}
	return out, nil
}
