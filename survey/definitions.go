package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/belfry-go/belfry/storage"
)

// version is a published version with its parsed definition. It is shared by
// goroutines and never changed. The definition's text is not kept.
type version struct {
	*versionRow
	Definition
}

// versionOf is the version with that number; its error is storage.ErrNotFound if
// there is none.
func (s *Service) versionOf(ctx context.Context, tx storage.Tx, scope Scope, surveyID, number int64) (*version, error) {
	ref := versionRef{Scope: scope, SurveyID: surveyID, Number: number}
	set, err := s.versionsOf(ctx, tx, ref)
	if err != nil {
		return nil, err
	}
	return set.of(ref)
}

// versionSet is the answer of versionsOf, by the references asked for.
type versionSet map[versionRef]parsedVersion

type parsedVersion struct {
	*version
	err error
}

// of is one of the versions. The error is storage.ErrNotFound if there is none; one
// whose definition this process cannot read, since a later release has written it,
// is errUnreadable and does not harm the others.
func (s versionSet) of(ref versionRef) (*version, error) {
	v, ok := s[ref]
	if !ok {
		return nil, fmt.Errorf("survey: version %d of survey %d: %w", ref.Number, ref.SurveyID, storage.ErrNotFound)
	}
	return v.version, v.err
}

// versionsAtOnce is how many versions one call reads: a definition has up to
// maxDefinition.
const versionsAtOnce = 50

// versionsOf is versionOf for at most versionsAtOnce. Versions that this process has parsed are not read
// again if the references have their hashes; of others only the hashes are read. Each
// takes one statement a scope.
func (s *Service) versionsOf(ctx context.Context, tx storage.Tx, refs ...versionRef) (versionSet, error) {
	hashes, err := hashesOf(ctx, tx, refs)
	if err != nil {
		return nil, err
	}
	out, missing := versionSet{}, map[Scope][]string{}
	for _, asked := range refs {
		if v := s.parsed.get(hashes.complete(asked)); v != nil {
			out[asked] = parsedVersion{version: v}
		} else {
			missing[asked.Scope] = append(missing[asked.Scope], versionKey(asked.SurveyID, asked.Number))
		}
	}
	loaded, err := s.load(ctx, tx, missing)
	if err != nil {
		return nil, err
	}
	for _, asked := range refs {
		if v, ok := loaded[hashes.complete(asked)]; ok {
			out[asked] = v
		}
	}
	return out, nil
}

// load reads and parses versions by their scopes and keys.
func (s *Service) load(ctx context.Context, tx storage.Tx, keys map[Scope][]string) (versionSet, error) {
	out := versionSet{}
	for scope, keys := range keys {
		rows, err := versions.Find(ctx, tx, scope, storage.Query{Where: []storage.Cond{storage.In("key", keys)}, Limit: len(keys)})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			size := len(row.Definition)
			v, err := row.parse()
			if err == nil {
				v = s.parsed.add(row.ref(), v, size)
			}
			out[row.ref()] = parsedVersion{v, err}
		}
	}
	return out, nil
}

// errUnreadable is in the chain of an error about one version, which harms no other.
var errUnreadable = errors.New("cannot be read")

// parse reads the definition of a row, which it takes over. Members that a later
// release has added are passed over.
func (r *versionRow) parse() (*version, error) {
	v := &version{versionRow: r}
	if err := json.Unmarshal(r.Definition, &v.Definition); err != nil {
		return nil, fmt.Errorf("survey: version %d of survey %d %w: %w", r.Number, r.SurveyID, errUnreadable, err)
	}
	r.Definition = nil
	return v, nil
}

// trigger is the trigger with that id, or nil.
func (d *Definition) trigger(id string) *Trigger {
	for i := range d.Triggers {
		if d.Triggers[i].ID == id {
			return &d.Triggers[i]
		}
	}
	return nil
}
