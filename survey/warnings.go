package survey

import (
	"slices"
	"strings"

	"github.com/belfry-go/belfry/internal/strictjson"
)

// warnings are what is allowed in a definition and probably not meant.
func (d *Definition) warnings() []Fault {
	var f strictjson.Faults
	for i, q := range d.Questions {
		d.neverTrue(strictjson.Member(strictjson.Element("questions", i), "when"), q.When, &f)
	}
	enabled := false
	recipes := map[string]string{} // path of a trigger by its kind of event and recipe
	for i, t := range d.Triggers {
		at := strictjson.Element("triggers", i)
		enabled = enabled || t.Enabled
		t.warnings(at, &f)
		for j, r := range t.Subscribers {
			d.neverTrue(strictjson.Member(strictjson.Element(strictjson.Member(at, "subscribers"), j), "filter"), r.Filter, &f)
		}
		if before, shared := recipes[t.identity()]; shared {
			f.Add(at, "has the eventKind and the dedupRecipe of %s: one event produces an instance for each of them", before)
		} else {
			recipes[t.identity()] = at
		}
	}
	d.withoutLink(&f)
	if !enabled {
		f.Add("triggers", "has none that is enabled: no event produces an instance")
	}
	return faultsOf(f)
}

// warnings are about the rule of thumb for recipes (Triggers & Scheduler, "Authoring
// rule of thumb").
func (t *Trigger) warnings(at string, f *strictjson.Faults) {
	path := strictjson.Member(at, "dedupRecipe")
	for _, p := range []string{"templateId", "recipient.address"} {
		if !slices.Contains(t.DedupRecipe, p) {
			f.Add(path, "lacks %s, which every recipe should have", p)
		}
	}
	if !slices.ContainsFunc(t.DedupRecipe, func(p string) bool { return strings.HasPrefix(p, "candidate.") }) {
		f.Add(path, "has nothing that identifies the event: a recipient is asked once and never again")
	}
	t.twoCases(at, f)
}

// twoCases warns of paths that differ in case only, since ingest takes no event that
// has both: one of them is probably misspelt.
func (t *Trigger) twoCases(at string, f *strictjson.Faults) {
	spelt := map[string]string{}
	look := func(at, path string) {
		folded := strings.ToLower(path)
		if before, known := spelt[folded]; known && before != path {
			f.Add(at, "differs from %s in case only: no event has both", before)
		} else {
			spelt[folded] = path
		}
	}
	for i, p := range t.DedupRecipe {
		look(strictjson.Element(strictjson.Member(at, "dedupRecipe"), i), p)
	}
	if t.Filter == nil {
		return
	}
	for below, c := range t.Filter.Conditions() {
		look(strictjson.Member(strictjson.Below(strictjson.Member(at, "filter"), below), "questionId"), c.QuestionID)
	}
}

// identity is what tells one event from another for a trigger, and of which kind.
func (t *Trigger) identity() string {
	recipe := slices.Sorted(slices.Values(t.DedupRecipe))
	return strings.Join(append(recipe, t.EventKind), "\x1f") // no part holds U+001F
}
