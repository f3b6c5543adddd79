package survey

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/belfry-go/belfry/internal/strictjson"
	"github.com/belfry-go/belfry/keys"
	"github.com/belfry-go/belfry/storage"
)

// Published is what [Service.Publish] answers.
type Published struct {
	Number int64
	// ContentHash is the lower-case hex of a SHA-256 over the definition without
	// spaces, the name, the integration id and the business unit.
	ContentHash string
	// Repeated says that the version was there already.
	Repeated bool
	// Warnings are what is allowed and probably not meant.
	Warnings []Fault
}

// Publish stores a version, and makes it the one whose triggers ingest uses. A
// version never changes: instances stay with the one that they were made by.
//
// Everything that is wrong is reported at once, as a [*DefinitionError], and nothing
// is stored then. Publishing what the latest version says already answers that
// version's number, also to several publishers at once; if it had been unpublished,
// ingest uses it again. A call may therefore be repeated.
//
// With [Version.Number] set a call has no effect unless that is the next number; it
// is then a storage.ErrStale, or, if the version of that number says the same, its
// repetition.
func (s *Service) Publish(ctx context.Context, v Version) (Published, error) {
	d, faults := readDefinition(v.Definition)
	if err := definitionError(append(v.faults(), faults...)); err != nil {
		return Published{}, err
	}
	v.Definition = storedDefinition(v.Definition)
	p := publication{Version: v, enabled: d.enabled(), hash: v.contentHash()}
	out := Published{ContentHash: p.hash, Warnings: d.warnings()}
	err := s.inTx(ctx, func(tx storage.Tx) (err error) {
		out.Number, out.Repeated, err = p.run(ctx, tx)
		return err
	})
	if err != nil {
		return Published{}, fmt.Errorf("survey: publish survey %d: %w", v.SurveyID, err)
	}
	return out, nil
}

// contentHash tells one content from another.
func (v *Version) contentHash() string {
	sum := keys.Sum(string(v.Definition), v.Name, v.IntegrationID, v.BusinessUnit)
	return hex.EncodeToString(sum[:])
}

// faults are what is wrong beside the definition.
func (v *Version) faults() strictjson.Faults {
	c := newChecker(nil)
	if v.SurveyID < 1 {
		c.add("SurveyID", "is %d, not above zero", v.SurveyID)
	}
	if v.Number < 0 {
		c.add("Number", "is %d, below zero", v.Number)
	}
	if v.Scope == storage.AnyScope {
		c.add("Scope", "is for reading only")
	} else {
		c.characters("Scope", string(v.Scope), maxName, "")
	}
	c.characters("Name", v.Name, maxName, "")
	c.characters("IntegrationID", v.IntegrationID, maxName, "")
	c.characters("BusinessUnit", v.BusinessUnit, maxName, "")
	return c.faults
}

// enabled are the triggers that are switched on.
func (d *Definition) enabled() []Trigger {
	var out []Trigger
	for _, t := range d.Triggers {
		if t.Enabled {
			out = append(out, t)
		}
	}
	return out
}
